"""What a stretch of a recording shows: its budget, and who and what took part, as the reports have it."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.relations.narrowed import Narrowed
from iowhy.reports import engine
from iowhy.reports.engine import Row
from iowhy.watching.asked import Asked
from iowhy.watching.growing import Grown, grown
from iowhy.watching.titles import name_of

#: Rows of one report that are kept: of more processes nobody reads.
MOST_ROWS = 20_000
#: Processes whose names are looked up while they run, the busiest first.
MOST_NAMED = 500
#: How long they are waited for, and the thread that reads.
_PATIENCE_S = 0.25
_READER = "iowhy-names"
_REPORTS = ("budget", "processes", "containers", "files", "devices")


class Moment(Struct, frozen=True):
    """Rows of the reports of a stretch of time, which begins and ends so many ns after the recording's start."""

    of: Grown
    begin_ns: int
    end_ns: int
    budget: Sequence[Row]
    processes: Sequence[Row]
    containers: Sequence[Row]
    files: Sequence[Row]
    devices: Sequence[Row]
    #: Whether it holds all rows that its manifest counts.
    whole: bool
    #: Of databases, where they were asked for.
    statements: Sequence[Row] = ()

    @property
    def until_then(self) -> Narrowed | None:
        """All of it up to where it was when it was looked at; None of what does not grow."""
        return Narrowed(until_ns=self.of.end_ns) if self.of.grows else None

    @property
    def narrowed(self) -> Narrowed:
        """The stretch, to ask more about it."""
        return _narrowed(self.of, self.begin_ns, self.end_ns)


def look(path: Path, asked: Asked) -> Moment:
    """Looks at a recording as it is now. Raises Problem where it cannot be read."""
    of = grown(path)
    whole = of.end_ns - of.start_ns
    end = whole if asked.end_ns is None else min(max(asked.end_ns, 0), whole)
    begin = 0 if asked.span_ns is None else max(end - asked.span_ns, 0)
    everything = begin == 0 and end == whole and not of.grows
    narrowed = None if everything else _narrowed(of, begin, end)
    with of.recording.damage_named(), Relations(of.recording, narrowed=narrowed) as relations:
        budget, processes, containers, files, devices = engine.rows_all(
            relations, _REPORTS, MOST_ROWS
        )
        whole_rows = not relations.facts.mismatches
        statements: Sequence[Row] = ()
        if relations.has_statements:
            (statements,) = engine.rows_all(relations, ("statements",), MOST_ROWS)
    if of.grows:
        processes = _named(processes)
    devices = [{**row, "name": device_name(row["device"], of.grows)} for row in devices]
    return Moment(
        of, begin, end, budget, processes, containers, files, devices, whole_rows, statements
    )


def _named(rows: Sequence[Row]) -> list[Row]:
    """With names of processes that still run: their recorder, which runs here, writes names down when threads end.

    Whose memory is locked may not show its arguments: who is not read in time has no name yet.
    """
    names: dict[object, str] = {}

    def read() -> None:
        for row in rows[:MOST_NAMED]:
            if row["comm"] is None:
                with suppress(OSError):
                    names[row["tgid"]] = name_of(int(str(row["tgid"])))

    if not any(one.name == _READER for one in threading.enumerate()):
        reader = threading.Thread(target=read, name=_READER, daemon=True)
        reader.start()
        reader.join(_PATIENCE_S)
    known = dict(names)
    return [{**row, "comm": row["comm"] or known.get(row["tgid"])} for row in rows]


def device_name(numbers: object, grows: bool) -> object:
    """Devices' names, too, are written down at the end: until then this machine has them (sysfs-dev)."""
    try:
        return Path(f"/sys/dev/block/{numbers}").readlink().name if grows else numbers
    except OSError:
        return numbers


def _narrowed(of: Grown, begin_ns: int, end_ns: int) -> Narrowed:
    whole = of.end_ns - of.start_ns
    # Requests, say, may begin before the command does and end after it: the reports of the whole have them. Of what grows there is more
    # by now than when it was looked at.
    since = None if begin_ns == 0 else of.start_ns + begin_ns
    return Narrowed(since, None if end_ns >= whole and not of.grows else of.start_ns + end_ns)
