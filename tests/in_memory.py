"""A recording whose rows reach no disk: DuckDB has them in memory, as it has those of a small file.

For what is asked of rows; what is about files (packs, damage, the command line) needs `write_recording`.
"""

import atexit
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path

import duckdb
from msgspec.structs import replace

from iowhy.recordings import Manifest, Recording
from iowhy.recordings.manifest import Kept
from iowhy.recordings.open_tables import ALONE, OpenTables, reading
from iowhy.recordings.schema import tables
from iowhy.recordings.stored_rows import LOOK_AT_ALL
from iowhy.recordings.writer import arrays_of

Rows = Mapping[str, Sequence[Mapping[str, object]]]
_NUMBERS = count()


class InMemory(Recording, frozen=True):
    """A recording of these rows, each table as arrays."""

    arrays: Mapping[str, dict[str, object]] = {}

    def open_tables(self, written: Collection[Path] = ()) -> OpenTables:  # noqa: ARG002
        return _Tables(self)

    def _is_there(self) -> bool:
        return True


def in_memory(path: Path, manifest: Manifest, rows: Rows) -> Recording:
    """As `write_recording` at a path where nothing is: with the same checks and the same counts."""
    arrays = {name: arrays_of(tables()[name], given) for name, given in rows.items() if given}
    counted = {name: Kept(kept=len(given)) for name, given in rows.items()}
    for name, kept in manifest.tables.items():
        counted[name] = Kept(counted.get(name, Kept()).kept, kept.lost)
    return InMemory(path, replace(manifest, tables=counted), None, arrays)


class _Tables(OpenTables):
    """The rows in a database of their own within one that all share: to start one takes longer than to ask a question."""

    def __init__(self, recording: InMemory) -> None:
        self.path = recording.path
        self._files = {name: [] for name in tables()}
        self._arrays = recording.arrays
        self._counts = {name: kept.kept for name, kept in recording.manifest.tables.items()}
        self._there: set[str] = set()
        self._name = f"made{next(_NUMBERS)}"
        self.connection = _shared().cursor()
        self.connection.execute(f"ATTACH ':memory:' AS {self._name}")
        self.connection.execute(f"USE {self._name}")

    def close(self) -> None:
        self.connection.close()
        _shared().execute(f"DETACH {self._name}")

    def need(
        self,
        names: Collection[str],
        *,
        loaded: bool = False,
        select: Callable[[str], str] | None = None,
    ) -> None:
        for name in self.missing(names):
            kind = "TABLE" if loaded else "VIEW"
            self.connection.execute(f"CREATE {kind} {name} AS {(select or self.select)(name)}")
            self._there.add(name)

    def row_counts(self) -> dict[str, int]:
        return {name: rows for name, rows in self._counts.items() if rows and name in self._arrays}

    def scattered(self, name: str) -> bool:  # noqa: ARG002
        return False

    def select(self, name: str) -> str:
        if name not in self._arrays:
            return super().select(name)
        made = f"made_{name}"
        if made not in self._there:
            casts = ", ".join(
                f'CAST("{c.name}" AS {c.sql_type}) AS "{c.name}"' for c in tables()[name].columns
            )
            self.connection.register("given", self._arrays[name])
            self.connection.execute(f"CREATE TABLE {made} AS SELECT {casts} FROM given").fetchall()
            self.connection.unregister("given")
            self._there.add(made)
        return f"SELECT * FROM {made}"


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    more = "".join(f"SET {name} = {value};" for name, value in LOOK_AT_ALL.items())
    connection = reading([], ALONE + more)
    atexit.register(connection.close)
    return connection
