"""`iowhy diagnose`: the chain of whys from what other tools printed."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
from rich.text import Text

from iowhy.errors import Problem
from iowhy.sources import live
from iowhy.sources.diagnose import Diagnosis, describe, diagnose
from iowhy.sources.format import formats
from iowhy.views import processes, show
from iowhy.views.terminal import Field, console, printable, rows, shorten
from iowhy.whys.next_step import Step, next_steps
from iowhy.whys.verdict import Verdict, judge
from iowhy.whys.verdict_json import as_json as verdict_as_json

EPILOG = """Examples:

  iowhy diagnose incident.txt

  iostat -x 1 10 | iowhy diagnose -

  iowhy diagnose iostat.txt free.txt cachestat.txt

  iowhy diagnose --as truss --json summary.txt
"""

#: How many lines that were not understood are shown with their text.
UNREAD_SHOWN = 12


def command(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Text (or logs) of other tools; - is stdin."),
    ] = None,
    as_format: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="The format, when it is not recognised."),
    ] = None,
    cpus: Annotated[
        int | None, typer.Option(min=1, max=65536, help="CPUs of the machine, if no tool tells.")
    ] = None,
    pids: Annotated[
        list[int] | None,
        typer.Option(
            "-p",
            "--pid",
            min=1,
            metavar="PID",
            help="Only this process and what it forks (repeat).",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to keep the recording.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    list_formats: Annotated[
        bool, typer.Option("--formats", help="List the formats that can be read.")
    ] = False,
) -> None:
    """Say why it is slow from what other tools printed: iostat, vmstat, strace, curt, fio, …

    A file may hold several tools' output with prompts and prose between. What is not understood is
    listed with its line numbers.
    """
    if list_formats:
        for form in formats():
            print(f"{form.name:<20} {form.tool}")
        return
    if not files:
        raise Problem("nothing to read: name a file, or - for standard input")
    if files.count("-") > 1:
        raise Problem("-: standard input can be read once only")
    out = output or live.free_name([_stem(files[0])], Path.cwd())
    if out.exists():
        raise Problem(f"{out}: exists already; choose another name with -o, or remove it")
    found = _read(files, out, as_format, cpus, pids or [])
    verdict = judge(found.recording)
    steps = next_steps(
        verdict.findings[0].cause if verdict.findings else None,
        _largest(verdict),
        {name for name, kept in found.recording.manifest.tables.items() if kept.kept},
        {part.parsed.tool for part in found.parts},
        found.recording.manifest.host.os,
        found.missing,
    )
    if as_json:
        print(json.dumps(_document(found, verdict, steps), ensure_ascii=False))
        return
    screen = console()
    _parts(screen, found)
    show.show_verdict(found.recording, verdict, screen)
    processes.show(screen, found.recording)
    _unread(screen, found)
    _steps(screen, steps)


def _largest(verdict: Verdict) -> str | None:
    """The class with most of the time, where the time is known."""
    if not verdict.budget.known:
        return None
    return max(verdict.budget.lines, key=lambda line: line.elapsed_share).cls


def _stem(file: str) -> str:
    stem = Path(file).name.split(".")[0] if Path(file).is_file() else "paste"
    return stem or "paste"


def _read(
    files: list[str], out: Path, as_format: str | None, cpus: int | None, pids: list[int]
) -> Diagnosis:
    if not sys.stderr.isatty():
        return diagnose(files, out, as_format=as_format, cpus=cpus, pids=pids)
    bar = Progress(
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console(to_stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("reading", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return diagnose(files, out, as_format=as_format, cpus=cpus, pids=pids, progress=progress)


def _document(found: Diagnosis, verdict: Verdict, steps: tuple[Step, ...]) -> dict[str, object]:
    return {
        **verdict_as_json(verdict),
        "recording": str(found.recording.path),
        "inputs": describe(found.parts),
        "processes": processes.listed(found.recording),
        "not_understood": [
            {"file": one.file, "line": one.line, "text": one.text} for one in found.unread
        ],
        "not_understood_more": found.unread_dropped,
        "next": [{"command": step.command, "tells": step.tells} for step in steps],
    }


def _parts(out: Console, found: Diagnosis) -> None:
    out.print(Text("Read", style="bold"))
    fields = [
        Field("file", lambda v: shorten(str(v), 40), left=True),
        Field("lines", str),
        Field("format", str, left=True),
        Field("version", lambda v: "–" if v is None else str(v), left=True),
        Field("read as", lambda v: "–" if v is None else str(v), left=True),
    ]
    values = [
        [
            part.file,
            f"{part.first_line:,}–{part.first_line + max(part.lines, 1) - 1:,}",
            part.format,
            part.parsed.version,
            part.parsed.units,
        ]
        for part in found.parts
    ]
    for line in rows(fields, values, out.width):
        out.print(line, soft_wrap=True)
    out.print()


def _unread(out: Console, found: Diagnosis) -> None:
    count = len(found.unread) + found.unread_dropped
    if count == 0:
        return
    out.print()
    head = Text.assemble(
        ("Not understood", "bold"), (f"  {count:,} lines, which count for nothing", "dim")
    )
    out.print(head, soft_wrap=True)
    for one in found.unread[:UNREAD_SHOWN]:
        where = f"{shorten(one.file, 30)}:{one.line}: "
        text = shorten(printable(where + one.text.strip()), out.width - 2)
        out.print(Text(f"  {text}", "dim"), soft_wrap=True)
    if count > UNREAD_SHOWN:
        out.print(Text(f"  … and {count - UNREAD_SHOWN:,} more (--json lists them)", "dim"))


def _steps(out: Console, steps: tuple[Step, ...]) -> None:
    if not steps:
        return
    out.print()
    out.print(Text("To settle it", style="bold"))
    width = max(len(step.command) for step in steps)
    for at, step in enumerate(steps):
        word = "run" if at == 0 else "or "
        out.print(
            Text.assemble(
                f"  {word} ", (step.command.ljust(width), "bold"), (f"  {step.tells}", "dim")
            ),
            soft_wrap=True,
        )
