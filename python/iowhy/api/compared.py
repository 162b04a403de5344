"""What `iowhy.compare` answers, of recordings, of successive changes and of commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from iowhy.api.answers import Answer
from iowhy.commands import compare as command
from iowhy.errors import Problem
from iowhy.options.compare import Options
from iowhy.options.described import parameters
from iowhy.options.keywords import keyword
from iowhy.options.trial_options import Trials

if TYPE_CHECKING:  # slow to import
    from iowhy.experiments.interval import Interval


def of_commands(asked: Options) -> Answer:
    """The one side and each of `vs`, run interleaved; saved as JSON where that was asked for. Raises Problem."""
    from iowhy.experiments import result as results
    from iowhy.views import comparison_page
    from iowhy.views.progress import TrialsLine

    command.growths_of(asked)  # are refused: runs of commands are not recorded
    if len(asked.sides) != 1:
        raise Problem("vs-with-several")
    asked.exports.check()
    line = TrialsLine(asked.trials.quiet)
    try:
        result, found = command.trials_of(asked, [*asked.sides, *asked.others], line)
    finally:
        line.end()
    if asked.exports.export_json is not None:
        results.save_json(asked.exports.export_json, result, force=asked.exports.force)
    return Answer(
        result,
        lambda: results.as_json(result),
        lambda out: comparison_page.show_commands(result, found, out),
        _slower(asked, [(one.command, one.slower) for one in found]),
    )


def of_recordings(asked: Options, given: Sequence[str]) -> Answer:
    """Each recording against the first, or with `baseline` a line for each. Raises Problem.

    given: the names of the arguments.
    """
    from iowhy.comparisons.comparison import compare_all, log
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json, comparison_page

    of_trials = {keyword(one) for one in parameters(Trials)} | {"export_json", "force"}
    for name in given:
        if name in of_trials:
            raise Problem("option-of-commands", name=name)
    if len(asked.sides) < 2:
        raise Problem("api-compares-two")
    growths = command.growths_of(asked)
    sides = open_sides(asked.sides)
    if asked.baseline:
        steps = log(sides)
        last = steps[-1]
        broken = _slower(asked, [(last.side.label, last.against_baseline)])
        answer = Answer(
            steps,
            lambda: [comparison_json.step_json(one) for one in steps],
            lambda out: comparison_page.show_log(steps, out),
        )
    else:
        found = compare_all(sides)
        broken = _slower(asked, [(one.after.label, one.slower) for one in found])

        def draw(out: Any) -> None:
            for one in found:
                comparison_page.show(one, out, whole=True)

        answer = Answer(found, lambda: [comparison_json.as_json(one) for one in found], draw)
    grown = command.grown_of(asked, growths, sides)
    answer.broken = (*broken, *(one.sentence for one in grown if not one.held))
    return answer


def _slower(asked: Options, found: "Sequence[tuple[str, Interval | None]]") -> tuple[str, ...]:
    """A sentence for each that is slower than `fail_on_regression` allows, or of which that is not known."""
    from iowhy.comparisons.comparison import regressed, resolvable

    if asked.limit is None:
        return ()
    allowed = f"{asked.limit * 100:g} %"
    return tuple(
        f"{name}: takes {slower.value:.2f} times as long, {allowed} more allowed"
        if slower is not None and regressed(slower, asked.limit)
        else f"{name}: cannot say whether it is slower by more than {allowed}: {command.TOO_FEW}"
        for name, slower in found
        if regressed(slower, asked.limit) or not resolvable(slower)
    )
