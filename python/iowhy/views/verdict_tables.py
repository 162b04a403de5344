"""The tables below a verdict: calls, devices and files that took most of the time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy import units
from iowhy.commands.overview import Row
from iowhy.views.cells import number_or_none
from iowhy.views.styled import Text
from iowhy.views.terminal import Field, print_rows
from iowhy.whys import classes

if TYPE_CHECKING:  # slow to import
    from rich.console import Console

ROOMY = 80  # columns from which a name may carry a remark
SHOWN = 5
VICTIMS = 3


def show(
    out: "Console",
    calls: Sequence[Row],
    devices: Sequence[Row],
    files: Sequence[Row],
    place: str = "",
    *,
    sleeps: bool = False,
) -> None:
    """The heaviest of each; a table without rows is left out. `place` is the recording, as it is typed.

    `sleeps`: calls are listed, too, that only sleep for others.
    """
    show_calls(out, calls, place, sleeps=sleeps)
    show_devices(out, devices, place)
    show_files(out, files, place)


def show_machine(out: "Console", suffering: Sequence[Row]) -> None:
    """Of a whole machine: who suffers, from what and how much, and who causes it."""
    shown = [_sufferer(row) for row in suffering[:VICTIMS]]
    if not shown:
        return
    out.print()
    values = [[row.get(key) for key in _SUFFERING] for row in shown]
    print_rows(out, list(_SUFFERING.values()), values, whole="iowhy report suffers")


def show_containers(out: "Console", containers: Sequence[Row], place: str = "") -> None:
    """Of a whole machine, its containers and services."""
    if not any(row.get("container") for row in containers):
        return
    values = [[row.get(key) for key in _CONTAINERS] for row in containers[:SHOWN]]
    about = ("containers", place)
    _table(out, "Containers and services", "", about, list(_CONTAINERS.values()), values)


def show_calls(
    out: "Console", report: Sequence[Row], place: str = "", *, sleeps: bool = False
) -> None:
    """The calls that took most time."""
    made = [row for row in report if row["total_ns"]]
    kept = [row for row in made if sleeps or row["name"] not in classes.IDLE_CALLS]
    found = sorted(
        kept,
        key=lambda row: -(number_or_none(row["total_ns"]) or 0),
    )
    values = [[row.get(key) for key in _CALLS] for row in found[:SHOWN]]
    _table(
        out,
        "Calls",
        "by time, summed over threads"
        + ("; without those that only sleep for others" if len(kept) < len(made) else ""),
        ("syscalls", place),
        list(_CALLS.values()),
        values,
    )


def show_devices(out: "Console", report: Sequence[Row], place: str = "") -> None:
    """The devices that did something."""
    found = [
        row
        for row in report
        if any(number_or_none(row.get(key)) for key in ("reads", "writes", "flushes"))
    ]
    values = [[row.get(key) for key in _DEVICES] for row in found[:SHOWN]]
    _table(out, "Devices", "", ("devices", place), list(_DEVICES.values()), values)


def show_files(out: "Console", report: Sequence[Row], place: str = "") -> None:
    """The files whose calls or requests took most time."""
    # Files whose pages were only looked at have neither calls nor requests; the report has them.
    used = [
        row for row in report if row.get("pattern") or row.get("time_ns") or row.get("requests")
    ]
    values = [[row.get(key) for key in _FILES] for row in used[:SHOWN]]
    for value, row in zip(values, used, strict=False):
        value[0] = value[0] or "name unknown"
        # In a narrow line the name says more; what is below /proc goes with its process.
        gone = row.get("deleted") == row.get("files") and not str(value[0]).startswith("/proc/")
        if gone and out.width >= ROOMY:
            value[0] = f"{value[0]} (deleted)"
    _table(out, "Files", "", ("file-patterns", place), list(_FILES.values()), values)


def _table(
    out: "Console",
    title: str,
    about: str,
    report: tuple[str, str],
    fields: list[Field],
    values: list[list[object]],
) -> None:
    if not values:
        return
    command = " ".join(word for word in ("iowhy report", *report) if word)
    hint = about or command
    out.print()
    out.print(Text.assemble((title, "bold"), (f"  {hint}", "dim")), soft_wrap=True)
    print_rows(out, fields, values, whole=command)


def _time(value: object) -> str:
    return units.duration(number_or_none(value)) if value is not None else "–"


def _size(value: object) -> str:
    return units.size(number_or_none(value)) if value is not None else "–"


def _count(value: object) -> str:
    return units.count(number_or_none(value)) if value is not None else "–"


def _share(value: object) -> str:
    return units.percent(number_or_none(value)) if value is not None else "–"


def _decimal(value: object) -> str:
    number = number_or_none(value)
    return "–" if number is None else f"{number:.1f}"


def _process(comm: object, tgid: object) -> str:
    return "–" if tgid is None else f"{comm or 'name unknown'} ({tgid})"


def _sufferer(row: Row) -> Row:
    """Its cells as they are shown: in a container, service or session its main program is another cell."""
    program = row.get("other_comm") if row.get("other_container") else None
    names = {"comm": _process(row.get("comm"), row.get("tgid")), "other_container": _group(row)}
    return {**row, **names, "other_comm": program}


def _group(row: Row) -> str:
    """Who loads it: the container, service or session, else the program, by its processes."""
    name = row.get("other_container") or row.get("other_comm")
    processes = number_or_none(row.get("other_processes"))
    if processes is not None and processes > 1:
        return f"{name or 'name unknown'} ({processes:.0f} processes)"
    return _process(name, row.get("other_tgid"))


def _text(value: object) -> str:
    return "–" if value is None else str(value)


# Column of the report → how it is shown. Those that are `extra` come where there is room.
_CALLS = {
    "name": Field("call", str, left=True),
    "calls": Field("calls", _count),
    "total_ns": Field("time", _time),
    "mean_ns": Field("mean", _time),
    "p99_ns": Field("99th percentile", _time),
    "cpu_share": Field("of it CPU", _share),
    "bytes": Field("bytes", _size),
    "p50_ns": Field("median", _time, extra=True),
    "max_ns": Field("longest", _time, extra=True),
    "errors": Field("errors", _count, extra=True),
    "runnable_ns": Field("waiting for a CPU", _time, extra=True),
}
_DEVICES = {
    "device": Field("device", str, left=True),
    "reads": Field("reads", _count),
    "writes": Field("writes", _count),
    "flushes": Field("flushes", _count),
    "read_bytes": Field("read", _size),
    "written_bytes": Field("written", _size),
    "await_ns": Field("mean wait", _time),
    "mean_queue": Field("queue", _decimal),
    "utilisation": Field("busy", _share),
    "others_time_share": Field("others'", _share),
    "service_ns": Field("on the device", _time, extra=True),
    "flush_ns": Field("mean flush", _time, extra=True),
    "mean_read_bytes": Field("mean read", _size, extra=True),
    "mean_write_bytes": Field("mean write", _size, extra=True),
}
_SUFFERING = {
    "comm": Field("VICTIM", _text, left=True),
    "waited_ns": Field("waited", _time),
    "mostly": Field("for", _text, left=True),
    "resource": Field("on", _text, left=True),
    "other_container": Field("CULPRIT", _text, left=True),
    "other_share": Field("share", _share),
    "own_share": Field("own share", _share, extra=True),
    "reason": Field("reason", _text, left=True, extra=True),
    "container": Field("in", _text, left=True, extra=True),
    "other_comm": Field("mostly", _text, left=True, extra=True),
}
_CONTAINERS = {
    "container": Field("container or service", lambda name: str(name or "in none"), left=True),
    "processes": Field("processes", _count),
    "waited_ns": Field("waits", _time),
    "mostly": Field("mostly", _text, left=True),
    "request_ns": Field("load of devices", _time),
    "read_bytes": Field("read", _size),
    "written_bytes": Field("written", _size),
    "cpu_ns": Field("CPU", _time),
    "dirtied_pages": Field("pages dirtied", _count, extra=True),
    "evicted_pages": Field("evicted", _count, extra=True),
}
_FILES = {
    "pattern": Field("file", str, left=True),
    "files": Field("files", _count),
    "time_ns": Field("call time", _time),
    "requests": Field("requests", _count),
    "request_bytes": Field("moved", _size),
    "jump_share": Field("jumps", _share),
    "extents_after": Field("extents", _count),
    "calls": Field("calls", _count, extra=True),
    "sync_ns": Field("in sync", _time, extra=True),
    "request_ns": Field("in requests", _time, extra=True),
}
