"""What `experiment` and `compare` share: the options of trials, which mean what they mean in hyperfine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from iowhy.errors import Problem
from iowhy.experiment import metric as metrics
from iowhy.experiment.cache import STATES
from iowhy.experiment.live import Job

Metric = Annotated[
    str | None,
    typer.Option(help="Measure a number of the output: a regular expression with one group."),
]
Unit = Annotated[str, typer.Option(help="With --metric: its unit.")]
LowerIsBetter = Annotated[
    bool, typer.Option("--lower-is-better", help="With --metric: less is better.")
]
Cache = Annotated[
    str | None,
    typer.Option(
        help="State of the page cache before each run: as-is, cold, warm (the files below the "
        "work directory), cold-machine (drops all caches)."
    ),
]
Directory = Annotated[
    Path | None,
    typer.Option(
        "--work-directory", help="Where CMD runs and what is copied or warmed; by itself here."
    ),
]
Runs = Annotated[
    int | None, typer.Option("-r", "--runs", min=3, help="Exactly so many runs of each.")
]
MinRuns = Annotated[int, typer.Option("-m", "--min-runs", min=3, help="At least so many.")]
MaxRuns = Annotated[int, typer.Option("-M", "--max-runs", min=3, help="At most so many.")]
Warmup = Annotated[
    int, typer.Option("-w", "--warmup", min=0, help="Runs before, which do not count.")
]
Prepare = Annotated[
    list[str] | None,
    typer.Option("-p", "--prepare", help="Shell command before each run (not measured)."),
]
Conclude = Annotated[
    list[str] | None, typer.Option("-C", "--conclude", help="Shell command after each run.")
]
Setup = Annotated[
    str | None, typer.Option("-s", "--setup", help="Shell command once before all runs.")
]
Cleanup = Annotated[
    str | None, typer.Option("-c", "--cleanup", help="Shell command once after all runs.")
]
Input = Annotated[Path | None, typer.Option("--input", help="File for the command's stdin.")]
Timeout = Annotated[
    float | None, typer.Option(min=0.01, help="Kill a run that takes more seconds.")
]
IgnoreFailure = Annotated[
    bool, typer.Option("-i", "--ignore-failure", help="A failing command counts too.")
]
ShowOutput = Annotated[bool, typer.Option("--show-output", help="Let the command print.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the order; printed.")]
ExportJson = Annotated[
    Path | None, typer.Option("--export-json", help="Save in hyperfine's form plus ours.")
]
ExportMarkdown = Annotated[Path | None, typer.Option("--export-markdown", help="Save as Markdown.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]


def job(
    command: Sequence[str],
    *,
    directory: Path | None,
    cache: str | None,
    prepare: Sequence[str] | None,
    conclude: Sequence[str] | None,
    setup: str | None,
    cleanup: str | None,
    input_: Path | None,
    timeout: float | None,
    ignore_failure: bool,
    show_output: bool,
    metric: str | None,
    unit: str,
    lower_is_better: bool,
    min_runs: int,
    max_runs: int,
    exports: Sequence[Path | None] = (),
) -> Job:
    """What the options ask to be run. Raises Problem naming the one that makes no sense."""
    if cache is not None and cache not in STATES:
        raise Problem(f"--cache {cache}: choose from {', '.join(STATES)}")
    where = (directory or Path.cwd()).resolve()
    if not where.is_dir():
        raise Problem(f"--work-directory {where}: not a directory")
    if min_runs > max_runs:
        raise Problem(f"--min-runs {min_runs} is more than --max-runs {max_runs}")
    if input_ is not None and not input_.is_file():
        raise Problem(f"--input {input_}: not a file")
    for target in exports:
        # Told before the runs, which may take an hour, and not after them.
        if target is not None and not target.absolute().parent.is_dir():
            raise Problem(f"{target}: its directory does not exist")
    return Job(
        command=tuple(command),
        directory=where,
        prepare=tuple(prepare or ()),
        conclude=tuple(conclude or ()),
        setup=setup,
        cleanup=cleanup,
        cache=cache or "as-is",
        timeout_s=timeout,
        ignore_failure=ignore_failure,
        show_output=show_output,
        input_file=None if input_ is None else input_.resolve(),
        metric=None if metric is None else metrics.parse(metric, lower_is_better, unit),
    )
