"""What the live view shows at each depth: the recording's tables, and those of what was opened in them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from iowhy import units
from iowhy.messages import printable
from iowhy.views.table_columns import Column
from iowhy.views.top import columns

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row
    from iowhy.watching.details import Detail
    from iowhy.watching.moment import Moment


class Page(Struct, frozen=True):
    """One table: its title, its columns, its rows, what distinguishes a row from the others, and what it opens."""

    title: str
    columns: tuple[Column, ...] = ()
    rows: "Sequence[Row]" = ()
    names: tuple[str, ...] = ()
    opens: str | None = None


class Level(Struct):
    """The pages of one depth. `ask` gets them for another moment; it takes as long as its queries."""

    title: str
    pages: list[Page] = field(default_factory=list)
    ask: "Callable[[Moment], list[Page]] | None" = None
    at: int = 0


TITLES = ("Processes", "Services", "Files", "Devices", "Findings")


def pages_of(moment: "Moment | None", findings: "Sequence[Row]") -> list[Page]:
    """The pages of the recording itself."""
    rows: tuple[Sequence[Row], ...] = ((), (), (), ())
    if moment is not None:
        rows = (moment.processes, moment.containers, moment.files, moment.devices)
    pages = [
        Page(TITLES[0], columns.PROCESSES, rows[0], ("tgid",), "process"),
        Page(TITLES[1], columns.CONTAINERS, rows[1], ("container",), "container"),
        Page(TITLES[2], columns.FILES, rows[2], ("path", "dev", "ino"), "file"),
        Page(TITLES[3], columns.DEVICES, rows[3], ("device",), "device"),
        Page(TITLES[4], columns.FINDINGS, findings, ("cause",), "finding"),
    ]
    if moment is not None and moment.statements:
        named = ("statement", "statement_id")
        pages.append(Page("Statements", columns.STATEMENTS, moment.statements, named))
    return pages


def opened(kind: str, row: "Row") -> Level | None:
    """What a row opens; None where nothing more is known of it."""
    tgid = row.get("tgid")
    if kind == "process" and isinstance(tgid, int):
        title = f"process {_named(row.get('comm'), tgid)}"
        return Level(title, ask=partial(_of_process, tgid))
    if kind == "thread" and isinstance(tid := row.get("tid"), int):
        assert isinstance(tgid, int)
        title = f"thread {_named(row.get('comm'), tid)}"
        return Level(title, ask=partial(_of_thread, tgid, tid))
    dev, ino = row.get("dev"), row.get("ino")
    if kind == "file" and isinstance(dev, int) and isinstance(ino, int):
        title = f"file {printable(str(row.get('path') or units.inode(ino)))}"
        return Level(title, ask=partial(_of_file, dev, ino))
    if kind == "device" and isinstance(device := row.get("device"), str):
        title = f"device {printable(device)}"
        return Level(title, ask=partial(_of_device, device))
    if kind == "container":
        name = row.get("container")
        title = f"service {printable(str(name))}" if name else "what is in no service"
        return Level(title, ask=lambda moment: [_inside(moment, name)])
    return None


def _of_process(tgid: int, moment: "Moment") -> list[Page]:
    from iowhy.watching.details import of_process

    return _pages(of_process(moment, tgid))


def _of_thread(tgid: int, tid: int, moment: "Moment") -> list[Page]:
    from iowhy.watching.details import of_thread

    return _pages(of_thread(moment, tgid, tid))


def _of_file(dev: int, ino: int, moment: "Moment") -> list[Page]:
    from iowhy.watching.details import of_file

    return _pages(of_file(moment, dev, ino))


def _of_device(device: str, moment: "Moment") -> list[Page]:
    from iowhy.watching.details import of_device

    return _pages(of_device(moment, device))


def _inside(moment: "Moment", name: object) -> Page:
    rows = [row for row in moment.processes if row.get("container") == name]
    return Page("Processes", columns.PROCESSES, rows, ("tgid",), "process")


_OPENS = {"Threads": "thread", "Files": "file"}


def _pages(found: "Sequence[Detail]") -> list[Page]:
    pages = []
    for one in found:
        names = tuple(
            key
            for key in ("tgid", "tid", "path", "ino", "name", "reason", "syscall", "op")
            if one.rows and key in one.rows[0]
        )
        made = columns.FILES if one.title == "Files" else columns.columns_of(one.rows)
        pages.append(Page(one.title, made, one.rows, names, _OPENS.get(one.title)))
    return pages


def _named(comm: object, number: int) -> str:
    return f"{printable(str(comm))} ({number})" if comm else str(number)
