"""Which command is made faster, and what may be tried: the options of `iowhy tune`."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.options.described import group, option, switch, word
from iowhy.options.trial_options import Trials
from iowhy.quantities import positive_duration_ns


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which command is made faster, and what may be tried."""

    words: tuple[str, ...] = word(
        "The command.", default=(), metavar="[--] CMD [ARG]...", begins_command=True
    )
    list_: bool = switch("--list", help="List the settings, and which can be tried here.")
    recording: Path | None = option(
        "--recording",
        help="The recording that says what could help; by default the newest here of the same command.",
    )
    tries: int = option("--tries", default=5, least=1, help="Most settings that are tried.")
    within_ns: int = option(
        "--within",
        metavar="TIME",
        default=120_000_000_000,
        read=positive_duration_ns,
        help="The longest that all runs together may take, e.g. 5m; by default 2m.",
    )
    allow_unsafe: bool = switch(
        "--allow-unsafe", help="Try settings that lose more in a crash, too."
    )
    keep: Path | None = option(
        "--keep", help="Write what makes the best setting last into this file, to look at."
    )
    force: bool = switch("--force", help="With --keep: a file that exists is overwritten.")
    as_json: bool = switch("--json", help="Print the result as JSON.")
    trials: Trials = group(Trials(min_runs=3, max_runs=10), panel="Trials, as in hyperfine")
