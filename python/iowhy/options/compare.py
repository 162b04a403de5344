"""What is compared, and when that is a failure: the options of `iowhy compare` and `iowhy.compare`."""

from dataclasses import dataclass

from iowhy.options.described import group, option, switch, word
from iowhy.options.output import Exports
from iowhy.options.trial_options import Trials
from iowhy.quantities import percentage


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
        help="Exit with 1 when slower by more, e.g. 5%; three recordings of each are needed.",
    )
    growths: tuple[str, ...] = option(
        "--fail-on",
        default=(),
        metavar="'NAME > +N'",
        help="Exit with 1 when a count grew by more: 'sync_calls > +0', 'device.written_bytes > +10 %'; "
        "a time needs three recordings of each.",
    )
    evidence: bool = switch("--evidence", help="Latencies, code and all rows, too.")
    exports: Exports = group(Exports)
    trials: Trials = group(Trials, panel="Trials of commands, as in hyperfine")
