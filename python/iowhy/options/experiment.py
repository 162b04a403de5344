"""Which levers are pulled on which command: the options of `iowhy experiment` and `iowhy.experiment`."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.options.described import group, option, switch, word
from iowhy.options.output import KEEP_SECRETS, Exports
from iowhy.options.trial_options import Trials
from iowhy.quantities import positive_duration_ns


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which levers are pulled on which command, and what becomes of the answer."""

    words: tuple[str, ...] = word(
        "Levers (see --list) with their levels, then the command.",
        default=(),
        metavar="[LEVER[=LEVEL,…]]... [--] CMD [ARG]...",
        begins_command=True,
    )
    list_: bool = switch("--list", help="List the levers, and which can act here.")
    from_: Path | None = option("--from", help="Judge a CSV table of an experiment done elsewhere.")
    recording: Path | None = option(
        "--recording",
        help="The recording whose findings are tested; by default the newest here.",
    )
    allow_unsafe: bool = switch("--allow-unsafe", help="Let levers run that give up durability.")
    export_markdown: Path | None = option("--export-markdown", help="Save as Markdown.")
    within_ns: int | None = option(
        "--within",
        metavar="TIME",
        read=positive_duration_ns,
        help="The longest that all runs together may take, e.g. 5m; by default 1m, without a bound with --runs.",
    )
    evidence: bool = switch("--evidence", help="What was measured and all notes, too.")
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)
    exports: Exports = group(Exports)
    trials: Trials = group(Trials(min_runs=3, max_runs=15), panel="Trials, as in hyperfine")
