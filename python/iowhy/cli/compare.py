"""`iowhy compare`: did a change help, and what changed at each layer."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from iowhy.cli import _trials as options
from iowhy.compare import terminal
from iowhy.compare.commands import compare_commands
from iowhy.compare.comparison import compare_all, log, regressed
from iowhy.compare.sides import open_sides
from iowhy.errors import Problem
from iowhy.experiment import result as results
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
    metric: options.Metric = None,
    unit: options.Unit = "",
    lower_is_better: options.LowerIsBetter = False,
    cache: options.Cache = None,
    directory: options.Directory = None,
    runs: options.Runs = None,
    min_runs: options.MinRuns = 5,
    max_runs: options.MaxRuns = 20,
    warmup: options.Warmup = 1,
    prepare: options.Prepare = None,
    conclude: options.Conclude = None,
    setup: options.Setup = None,
    cleanup: options.Cleanup = None,
    input_: options.Input = None,
    timeout: options.Timeout = None,
    ignore_failure: options.IgnoreFailure = False,
    show_output: options.ShowOutput = False,
    seed: options.Seed = None,
    export_json: options.ExportJson = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare recordings, sets of recordings, or commands: time, layers, findings."""
    limit = _limit(fail_on_regression)
    line = ProgressLine(quiet)
    given = sides or []
    if "--vs" in given:
        if baseline:
            raise Problem(
                "--baseline goes with recordings; with commands the first is the baseline"
            )
        commands = split_commands(given)
        job = options.job(
            commands[:1],
            directory=directory,
            cache=cache,
            prepare=prepare,
            conclude=conclude,
            setup=setup,
            cleanup=cleanup,
            input_=input_,
            timeout=timeout,
            ignore_failure=ignore_failure,
            show_output=show_output,
            metric=metric,
            unit=unit,
            lower_is_better=lower_is_better,
            min_runs=min_runs,
            max_runs=max_runs,
            exports=(export_json,),
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
                step=line.step,
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
    try:
        opened = open_sides(given, line.step)
        steps = log(opened, line.step) if baseline else ()
        comparisons = () if baseline else compare_all(opened, line.step)
    finally:
        line.end()
    if baseline:
        if json_:
            print(json.dumps([_step(step) for step in steps]))
        else:
            terminal.show_log(steps, console())
        _exit([steps[-1].against_baseline], limit)
        return
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
