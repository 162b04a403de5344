"""What a recording is to its relations: its times, its machine, which sensors ran, which tables have rows."""

from collections.abc import Collection, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.recordings import Recording
from iowhy.recordings.open_tables import OpenTables
from iowhy.recordings.row_counts import Mismatch, mismatches
from iowhy.recordings.schema import Table, tables
from iowhy.tables import sensors

PAGE_BYTES = 4096  # where a manifest does not tell: the page size of nearly all machines

#: Every sensor, in the order in which they are shown.
SENSORS = tuple(sensors())

#: Two weeks of minutes.
MOST_SLICES = 20_160


class RecordedFacts(Struct, frozen=True):
    """Times in ns of CLOCK_MONOTONIC; what is not known of the machine is None.

    `ran` are the sensors that ran, `rows` the number of rows of the tables that have any. `mismatches` are the tables that hold
    other rows than the manifest counts; of these, sums are taken for none: relations go by the rows. `phases`: from when to when each
    was, after the start, and its leading cause, where they were asked for (relations/change_points.py). `memory_sizes`: rows of the relation
    of that name, where they were (relations/memory_sizes.py).
    """

    start_ns: int
    end_ns: int
    elapsed_ns: int
    cpus: int | None
    memory_bytes: int | None
    page_bytes: int
    ran: frozenset[str]
    rows: Mapping[str, int] = field(default_factory=dict)
    mismatches: tuple[Mismatch, ...] = ()
    phases: tuple[tuple[int, int, str | None], ...] = ()
    memory_sizes: tuple[tuple[int, float, int, int], ...] = ()

    @property
    def timed(self) -> bool:
        """Whether the time of threads was recorded, and of a known length."""
        return self.elapsed_ns > 0 and self.has("thread_time")

    def has(self, *names: str) -> bool:
        """Whether each of these tables has any row."""
        return all(self.rows.get(name) for name in names)

    @property
    def slice_ns(self) -> int:
        """A round length that cuts the elapsed time into some ten to some hundred slices; of weeks, into a minute each.

        A manifest may say that it lasted for years: then slices are as many minutes as make no more of them.
        """
        for longest_s, slice_ns in (
            (10, 100_000_000),
            (600, 1_000_000_000),
            (6000, 10_000_000_000),
        ):
            if self.elapsed_ns <= longest_s * 1_000_000_000:
                return slice_ns
        minutes = max(1, -(-self.elapsed_ns // (MOST_SLICES * 60_000_000_000)))
        return minutes * 60_000_000_000

    def without_sums(self) -> "RecordedFacts":
        """As if the recorder had summed nothing up: relations then go by the rows."""
        own = {name: count for name, count in self.rows.items() if tables()[name].sums is None}
        return replace(self, rows=own)


def recorded_facts(rec: Recording, opened: OpenTables) -> RecordedFacts:
    """What the manifest says, its gaps filled from the tables' first and last times."""
    command = rec.manifest.command
    rows = opened.row_counts()
    if command.start_ns is None or command.end_ns is None:
        return facts_by_rows(rec, rows, _span(opened, rows))
    return facts_by_rows(rec, rows)


def facts_by_rows(
    rec: Recording,
    rows: Mapping[str, int],
    span: tuple[int | None, int | None] = (None, None),
    of: Collection[str] | None = None,
) -> RecordedFacts:
    """What the manifest says, with the number of rows of each table; `span` stands in for times that it lacks.

    `of` are the tables whose rows were counted, None: all.
    """
    wrong = mismatches(rec.manifest, rows, of)
    lost = {name for name, one in rec.manifest.tables.items() if one.lost}
    untrue = {
        name
        for name in (*(one.table for one in wrong), *lost)
        if name in tables() and tables()[name].sums
    }
    command = rec.manifest.command
    start = command.start_ns if command.start_ns is not None else span[0]
    end = command.end_ns if command.end_ns is not None else span[1]
    start = start or 0
    end = max(start, end if end is not None else start)
    facts = RecordedFacts(
        start_ns=start,
        end_ns=end,
        elapsed_ns=end - start,
        cpus=rec.manifest.host.cpus,
        memory_bytes=rec.manifest.host.memory_bytes,
        page_bytes=rec.manifest.host.page_bytes or PAGE_BYTES,
        ran=frozenset(sensor for sensor in SENSORS if rec.ran(sensor)),
        rows={name: count for name, count in rows.items() if name not in untrue},
        mismatches=wrong,
    )
    # Sums are of a whole recording.
    return facts if rec.manifest.complete else facts.without_sums()


def _span(opened: OpenTables, rows: Mapping[str, int]) -> tuple[int | None, int | None]:
    """When the first row of any table begins and the last one ends, (None, None) without rows."""
    parts = [
        f"SELECT min({table.time}) AS first_ns, max({_end(table)}) AS last_ns "
        f"FROM ({opened.select(table.name)}) AS t"
        for table in tables().values()
        if table.time is not None and rows.get(table.name)
    ]
    if not parts:
        return None, None
    first, last = opened.connection.execute(
        f"SELECT min(first_ns), max(last_ns) FROM ({' UNION ALL '.join(parts)}) AS p"
    ).fetchall()[0]
    return first, last


def _end(table: Table) -> str:
    """When a row ends, in SQL: what has no length ends when it begins."""
    names = {column.name for column in table.columns}
    for length in ("interval_ns", "dur_ns"):
        if length in names:
            return f"{table.time} + coalesce({length}, 0)"
    return f"coalesce(complete_ns, {table.time})" if "complete_ns" in names else str(table.time)
