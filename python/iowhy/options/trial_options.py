"""The options of trials, which `experiment` and `compare` share; most mean what they mean in hyperfine."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.options.described import option, switch
from iowhy.quantities import positive_duration_ns

CACHE_STATES = ("as-is", "cold", "warm", "cold-machine")


def _not_prepare(option: str, text: str) -> str:
    raise Problem("p-is-a-process-id", option=option, text=text)


@dataclass(frozen=True, kw_only=True)
class Trials:
    """How often, in what state and around what the command is run, and which number is compared."""

    metric: str | None = option(
        "--metric", help="Measure a number of the output: a regular expression with one group."
    )
    unit: str = option("--unit", default="", help="With --metric: its unit.")
    lower_is_better: bool = switch("--lower-is-better", help="With --metric: less is better.")
    cache: str | None = option(
        "--cache",
        choices=CACHE_STATES,
        help="State of the page cache before each run: as-is, cold, warm (the files below the work "
        "directory), cold-machine (drops all caches).",
    )
    work_directory: Path | None = option(
        "--work-directory",
        help="Where CMD runs, and whose files are copied or warmed; by default here.",
    )
    data_directory: Path | None = option(
        "--data-directory", help="What is copied or warmed, if that is elsewhere."
    )
    runs: int | None = option("-r", "--runs", least=3, help="Number of runs per variant.")
    min_runs: int = option("-m", "--min-runs", default=5, least=3, help="Fewest runs per variant.")
    max_runs: int = option("-M", "--max-runs", default=20, least=3, help="Most runs per variant.")
    warmup: int = option("-w", "--warmup", default=1, least=0, help="Warm-up runs, not measured.")
    prepare: tuple[str, ...] = option(
        "-P", "--prepare", default=(), help="Shell command before each run (not measured)."
    )
    conclude: tuple[str, ...] = option(
        "-C", "--conclude", default=(), help="Shell command after each run."
    )
    setup: str | None = option("-s", "--setup", help="Shell command once before all runs.")
    cleanup: str | None = option("-c", "--cleanup", help="Shell command once after all runs.")
    input_: Path | None = option("--input", help="File for the command's stdin.")
    timeout_ns: int | None = option(
        "--timeout",
        metavar="TIME",
        read=positive_duration_ns,
        help="Kill a run that takes longer, e.g. 90s or 5m.",
    )
    ignore_failure: bool = switch("-i", "--ignore-failure", help="Measure runs that fail, too.")
    show_output: bool = switch("--show-output", help="Show what the command prints.")
    seed: int | None = option("--seed", least=0, help="Seed of the order; printed.")
    quiet: bool = switch("-q", "--quiet", help="No progress.")
    not_prepare: tuple[str, ...] = option(
        "-p", default=(), read=_not_prepare, hidden=True, help="As --prepare of hyperfine."
    )

    @property
    def timeout_s(self) -> float | None:
        """The longest that a run may take, in seconds."""
        return None if self.timeout_ns is None else self.timeout_ns / 1e9
