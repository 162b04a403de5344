"""`iowhy compare`: did a change help, and what changed at each layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iowhy.cli._statuses import NO
from iowhy.cli._trials import job
from iowhy.errors import Problem
from iowhy.experiments.interval import Interval
from iowhy.messages import json_text, say
from iowhy.options.described import group, option, switch, word
from iowhy.options.output import Exports
from iowhy.options.trial_options import Trials
from iowhy.quantities import percentage
from iowhy.views.progress import TrialsLine
from iowhy.written_files import put

if TYPE_CHECKING:  # slow to import
    from iowhy.comparisons.commands import CommandComparison
    from iowhy.comparisons.sides import Side
    from iowhy.expect import Growth
    from iowhy.expect.growth import Grown
    from iowhy.experiments.result import Result

EPILOG = """Examples:

  iowhy compare before.iowhy after.iowhy

  iowhy compare --fail-on-regression 5% main/ branch/

  iowhy compare --fail-on 'sync_calls > +0' --fail-on 'device.written_bytes > +10 %' a.iowhy b.iowhy

  iowhy compare --baseline j1.iowhy j2.iowhy j2-cached.iowhy two-disks.iowhy

  iowhy compare --export-json found.json before.iowhy after.iowhy

  iowhy compare --prepare 'make clean' -- 'make -j1' --vs 'make -j2'
"""

TOO_FEW = (
    "fewer than three runs of a side, or runs of a fixed duration, do not tell a change from chance; "
    "give directories of three recordings or more, or --fail-on a count"
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is compared, and when that is a failure."""

    sides: tuple[str, ...] = word(
        "Recordings, directories of recordings, or commands to run interleaved.",
        default=(),
        metavar="BEFORE AFTER [AFTER2]... | 'CMD A' --vs 'CMD B'",
    )
    others: tuple[str, ...] = option(
        "--vs", default=(), metavar="CMD", help="A command to run against the first one."
    )
    baseline: bool = switch(
        "--baseline", help="The first is the baseline, the others successive changes."
    )
    limit: float | None = option(
        "--fail-on-regression",
        metavar="PERCENT",
        read=percentage,
        help="Exit with 1 when slower by more, e.g. 5%; three recordings of each are needed to tell.",
    )
    growths: tuple[str, ...] = option(
        "--fail-on",
        default=(),
        metavar="'NAME > +N'",
        help="Exit with 1 when a count grew by more: 'sync_calls > +0', 'device.written_bytes > +10 %'; "
        "a time needs three recordings of each.",
    )
    exports: Exports = group(Exports)
    trials: Trials = group(Trials, panel="Trials of commands, as in hyperfine")


def command(options: Options) -> None:
    """Compare recordings, sets of recordings, or commands: time, layers, findings."""
    from iowhy.comparisons.comparison import regressed, resolvable

    options.exports.check()
    growths = growths_of(options)
    sides = [*options.sides]
    for text in options.others:
        sides += ["--vs", text]
    line = TrialsLine(options.trials.quiet)
    if "--vs" in sides:
        slower = _commands(options, split_commands(sides), line)
    elif len(sides) < 2:
        raise Problem("give at least two: iowhy compare BEFORE AFTER, or -- 'CMD A' --vs 'CMD B'")
    elif options.baseline:
        slower = _log(options, sides, line)
    else:
        slower = _recordings(options, sides, line)
    failed = _grown(options, growths, sides)
    if options.limit is not None:
        failed |= any(regressed(one, options.limit) for one in slower)
        if not failed and not all(map(resolvable, slower)):
            raise Problem(f"--fail-on-regression: {TOO_FEW}")
    if failed:
        raise SystemExit(NO)


def growths_of(options: Options) -> "list[Growth]":
    """What --fail-on asks, read before anything takes time. Raises Problem."""
    if not options.growths:
        return []
    from iowhy.expect import read_growth

    found = [read_growth("--fail-on", text) for text in options.growths]
    if options.others or "--vs" in options.sides:
        raise Problem("--fail-on goes with recordings; runs of commands are timed, not recorded")
    return found


def _grown(options: Options, growths: "list[Growth]", sides: Sequence[str]) -> bool:
    """Whether a measure grew by more than it may, from the first side to one after it; each is said."""
    if not growths:
        return False
    from iowhy.comparisons.sides import open_sides

    found = grown_of(options, growths, open_sides(sides))
    for one in found:
        if not one.held:
            say(one.sentence)
    if any(one.held is False for one in found):
        return True
    if any(one.held is None for one in found):
        raise Problem("--fail-on: what is not known on a side cannot have grown or not")
    return False


def grown_of(options: Options, growths: "list[Growth]", sides: "Sequence[Side]") -> "list[Grown]":
    """What became of each growth, from the first side to each after it."""
    if not growths:
        return []
    from iowhy.comparisons.comparison import longer
    from iowhy.expect import grown, times_grown

    first, *others = sides
    counts = [one for one in growths if not one.of_time]
    times = [one for one in growths if one.of_time]
    found = []
    # Of successive changes the last one counts.
    for other in others[-1:] if options.baseline else others:
        found += grown(first.typical, other.typical, counts)
        found += times_grown(first.recordings, other.recordings, times, longer)
    return found


def _commands(options: Options, commands: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.experiments import result as results
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    result, found = trials_of(options, commands, line)
    if options.exports.export_json is not None:
        results.save_json(options.exports.export_json, result, force=options.exports.force)
    if options.exports.as_json:
        print(json_text(results.as_json(result)))
    else:
        view.show_commands(result, found, console())
    return [one.slower for one in found]


def trials_of(
    options: Options, commands: Sequence[str], line: TrialsLine
) -> "tuple[Result, tuple[CommandComparison, ...]]":
    """Runs the commands interleaved: every run, and each of the others against the first. Raises Problem."""
    if options.baseline:
        raise Problem("--baseline goes with recordings; with commands the first is the baseline")
    from iowhy.comparisons.commands import compare_commands

    trials = options.trials
    try:
        return compare_commands(
            job(commands[:1], trials),
            commands[1:],
            runs=trials.runs,
            least=trials.min_runs,
            most=trials.max_runs,
            warmup=trials.warmup,
            seed=trials.seed,
            on_progress=lambda now: line.trial(now.condition.name, now.done, now.at_most),
            on_step=line.step,
        )
    finally:
        line.end()


def _log(options: Options, sides: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.comparisons.comparison import log
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    try:
        steps = log(open_sides(sides, line.step), line.step)
    finally:
        line.end()
    text = json_text([comparison_json.step_json(step) for step in steps])
    _save(options, text)
    if options.exports.as_json:
        print(text)
    else:
        view.show_log(steps, console())
    return [steps[-1].against_baseline]


def _recordings(options: Options, sides: Sequence[str], line: TrialsLine) -> list[Interval | None]:
    from iowhy.comparisons.comparison import compare_all
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json
    from iowhy.views import comparison_page as view
    from iowhy.views.terminal import console

    try:
        found = compare_all(open_sides(sides, line.step), line.step)
    finally:
        line.end()
    text = json_text([comparison_json.as_json(one) for one in found])
    _save(options, text)
    if options.exports.as_json:
        print(text)
        return [one.slower for one in found]
    out = console()
    for index, one in enumerate(found):
        if index:
            out.print()
        view.show(one, out)
    return [one.slower for one in found]


def _save(options: Options, text: str) -> None:
    if options.exports.export_json is not None:
        put(options.exports.export_json, text + "\n", force=options.exports.force)


def split_commands(words: Sequence[str]) -> list[str]:
    """``CMD A --vs CMD B``: each command is one word, for the shell if it has blanks."""
    parts: list[list[str]] = [[]]
    for text in words:
        if text == "--vs":
            parts.append([])
        else:
            parts[-1].append(text)
    for part in parts:
        if len(part) != 1:
            raise Problem("quote each command as one word: iowhy compare -- 'CMD A' --vs 'CMD B'")
    return [part[0] for part in parts]
