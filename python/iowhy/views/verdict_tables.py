"""The tables below a verdict: calls, devices and files that took most of the time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.commands.overview import Row
from iowhy.views.cells import number_or_none
from iowhy.views.styled import Text
from iowhy.views.table_columns import Column, column
from iowhy.views.terminal import print_rows
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
    if shown:
        out.print()
        _rows(out, _SUFFERING, shown, "iowhy report suffers")


def show_statements(out: "Console", statements: Sequence[Row], place: str = "") -> None:
    """The statements of databases in which most time passed."""
    shown = [row for row in statements if row.get("runs") and not _of_ours(row)][:VICTIMS]
    if shown:
        out.print()
        rows = [{**row, "object": _read_most(row)} for row in shown]
        _rows(out, _STATEMENTS, rows, f"iowhy report statements {place}")


def _read_most(row: Row) -> str | None:
    """What it reads most of, and from where."""
    return None if row.get("object") is None else f"{row['object']}, {row['object_reads']}"


def _of_ours(row: Row) -> bool:
    return str(row.get("statement", "")).startswith("iowhy ")


def show_containers(out: "Console", containers: Sequence[Row], place: str = "") -> None:
    """Of a whole machine, its containers and services."""
    if not any(row.get("container") for row in containers):
        return
    rows = [{**row, "container": row.get("container") or "in none"} for row in containers[:SHOWN]]
    _table(out, "Containers and services", "", ("containers", place), _CONTAINERS, rows)


def show_calls(
    out: "Console", report: Sequence[Row], place: str = "", *, sleeps: bool = False
) -> None:
    """The calls that took most time."""
    made = [row for row in report if row["total_ns"]]
    kept = [row for row in made if sleeps or row["name"] not in classes.IDLE_CALLS]
    found = sorted(kept, key=lambda row: -(number_or_none(row["total_ns"]) or 0))
    less = "; without those that only sleep for others" if len(kept) < len(made) else ""
    about = f"by time, summed over threads{less}"
    _table(out, "Calls", about, ("syscalls", place), _CALLS, found)


def show_devices(out: "Console", report: Sequence[Row], place: str = "") -> None:
    """The devices that did something."""
    found = [
        row
        for row in report
        if any(number_or_none(row.get(key)) for key in ("reads", "writes", "flushes"))
    ]
    _table(out, "Devices", "", ("devices", place), _DEVICES, found)


def show_files(out: "Console", report: Sequence[Row], place: str = "") -> None:
    """The files whose calls or requests took most time."""
    # Files whose pages were only looked at have neither calls nor requests; the report has them.
    used = [
        row for row in report if row.get("pattern") or row.get("time_ns") or row.get("requests")
    ]
    rows = []
    for row in used[:SHOWN]:
        name = str(row.get("pattern") or "name unknown")
        # In a narrow line the name says more; what is below /proc goes with its process.
        gone = row.get("deleted") == row.get("files") and not name.startswith("/proc/")
        rows.append(
            {**row, "pattern": f"{name} (deleted)" if gone and out.width >= ROOMY else name}
        )
    _table(out, "Files", "", ("file-patterns", place), _FILES, rows)


def _table(
    out: "Console",
    title: str,
    about: str,
    report: tuple[str, str],
    columns: Sequence[Column],
    rows: Sequence[Row],
) -> None:
    if not rows:
        return
    command = " ".join(word for word in ("iowhy report", *report) if word)
    hint = about or command
    out.print()
    out.print(Text.assemble((title, "bold"), (f"  {hint}", "dim")), soft_wrap=True)
    _rows(out, columns, rows[:SHOWN], command)


def _rows(out: "Console", columns: Sequence[Column], rows: Sequence[Row], whole: str) -> None:
    values = [[row.get(one.key) for one in columns] for row in rows]
    print_rows(out, [one.field for one in columns], values, whole=whole)


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


# Those columns that are `extra` come where there is room.
_CALLS = (
    column("name", "call", left=True),
    column("calls", "calls"),
    column("total_ns", "time"),
    column("mean_ns", "mean"),
    column("p99_ns", "99th percentile"),
    column("cpu_share", "of it CPU"),
    column("bytes", "bytes"),
    column("p50_ns", "median", extra=True),
    column("max_ns", "longest", extra=True),
    column("errors", "errors", extra=True),
    column("runnable_ns", "waiting for a CPU", extra=True),
)
_DEVICES = (
    column("device", "device", left=True),
    column("reads", "reads"),
    column("writes", "writes"),
    column("flushes", "flushes"),
    column("read_bytes", "read"),
    column("written_bytes", "written"),
    column("await_ns", "mean wait"),
    column("mean_queue", "queue"),
    column("utilisation", "busy"),
    column("others_time_share", "others'"),
    column("service_ns", "on the device", extra=True),
    column("flush_ns", "mean flush", extra=True),
    column("mean_read_bytes", "mean read", extra=True),
    column("mean_write_bytes", "mean write", extra=True),
)
_SUFFERING = (
    column("comm", "VICTIM", left=True),
    column("waited_ns", "waited"),
    column("mostly", "for", left=True),
    column("resource", "on", left=True),
    column("other_container", "CULPRIT", left=True),
    column("other_share", "share"),
    column("own_share", "own share", extra=True),
    column("reason", "reason", left=True, extra=True),
    column("container", "in", left=True, extra=True),
    column("other_comm", "mostly", left=True, extra=True),
)
_STATEMENTS = (
    column("statement", "STATEMENT", left=True),
    column("time_ns", "time"),
    column("cpu_ns", "CPU"),
    column("runnable_ns", "for a CPU"),
    column("read_ns", "reads"),
    column("object", "mostly of", left=True),
    column("write_ns", "writes"),
    column("sync_ns", "syncs"),
    column("lock_ns", "locks"),
    column("spilled_bytes", "spilled"),
    column("exact_share", "exact", extra=True),
)
_CONTAINERS = (
    column("container", "container or service", left=True),
    column("processes", "processes"),
    column("waited_ns", "waits"),
    column("mostly", "mostly", left=True),
    column("request_ns", "load of devices"),
    column("read_bytes", "read"),
    column("written_bytes", "written"),
    column("cpu_ns", "CPU"),
    column("dirtied_pages", "pages dirtied", extra=True),
    column("evicted_pages", "evicted", extra=True),
)
_FILES = (
    column("pattern", "file", left=True),
    column("files", "files"),
    column("time_ns", "call time"),
    column("requests", "requests"),
    column("request_bytes", "moved"),
    column("jump_share", "jumps"),
    column("extents_after", "extents"),
    column("calls", "calls", extra=True),
    column("sync_ns", "in sync", extra=True),
    column("request_ns", "in requests", extra=True),
)
