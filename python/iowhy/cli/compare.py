"""`iowhy compare`: did a change help, and what changed at each layer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from iowhy.compare import terminal
from iowhy.compare.commands import compare_commands
from iowhy.compare.comparison import compare, log, regressed
from iowhy.compare.sides import open_side
from iowhy.errors import Problem
from iowhy.experiment import metric as metrics
from iowhy.experiment import result as results
from iowhy.experiment.cache import STATES
from iowhy.experiment.live import Job
from iowhy.experiment.statistics import Interval
from iowhy.experiment.terminal import ProgressLine
from iowhy.views.terminal import console

EPILOG = """Examples:

  iowhy compare before.iowhy after.iowhy

  iowhy compare --fail-on-regression 5% main/ branch/

  iowhy compare --baseline j1.iowhy j2.iowhy j2-cached.iowhy two-disks.iowhy

  iowhy compare --prepare 'make clean' -- 'make -j1' --vs 'make -j2'
"""

REGRESSED = 1


def command(
    sides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BEFORE AFTER [AFTER2]... | -- 'CMD A' --vs 'CMD B'",
            help="Recordings, directories of recordings, or commands to run interleaved.",
        ),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline", help="The first is the baseline, the others successive changes."
        ),
    ] = False,
    fail_on_regression: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Exit with 1 when slower by more, e.g. 5%."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    runs: Annotated[
        int | None, typer.Option("-r", "--runs", min=3, help="Exactly so many.")
    ] = None,
    min_runs: Annotated[int, typer.Option("-m", "--min-runs", min=3, help="At least.")] = 5,
    max_runs: Annotated[int, typer.Option("-M", "--max-runs", min=3, help="At most.")] = 20,
    warmup: Annotated[
        int, typer.Option("-w", "--warmup", min=0, help="Runs that do not count.")
    ] = 1,
    prepare: Annotated[
        list[str] | None, typer.Option("-p", "--prepare", help="Shell command before each run.")
    ] = None,
    conclude: Annotated[
        list[str] | None, typer.Option("-C", "--conclude", help="Shell command after each run.")
    ] = None,
    setup: Annotated[str | None, typer.Option("-s", "--setup", help="Once before all.")] = None,
    cleanup: Annotated[str | None, typer.Option("-c", "--cleanup", help="Once after all.")] = None,
    cache: Annotated[
        str, typer.Option(help="State of the page cache before each run, as in experiment.")
    ] = "as-is",
    metric: Annotated[
        str | None, typer.Option(help="Compare a number of the output instead of wall time.")
    ] = None,
    unit: Annotated[str, typer.Option(help="With --metric: its unit.")] = "",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="With --metric: less is better.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Kill a run that takes more seconds.")
    ] = None,
    ignore_failure: Annotated[
        bool, typer.Option("-i", "--ignore-failure", help="A failing command counts too.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the order; printed.")] = None,
    export_json: Annotated[
        Path | None, typer.Option("--export-json", help="Commands: save in hyperfine's form.")
    ] = None,
) -> None:
    """Compare recordings, sets of recordings, or commands: time, layers, findings."""
    limit = _limit(fail_on_regression)
    given = sides or []
    if "--vs" in given:
        if baseline:
            raise Problem(
                "--baseline goes with recordings; with commands the first is the baseline"
            )
        if cache not in STATES:
            raise Problem(f"--cache {cache}: choose from {', '.join(STATES)}")
        commands = split_commands(given)
        line = ProgressLine(json_)
        job = Job(
            command=(commands[0],),
            directory=Path.cwd(),
            prepare=tuple(prepare or ()),
            conclude=tuple(conclude or ()),
            setup=setup,
            cleanup=cleanup,
            cache=cache,
            timeout_s=timeout,
            ignore_failure=ignore_failure,
            metric=None if metric is None else metrics.parse(metric, lower_is_better, unit),
        )
        try:
            result, found = compare_commands(
                job,
                commands[1:],
                runs=runs,
                least=min_runs,
                most=max_runs,
                warmup=warmup,
                seed=seed,
                tell=line.trial,
            )
        finally:
            line.end()
        if export_json is not None:
            results.save_json(export_json, result)
        if json_:
            print(json.dumps(results.as_json(result)))
        else:
            terminal.show_commands(result, found, console())
        _exit([one.slower for one in found], limit)
        return
    if len(given) < 2:
        raise Problem("give at least two: iowhy compare BEFORE AFTER, or -- 'CMD A' --vs 'CMD B'")
    opened = [open_side(text) for text in given]
    if baseline:
        steps = log(opened)
        if json_:
            print(json.dumps([_step(step) for step in steps]))
        else:
            terminal.show_log(steps, console())
        _exit([steps[-1].against_baseline], limit)
        return
    comparisons = [compare(opened[0], after) for after in opened[1:]]
    if json_:
        print(json.dumps([terminal.as_json(one) for one in comparisons]))
    else:
        out = console()
        for index, one in enumerate(comparisons):
            if index:
                out.print()
            terminal.show(one, out)
    _exit([one.slower for one in comparisons], limit)


def split_commands(words: Sequence[str]) -> list[str]:
    """``CMD A --vs CMD B``: each command is one word, for the shell if it has blanks."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "--vs":
            parts.append([])
        else:
            parts[-1].append(word)
    for part in parts:
        if len(part) != 1:
            raise Problem("quote each command as one word: iowhy compare -- 'CMD A' --vs 'CMD B'")
    return [part[0] for part in parts]


def _limit(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise Problem(f"--fail-on-regression {text}: give a percentage such as 5%")
    return value


def _exit(slower: Sequence[Interval | None], limit: float | None) -> None:
    if limit is not None and any(regressed(one, limit) for one in slower):
        raise typer.Exit(REGRESSED)


def _step(step: Any) -> dict[str, Any]:
    return {
        "label": step.side.label,
        "seconds": step.seconds,
        "bottleneck": step.bottleneck,
        "against_baseline": None
        if step.against_baseline is None
        else terminal.interval_json(step.against_baseline),
        "against_previous": None
        if step.against_previous is None
        else terminal.interval_json(step.against_previous),
    }
