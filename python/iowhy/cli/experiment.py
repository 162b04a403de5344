"""`iowhy experiment`: squeeze or relieve one resource at a time and see what the command answers to."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iowhy.errors import Problem
from iowhy.experiment import metric as metrics
from iowhy.experiment import result as results
from iowhy.experiment import terminal
from iowhy.experiment.cache import STATES
from iowhy.experiment.experiment import Request, Told, experiment
from iowhy.experiment.lever import levers as all_levers
from iowhy.experiment.lever import named
from iowhy.experiment.live import Job
from iowhy.experiment.table import judge_table
from iowhy.recording import open_recording
from iowhy.views.terminal import console

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
        bool, typer.Option("--list", help="List the levers and what each needs.")
    ] = False,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Judge a CSV table of an experiment done elsewhere."),
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option(help="The recording whose findings are tested; by itself the newest here."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Measure a number of the output: a regular expression with one group."),
    ] = None,
    unit: Annotated[str, typer.Option(help="With --metric: its unit.")] = "",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="With --metric: less is better.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            help="State of the page cache before each trial: as-is, cold, warm (the files below the "
            "work directory), cold-machine (drops all caches)."
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--work-directory", help="Where CMD runs and what levers copy or warm; by itself here."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("-r", "--runs", min=3, help="Exactly so many runs of each.")
    ] = None,
    min_runs: Annotated[int, typer.Option("-m", "--min-runs", min=3, help="At least so many.")] = 5,
    max_runs: Annotated[int, typer.Option("-M", "--max-runs", min=3, help="At most so many.")] = 15,
    warmup: Annotated[
        int, typer.Option("-w", "--warmup", min=0, help="Runs before, which do not count.")
    ] = 1,
    prepare: Annotated[
        list[str] | None,
        typer.Option("-p", "--prepare", help="Shell command before each run (not measured)."),
    ] = None,
    conclude: Annotated[
        list[str] | None, typer.Option("-C", "--conclude", help="Shell command after each run.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option("-s", "--setup", help="Shell command once before all runs.")
    ] = None,
    cleanup: Annotated[
        str | None, typer.Option("-c", "--cleanup", help="Shell command once after all runs.")
    ] = None,
    input_: Annotated[
        Path | None, typer.Option("--input", help="File for the command's stdin.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(min=0.01, help="Kill a run that takes more seconds.")
    ] = None,
    ignore_failure: Annotated[
        bool, typer.Option("-i", "--ignore-failure", help="A failing command counts too.")
    ] = False,
    show_output: Annotated[
        bool, typer.Option("--show-output", help="Let the command print.")
    ] = False,
    allow_unsafe: Annotated[
        bool, typer.Option("--allow-unsafe", help="Let levers run that give up durability.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the order; printed.")] = None,
    export_json: Annotated[
        Path | None, typer.Option("--export-json", help="Save in hyperfine's form plus ours.")
    ] = None,
    export_markdown: Annotated[
        Path | None, typer.Option("--export-markdown", help="Save as Markdown.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Prove a cause: squeeze or relieve one resource at a time and measure how a command answers.

    Without levers it takes those that the recording's findings ask for. Whatever is changed on the
    machine is put back, on every way out.
    """
    if list_:
        _list()
        return
    out = console()
    if from_ is not None:
        if words:
            raise Problem("--from judges a table: no levers or command go with it")
        found = judge_table(from_)
    else:
        asked, argv = split(words or [])
        if cache is not None and cache not in STATES:
            raise Problem(f"--cache {cache}: choose from {', '.join(STATES)}")
        where = (directory or Path.cwd()).resolve()
        if not where.is_dir():
            raise Problem(f"--work-directory {where}: not a directory")
        if min_runs > max_runs:
            raise Problem(f"--min-runs {min_runs} is more than --max-runs {max_runs}")
        findings, files, source = _findings(recording, argv, asked)
        line = terminal.ProgressLine(quiet)
        request = Request(
            job=Job(
                command=tuple(argv),
                directory=where,
                prepare=tuple(prepare or ()),
                conclude=tuple(conclude or ()),
                setup=setup,
                cleanup=cleanup,
                timeout_s=timeout,
                ignore_failure=ignore_failure,
                show_output=show_output,
                input_file=None if input_ is None else input_.resolve(),
                metric=None if metric is None else metrics.parse(metric, lower_is_better, unit),
            ),
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
        for target in (export_json, export_markdown):
            if target is not None and not target.absolute().parent.is_dir():
                raise Problem(f"{target}: its directory does not exist")
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


def _list() -> None:
    out = console()
    for lever in sorted(all_levers().values(), key=lambda one: (one.relieves, one.cost, one.name)):
        kind = "relieves" if lever.relieves else "squeezes"
        extra = ", only when named" if lever.explicit else ""
        out.print(f"{lever.name}: {kind} {lever.resource}; needs {lever.needs}{extra}")


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
