"""What a recording says, by topic: each computed in SQL, when first asked for, and once.

`Facts(rec).requests.median_bytes`. None means unknown: the sensor did not run, the other tool did
not print it, or there is nothing to measure it on. No rows travel to Python, only aggregates.
"""

from functools import cached_property
from types import TracebackType

from iowhy.recording import Recording
from iowhy.relations import Relations
from iowhy.whys import budget as budgets
from iowhy.whys.facts import (
    cache,
    calls,
    devices,
    journal,
    layout,
    machine,
    measured,
    requests,
    run,
    threads,
    writeback,
)

#: Rows that a query with window functions looks at: such queries sort, so beyond it a recording is
#: looked at in evenly spread slices of its time.
WINDOW_ROWS = 100_000
#: Into how many slices the time is cut for that: enough that phases of a run are all seen.
SLICES = 240


class Facts:
    """The facts of one recording; use as a context, which closes the connection."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.manifest = recording.manifest
        self.relations = Relations.of(recording)
        self.connection = self.relations.connection
        # One row for each file, whatever the recording says: a second one would count calls twice.
        self.connection.execute(
            """
            CREATE TEMP TABLE why_files AS
            SELECT dev, ino, any_value(path) AS path, any_value(kind) AS kind,
              max(size_bytes) AS size_bytes FROM files GROUP BY dev, ino
            """
        )

    def __enter__(self) -> "Facts":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.connection.close()

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """All rows of a query, which aggregates: a handful."""
        return [tuple(row) for row in self.connection.execute(sql).fetchall()]

    def numbers(self, sql: str) -> dict[str, float | None]:
        """The single row of a query of numbers, by column."""
        cursor = self.connection.execute(sql)
        names = [column[0] for column in cursor.description]
        row = cursor.fetchone()
        if row is None:
            return dict.fromkeys(names)
        return {
            name: None if value is None else float(value)
            for name, value in zip(names, row, strict=True)
        }

    def run_sql(self, sql: str) -> None:
        """A statement without a result: a temporary table that several topics read."""
        self.connection.execute(sql)

    def size(self, table: str) -> int:
        """Rows of a table, from the files' own footers."""
        return self.relations.size(table)

    def has(self, table: str) -> bool:
        """Whether a table has any row."""
        return self.size(table) > 0

    def own_filesystems(self, column: str = "dev") -> str:
        """A predicate for the file systems that the command's requests write to, else of its calls:
        journals and writeback of the whole machine are recorded, and most of it is somebody else's."""
        if self.requests.known and self.requests.dev is not None:
            written = "in_scope AND op = 'write' AND owner_dev IS NOT NULL"
            if self.rows(f"SELECT 1 FROM why_requests WHERE {written} LIMIT 1"):
                return f"{column} IN (SELECT owner_dev FROM why_requests WHERE {written})"
        if not self.has("syscalls"):
            return "true"
        calls.prepare(self)
        return f"{column} IN (SELECT dev FROM why_calls WHERE dev IS NOT NULL)"

    def slice(self, table: str, column: str, limit: int = WINDOW_ROWS) -> str:
        """A predicate that keeps a table to about `limit` rows, in slices spread over the run."""
        rows = self.size(table)
        if rows <= limit or not self.run.elapsed_ns:
            return "true"
        width = max(1, self.run.elapsed_ns // SLICES)
        every = -(-rows // limit)
        return f"(({column} - {self.run.start_ns}) // {width}) % {every} = 0"

    @cached_property
    def run(self) -> run.Run:
        """When, how long, what was lost, which sensors were missing."""
        return run.measure(self)

    @cached_property
    def budget(self) -> budgets.Budget:
        """Where the time went."""
        return budgets.measure(self)

    @cached_property
    def machine(self) -> machine.Machine:
        """CPUs, memory, limits of the control group, pressure."""
        return machine.measure(self)

    @cached_property
    def threads(self) -> threads.Threads:
        """The command's threads and processes."""
        return threads.measure(self)

    @cached_property
    def calls(self) -> calls.Calls:
        """The system calls."""
        return calls.measure(self)

    @cached_property
    def requests(self) -> requests.Requests:
        """The block requests, on the device that the command uses most."""
        return requests.measure(self)

    @cached_property
    def devices(self) -> devices.Devices:
        """The devices' own counters."""
        return devices.measure(self)

    @cached_property
    def cache(self) -> cache.Cache:
        """The page cache."""
        return cache.measure(self)

    @cached_property
    def layout(self) -> layout.Layout:
        """Where the files lie on the device."""
        return layout.measure(self)

    @cached_property
    def journal(self) -> journal.Journal:
        """The file systems' journals."""
        return journal.measure(self)

    @cached_property
    def writeback(self) -> writeback.Writeback:
        """Writeback passes and pauses of writers."""
        return writeback.measure(self)

    @cached_property
    def measured(self) -> measured.Measured:
        """Summary numbers and histograms that other tools printed."""
        return measured.measure(self)
