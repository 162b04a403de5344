"""The verdict of a recording: the answer first, then why, where the time went, and what is unknown."""

import json
import shlex
import signal
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.errors import Problem
from iowhy.recording import Recording
from iowhy.recording.experiments import Tested, tested
from iowhy.reports import engine
from iowhy.views.terminal import Field, console, paragraph, rows
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict, judge
from iowhy.whys.verdict_json import as_json as verdict_as_json

# One colour per class of the budget: the same kind of time has the same hue everywhere.
COLOURS = {
    "on-CPU user": "green",
    "on-CPU kernel": "bright_green",
    "runnable": "yellow",
    "waiting to read": "blue",
    "waiting to write": "magenta",
    "waiting for sync": "red",
    "throttled": "bright_red",
    "waiting for a lock": "cyan",
    "waiting for memory": "bright_magenta",
    "idle": "bright_black",
    "unexplained": "white",
}
# Also told apart without colour.
LETTERS = {
    "on-CPU user": "u",
    "on-CPU kernel": "k",
    "runnable": "q",
    "waiting to read": "r",
    "waiting to write": "w",
    "waiting for sync": "s",
    "throttled": "t",
    "waiting for a lock": "l",
    "waiting for memory": "m",
    "idle": ".",
    "unexplained": "?",
}
SHOWN = 3
ROOMY = 80  # columns from which a name may carry a remark

Row = dict[str, object]


def verdict(
    recording: Recording,
    *,
    as_json: bool = False,
    to_stderr: bool = False,
    every: bool = False,
    kept: bool = True,
) -> None:
    """Judge a recording and print the verdict, on the terminal or as the documented JSON object.

    `kept` is that the recording stays where it is, and can be asked more.
    """
    found = judge(recording)
    if as_json:
        print(json.dumps(_as_json(recording, found), ensure_ascii=False))
        return
    show_verdict(recording, found, console(to_stderr), every=every, kept=kept)


def _as_json(recording: Recording, found: Verdict) -> dict[str, Any]:
    """The documented object; each finding says what experiments made of it (`tested`, or null)."""
    told: dict[str, Any] = verdict_as_json(found)
    proven = tested(recording)
    for finding in told["findings"]:
        one = proven.get(finding["cause"])
        finding["tested"] = None if one is None else asdict(one)
    return told


def show_verdict(
    recording: Recording,
    found: Verdict,
    out: Console,
    *,
    every: bool = False,
    kept: bool = True,
) -> None:
    """Print a verdict that is there already."""
    paragraph(out, f"iowhy: {found.answer}", "bold")
    failed = ending(recording)
    if failed is not None:
        paragraph(out, failed, "yellow", 2)
    shown = found.findings if every else found.findings[:SHOWN]
    proven = tested(recording)
    for number, finding in enumerate(shown, 1):
        out.print()
        _finding(out, number, finding, proven.get(finding.cause))
    if len(found.findings) > len(shown):
        more = ", ".join(finding.cause for finding in found.findings[len(shown) :])
        rest = f" (iowhy why --all {typed(recording.path)})" if kept else ""
        paragraph(out, f"also: {more}{rest}", "dim", 2)
    _budget(out, found, None if found.budget.thread_s is None else _threads(recording))
    calls, devices, files = _reports(recording)
    _calls(out, calls)
    _devices(out, devices)
    _files(out, files)
    _unknown(out, recording, found)
    if not kept:
        return
    out.print()
    place = typed(recording.path)
    paragraph(out, f"kept in {place}; more: iowhy report NAME {place}", "dim")


def ending(recording: Recording) -> str | None:
    """How the command ended, where it did not end well; None when it did or nobody knows."""
    command = recording.manifest.command
    if command.signal is not None:
        return f"The command was ended by {_signal(command.signal)}."
    status = command.exit_status
    if not status:
        return None
    told = f"The command ended with exit status {status}"
    if status in _STATUSES:
        return f"{told} ({_STATUSES[status]})."
    if status > 128 and _signal(status - 128) != f"signal {status - 128}":
        return f"{told} (something in it was ended by {_signal(status - 128)})."
    return f"{told}."


def _signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name}, signal {number}"
    except ValueError:
        return f"signal {number}"


# As shells use them (POSIX, 2.8.2).
_STATUSES = {
    126: "something in it could not be run",
    127: "something in it was not found",
}


def typed(path: Path) -> str:
    """A path as one types it in a shell, from where one stands."""
    with suppress(ValueError, OSError):
        path = path.absolute().relative_to(Path.cwd())
    return shlex.quote(str(path))


def _finding(out: Console, number: int, finding: Finding, proven: Tested | None) -> None:
    sure = f"confidence {units.percent(proven.confidence if proven else finding.confidence)}"
    paragraph(
        out,
        f"{number}. {finding.title} ({finding.cause}): {units.percent(finding.share)} of the time, {sure}",
        "bold",
    )
    for link in finding.chain:
        paragraph(out, f"→ {link.statement}", "", 3)
    for text in finding.against:
        paragraph(out, f"but {text}", "yellow", 3)
    for text in finding.lowered_by:
        paragraph(out, f"less sure: {text}", "dim", 3)
    if finding.remedies:
        paragraph(out, f"do: {finding.remedies[0]}", "bold green", 3)
        for remedy in finding.remedies[1:3]:
            paragraph(out, f"or: {remedy}", "green", 3)
    if proven is not None:
        paragraph(out, f"{proven.outcome} by an experiment: {proven.because}", "bold", 3)
    elif finding.proof:
        paragraph(out, f"prove it: {finding.proof}", "dim", 3)


def _threads(recording: Recording) -> int | None:
    """How many threads the budget is of; None when none is named."""
    with recording.connected() as connection:
        counted = connection.execute(
            """SELECT count(*) FROM (
            SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"""
        ).fetchone()
    return counted[0] if counted and counted[0] else None


def _budget(out: Console, found: Verdict, threads: int | None) -> None:
    lines = [line for line in found.budget.lines if line.elapsed_share >= 0.0005]
    if not found.budget.known or not lines:
        return
    out.print()
    total = sum(line.elapsed_share for line in lines) or 1.0
    width = out.width - 2
    bar = Text("  ")
    cells = _cells([line.elapsed_share / total for line in lines], width - 2)
    for line, count in zip(lines, cells, strict=True):
        letter = LETTERS[line.cls]
        if out.color_system is None:
            bar.append(letter * count)
        else:
            bar.append("█" * count, COLOURS[line.cls])
    # The shares are of this time, not of the threads' (docs/budget.md).
    about = []
    if found.elapsed_s is not None and found.budget.basis == "threads":
        about.append(f"{units.duration(found.elapsed_s * 1e9)} elapsed")
    elif found.budget.thread_s is not None and found.budget.basis != "threads":
        about.append(f"{units.duration(found.budget.thread_s * 1e9)} of {found.budget.basis}")
    if threads is not None:
        about.append(f"{units.count(threads)} thread{'' if threads == 1 else 's'}")
    out.print(Text.assemble(("Time", "bold"), ("  " + ", ".join(about) if about else "", "dim")))
    out.print(bar, soft_wrap=True)
    legend, length = Text("  "), 2
    for line in sorted(lines, key=lambda line: -line.elapsed_share):
        mark = LETTERS[line.cls] if out.color_system is None else "█"
        words = f" {line.cls} {units.percent(line.elapsed_share)}"
        if length + 4 + len(words) > out.width:
            out.print(legend, soft_wrap=True)
            legend, length = Text("  "), 2
        if length > 2:
            legend.append("   ")
            length += 3
        legend.append(mark, COLOURS[line.cls])
        legend.append(words)
        length += 1 + len(words)
    out.print(legend, soft_wrap=True)


def _cells(shares: list[float], width: int) -> list[int]:
    """Whole cells that sum to `width`, by largest remainder; a share that is there gets one."""
    exact = [share * width for share in shares]
    cells = [max(1, int(value)) for value in exact]
    order = sorted(range(len(exact)), key=lambda at: int(exact[at]) - exact[at])
    at = 0
    while sum(cells) < width:
        cells[order[at % len(order)]] += 1
        at += 1
    while sum(cells) > width:
        cells[cells.index(max(cells))] -= 1
    return cells


def _reports(recording: Recording) -> list[list[Row]]:
    """What the tables below the verdict show; nothing where the recording cannot tell."""
    names = ("syscalls", "devices", "files")
    try:
        return [found.to_pylist() for found in engine.run_all(recording, names)]
    except Problem:
        return [[] for _ in names]


def _table(
    out: Console, title: str, hint: str, fields: list[Field], values: list[list[object]]
) -> None:
    if not values:
        return
    out.print()
    out.print(Text.assemble((title, "bold"), (f"  {hint}", "dim")), soft_wrap=True)
    for line in rows(fields, values, out.width):
        out.print(line, soft_wrap=True)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _time(value: object) -> str:
    return units.duration(_number(value)) if value is not None else "–"


def _size(value: object) -> str:
    return units.size(_number(value)) if value is not None else "–"


def _count(value: object) -> str:
    return units.count(_number(value)) if value is not None else "–"


def _share(value: object) -> str:
    return units.percent(_number(value)) if value is not None else "–"


def _calls(out: Console, report: list[Row]) -> None:
    found = sorted(
        (row for row in report if row["total_ns"]),
        key=lambda row: -(_number(row["total_ns"]) or 0),
    )[:5]
    fields = [
        Field("call", str, left=True),
        Field("calls", _count),
        Field("time", _time),
        Field("mean", _time),
        Field("99th percentile", _time),
        Field("of it CPU", _share),
        Field("bytes", _size),
    ]
    keys = ("name", "calls", "total_ns", "mean_ns", "p99_ns", "cpu_share", "bytes")
    values = [[row.get(key) for key in keys] for row in found]
    _table(out, "Calls", "by time, summed over threads", fields, values)


def _devices(out: Console, report: list[Row]) -> None:
    found = [
        row
        for row in report
        if any(_number(row.get(key)) for key in ("reads", "writes", "flushes"))
    ]
    fields = [
        Field("device", str, left=True),
        Field("reads", _count),
        Field("writes", _count),
        Field("flushes", _count),
        Field("read", _size),
        Field("written", _size),
        Field("mean wait", _time),
        Field("queue", lambda v: "–" if v is None else f"{_number(v):.1f}"),
        Field("busy", _share),
        Field("others'", _share),
    ]
    keys = (
        "device", "reads", "writes", "flushes", "read_bytes", "written_bytes", "await_ns",
        "mean_queue", "utilisation", "others_share",
    )  # fmt: skip
    values = [[row.get(key) for key in keys] for row in found[:5]]
    _table(out, "Devices", "iowhy report devices", fields, values)


def _files(out: Console, report: list[Row]) -> None:
    fields = [
        Field("file", str, left=True),
        Field("call time", _time),
        Field("asked", _size),
        Field("requests", _count),
        Field("moved", _size),
        Field("jumps", _share),
        Field("extents", _count),
    ]
    keys = (
        "path", "time_ns", "asked_bytes", "requests", "request_bytes", "seek_share",
        "extents_after",
    )  # fmt: skip
    # Files whose pages were only looked at have neither calls nor requests; the report has them.
    used = [row for row in report if row.get("path") or row.get("time_ns") or row.get("requests")]
    values = [[row.get(key) for key in keys] for row in used[:5]]
    for value, row in zip(values, used, strict=False):
        value[0] = value[0] or f"inode {row.get('ino')}, name unknown"
        # In a narrow line the name tells more; what is below /proc goes with its process.
        gone = row.get("deleted") and not str(value[0]).startswith("/proc/")
        if gone and out.width >= ROOMY:
            value[0] = f"{value[0]} (deleted)"
    _table(out, "Files", "iowhy report files", fields, values)


def _unknown(out: Console, recording: Recording, found: Verdict) -> None:
    manifest = recording.manifest
    lost = [
        f"{kept.lost:,} events of {name} were lost, {kept.kept:,} kept"
        for name, kept in manifest.tables.items()
        if kept.lost
    ]
    if not manifest.complete:
        lost.append("the recording was cut off: its end is missing")
    for title, lines in (("Lost", lost), ("Unknown", found.unknowns), ("Notes", found.notes)):
        if lines:
            out.print()
            out.print(Text(title, style="bold"))
            for text in dict.fromkeys(lines):
                paragraph(out, text, "dim", 2)
