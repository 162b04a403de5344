"""`iowhy experiment`: squeeze or relieve one resource at a time and see what the command answers to."""

import inspect
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iowhy.cli import _trials as options
from iowhy.errors import Problem
from iowhy.experiment import result as results
from iowhy.experiment import terminal
from iowhy.experiment.experiment import Request, Told, experiment
from iowhy.experiment.lever import levers as all_levers
from iowhy.experiment.lever import named
from iowhy.experiment.setting import Profile, Setting
from iowhy.experiment.table import judge_table
from iowhy.recording import open_recording
from iowhy.undo import Undo
from iowhy.views.terminal import console, paragraph

if TYPE_CHECKING:
    from iowhy.whys.finding import Finding

EPILOG = """Examples:

  sudo iowhy experiment -- make -j2

  sudo iowhy experiment cpu-quota=0.5 io-contention=30% --metric 'qps: ([0-9.]+)' -- ./bench.sh

  sudo iowhy experiment memory-limit --prepare 'rm -rf out' -- ./encrypt big.bin out

  sudo iowhy experiment --recording slow.iowhy -- ./slow

  iowhy experiment --from published.csv

  iowhy experiment --list
"""


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEVER[=LEVEL,…]]... -- CMD [ARG]...",
            help="Levers (see --list) with their levels, then the command.",
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the levers, and which can act here.")
    ] = False,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Judge a CSV table of an experiment done elsewhere."),
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option(help="The recording whose findings are tested; by itself the newest here."),
    ] = None,
    metric: options.Metric = None,
    unit: options.Unit = "",
    lower_is_better: options.LowerIsBetter = False,
    cache: options.Cache = None,
    directory: options.Directory = None,
    runs: options.Runs = None,
    min_runs: options.MinRuns = 5,
    max_runs: options.MaxRuns = 15,
    warmup: options.Warmup = 1,
    prepare: options.Prepare = None,
    conclude: options.Conclude = None,
    setup: options.Setup = None,
    cleanup: options.Cleanup = None,
    input_: options.Input = None,
    timeout: options.Timeout = None,
    ignore_failure: options.IgnoreFailure = False,
    show_output: options.ShowOutput = False,
    allow_unsafe: Annotated[
        bool, typer.Option("--allow-unsafe", help="Let levers run that give up durability.")
    ] = False,
    seed: options.Seed = None,
    export_json: options.ExportJson = None,
    export_markdown: options.ExportMarkdown = None,
    quiet: options.Quiet = False,
) -> None:
    """Prove a cause: squeeze or relieve one resource at a time and measure how a command answers.

    Without levers it takes those that the recording's findings ask for. Whatever is changed on the
    machine is put back, on every way out.
    """
    if list_:
        _list((directory or Path.cwd()).resolve())
        return
    out = console()
    if from_ is not None:
        if words:
            raise Problem("--from judges a table: no levers or command go with it")
        found = judge_table(from_)
    else:
        asked, argv = split(words or [])
        job = options.job(
            argv,
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
            exports=(export_json, export_markdown),
        )
        findings, files, source = _findings(recording, argv, asked)
        line = terminal.ProgressLine(quiet)
        request = Request(
            job=job,
            levers=asked,
            runs=runs,
            least=min_runs,
            most=max_runs,
            warmup=warmup,
            seed=seed,
            cache=cache,
            allow_unsafe=allow_unsafe,
            findings=findings,
            files=files,
            recording=None if source is None else str(source),
        )
        try:
            found = experiment(request, Told(line.trial, line.step))
        finally:
            line.end()
        if source is not None:
            results.save_beside(source, found)
    terminal.show(found, out)
    if export_json is not None:
        results.save_json(export_json, found)
    if export_markdown is not None:
        results.save(export_markdown, terminal.markdown(found))


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Levers, then the command: the first word that is no lever begins it."""
    asked: list[str] = []
    rest = list(words)
    while rest and (rest[0].partition("=")[0] in all_levers()):
        asked.append(rest.pop(0))
    if not rest:
        raise Problem("no command: iowhy experiment [LEVER]... -- CMD [ARG]...")
    first = rest[0]
    if len(rest) > 1 and "/" not in first and _lever_misspelt(first):
        named(first)  # raises, with what was perhaps meant
    if len(rest) > 1 and "/" not in first and shutil.which(first) is None:
        raise Problem(f"{first}: neither a lever (`iowhy experiment --list`) nor a command")
    return asked, rest


def _lever_misspelt(word: str) -> bool:
    import difflib

    name = word.partition("=")[0]
    near = difflib.get_close_matches(name, all_levers(), 1, cutoff=0.8)
    return bool(near) and shutil.which(word) is None


def _list(directory: Path) -> None:
    """Each lever: what it does, what it needs, and whether it can act here and now."""
    out = console()
    # Nothing is pulled, so nothing is ever written to this journal. What depends on the command (how
    # much memory it holds) or on options is taken as if it allowed the lever.
    setting = Setting((), directory, Undo(Path(os.devnull), -1), Profile(1.0, 1.0, 1 << 40, 0))
    for lever in sorted(all_levers().values(), key=lambda one: (one.relieves, one.cost, one.name)):
        setting.base_cache = "as-is" if lever.name == "cache-cold" else "cold"
        setting.allow_unsafe = lever.unsafe
        kind = "relieves" if lever.relieves else "squeezes"
        extra = ", only when named" if lever.explicit else ""
        what = (inspect.getdoc(inspect.getmodule(type(lever))) or "").splitlines()[0]
        paragraph(out, f"{lever.name}: {kind}{extra}. {what}")
        paragraph(out, f"needs {lever.needs}", "bright_black", 2)
        try:
            why = lever.refusal(setting)
            levels = "" if why else ", ".join(one.label for one in lever.levels(setting, ()))
        except Problem as problem:
            why, levels = str(problem), ""
        if why is None:
            paragraph(out, f"can act here; by itself: {levels}", "green", 2)
        else:
            paragraph(out, f"cannot act here: {why}", "yellow", 2)


def _findings(
    recording: Path | None, argv: Sequence[str], asked: Sequence[str]
) -> tuple[tuple["Finding", ...], list[Path], Path | None]:
    """Findings of the recording named, or of the newest one here of the same command."""
    from iowhy.whys.verdict import judge

    if recording is not None:
        opened = open_recording(recording)
        return tuple(judge(opened).findings), [], recording
    candidates = sorted(Path.cwd().glob("*.iowhy"), key=lambda p: -p.stat().st_mtime)
    for path in candidates[:20]:
        try:
            opened = open_recording(path)
            if list(opened.manifest.command.argv) != list(argv):
                continue
            findings = tuple(judge(opened).findings)
        except Problem:
            continue
        print(f"iowhy: testing the findings of {path.name}", file=sys.stderr)
        return findings, [], path
    if not asked:
        print("iowhy: no recording of this command here: trying the usual levers", file=sys.stderr)
    return (), [], None
