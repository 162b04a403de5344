"""Compare recordings, or commands that are run interleaved: what was asked, run and found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.commands.trials import Progress, job
from iowhy.errors import Problem
from iowhy.options.compare import Options

if TYPE_CHECKING:  # slow to import
    from iowhy.comparisons.commands import CommandComparison
    from iowhy.comparisons.sides import Side
    from iowhy.expect import Growth
    from iowhy.expect.growth import Grown
    from iowhy.experiments.result import Result

TOO_FEW = (
    "fewer than three runs of a side, or runs of a fixed duration, cannot distinguish a change from chance; "
    "give directories of three recordings or more, or --fail-on a count"
)


def growths_of(options: Options) -> "list[Growth]":
    """What --fail-on asks, read before anything takes time. Raises Problem."""
    if not options.growths:
        return []
    from iowhy.expect import read_growth

    found = [read_growth("--fail-on", text) for text in options.growths]
    if options.others or "--vs" in options.sides:
        raise Problem("fail-on-of-recordings")
    return found


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


def trials_of(
    options: Options, commands: Sequence[str], progress: Progress
) -> "tuple[Result, tuple[CommandComparison, ...]]":
    """Runs the commands interleaved: every run, and each of the others against the first. Raises Problem."""
    if options.baseline:
        raise Problem("baseline-of-recordings")
    from iowhy.comparisons.commands import compare_commands

    trials = options.trials
    return compare_commands(
        job(commands[:1], trials),
        commands[1:],
        runs=trials.runs,
        least=trials.min_runs,
        most=trials.max_runs,
        warmup=trials.warmup,
        seed=trials.seed,
        on_progress=lambda now: progress.trial(now.condition.name, now.done, now.at_most),
        on_step=progress.step,
    )
