"""Recordings too large to be made, or read, in one piece: `python -m benchmarks.large SHAPE FOLDER`.

A shape is a number of parts, each with calls, waits, requests, samples of threads and of the page cache, as
`generated` draws them; a part lasts until the next one begins and is one Parquet file of each table.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from benchmarks.arrow_tables import arrow_schema, in_schema
from benchmarks.generated import events, manifest_until
from benchmarks.generated_machine import START_NS, machine
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.manifest import Kept
from iowhy.recordings.schema import tables
from iowhy.relations import Relations

#: The tables of sums that are written: the relations of these names give them by the rows.
SUMMED = ("call_sums", "request_sums", "flight_sums", "jump_sums", "second_sums", "other_sums")
#: Groups that the recorder keeps (store/src/sums/groups.rs).
MOST_SUMMED = 65_536
TIMES = ("ts_ns", "queue_ns", "issue_ns", "complete_ns")
INODES = ("ino", "owner_ino")


@dataclass(frozen=True)
class Shape:
    """`own_files`: each part has other files than the ones before it."""

    parts: int
    calls: int
    files: int = 50
    threads: int = 8
    own_files: bool = False


SHAPES = {
    "20m-rows": Shape(parts=80, calls=130_000),
    "5m-rows": Shape(parts=20, calls=130_000),
    "200k-files": Shape(parts=20, calls=40_000, files=10_000, own_files=True),
    "5k-parquets": Shape(parts=1_000, calls=400),
}


def generate_large(path: Path, shape: Shape) -> Recording:
    """Writes the recording part by part, in the memory of one, and opens it."""
    rows: dict[str, int] = {}

    def write(name: str, number: int, table: pa.Table) -> None:
        (path / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(
            in_schema(name, table), path / name / f"{number:06d}.parquet", compression="zstd"
        )
        rows[name] = rows.get(name, 0) + table.num_rows

    end_ns = START_NS
    for part in range(shape.parts):
        rng = np.random.default_rng(part)
        made, part_end_ns = events(rng, shape.calls, shape.threads, shape.files)
        if shape.own_files:
            made["page_cache"] = _one_interval(made["page_cache"])
        for name, table in made.items():
            table = _shifted(table, TIMES, end_ns - START_NS)
            if shape.own_files:
                table = _shifted(table, INODES, part * shape.files)
            write(name, part + 1, table)
        end_ns += part_end_ns - START_NS
    files = shape.files * (shape.parts if shape.own_files else 1)
    for name, table in machine(np.random.default_rng(0), end_ns, shape.threads, files).items():
        write(name, 1, table)
    counted = {name: Kept(kept=count) for name, count in rows.items()}
    manifest = replace(manifest_until(end_ns), tables=counted)
    (path / "manifest.json").write_text(manifest.as_json())
    with Relations(open_recording(path)) as relations:
        for name in SUMMED:
            summed = _summed(relations, name)
            if summed.num_rows <= MOST_SUMMED:
                write(name, 1, summed)
    counted = {name: Kept(kept=count) for name, count in rows.items()}
    (path / "manifest.json").write_text(replace(manifest, tables=counted).as_json())
    return open_recording(path)


def _summed(relations: Relations, name: str) -> pa.Table:
    """What the recorder would have summed up, by the rows."""
    fields = arrow_schema(tables()[name])
    columns = ", ".join(
        f"CAST({c.name} AS {c.sql_type}) AS {c.name}" for c in tables()[name].columns
    )
    rows = relations.rows(f"SELECT {columns} FROM {name}")
    made = [dict(zip(fields.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(made, schema=fields)


def _one_interval(table: pa.Table) -> pa.Table:
    """Each file once: with many files, each is used for a moment."""
    return table.filter(pc.equal(table["ts_ns"], START_NS))


def _shifted(table: pa.Table, columns: tuple[str, ...], by: int) -> pa.Table:
    for name in columns:
        if name in table.column_names:
            moved = pc.add(table[name], by)
            table = table.set_column(table.column_names.index(name), name, moved)
    return table


if __name__ == "__main__":
    chosen, folder = sys.argv[1:]
    found = generate_large(Path(folder), SHAPES[chosen])
    print(f"{sum(kept.kept for kept in found.manifest.tables.values()):,} rows in {found.path}")
