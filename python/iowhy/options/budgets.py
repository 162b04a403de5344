"""What a run may cost, and where that is said: the options that `run` and `why` share."""

import os
from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.options.described import option, switch
from iowhy.options.output import KEEP_SECRETS
from iowhy.written_files import check_free

ANNOTATE = ("auto", "github", "none")


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """What is expected, from where, and where else than to the terminal it is said what became of it."""

    expected: tuple[str, ...] = option(
        "--expect",
        default=(),
        metavar="'NAME <= N'",
        help="End with 3 where the run costs more, e.g. 'sync_calls <= 10'; list shows the names.",
    )
    config: Path | None = option(
        "--config", help="What a project expects; by default iowhy.toml here or above."
    )
    baseline: Path | None = option(
        "--baseline", help="Counts of runs before, in a file: end with 3 where one grew."
    )
    update: bool = switch("--update", help="Add this run to the baseline, and check nothing.")
    name: str | None = option(
        "--name",
        help="What the run is called in the baseline and in JUnit; by default its command.",
    )
    junit: Path | None = option("--junit", help="Also write the result as JUnit XML.")
    annotate: str = option(
        "--annotate",
        default="auto",
        choices=ANNOTATE,
        help="github: as annotations and step summary. auto: where GITHUB_ACTIONS is set.",
    )

    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)

    @property
    def written(self) -> tuple[Path | None, ...]:
        """The files that may be written after a recording was read."""
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        return (self.junit, self.baseline, Path(summary) if summary else None)

    def check(self) -> None:
        """Before the run, which may take an hour: do they go together, can all be written? Raises Problem."""
        if self.junit is not None:
            check_free(self.junit, force=False)
        if self.name is not None and not self.name.strip():
            raise Problem("run-name-empty")
