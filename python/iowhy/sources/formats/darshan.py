"""Darshan logs of HPC jobs, through PyDarshan (the optional extra `iowhy[darshan]`).

Header: a version text and a magic number (darshan-log-format.h). Per file: operations, bytes and
seconds of the POSIX and MPI-IO modules, summed over ranks.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.formats._measure import measure
from iowhy.sources.names import Names

NAME = "darshan"
TOOL = "darshan"

#: DARSHAN_MAGIC_NR, behind the version text of 8 bytes; byte order is the writer's.
MAGIC = 6567223
COUNTERS = {
    "READS": "read_count",
    "WRITES": "write_count",
    "BYTES_READ": "read_bytes",
    "BYTES_WRITTEN": "written_bytes",
    "SEQ_READS": "sequential_reads",
    "SEQ_WRITES": "sequential_writes",
    "FSYNCS": "sync_count",
    "F_READ_TIME": "read_s",
    "F_WRITE_TIME": "write_s",
    "F_META_TIME": "metadata_s",
}


def sniff_head(head: bytes) -> float | None:
    """The version text and the magic number."""
    number = head[8:16]
    little = int.from_bytes(number, "little") == MAGIC
    big = int.from_bytes(number, "big") == MAGIC
    return 0.99 if len(number) == 8 and (little or big) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Into measurements: subject is "MODULE PATH"."""
    del names
    try:
        darshan: Any = importlib.import_module("darshan")
    except ImportError:
        raise Problem(
            f"{path}: is a Darshan log, which PyDarshan reads; install it with "
            "`pip install 'iowhy[darshan]'` and run again"
        ) from None
    size = path.stat().st_size
    parsed = Parsed(TOOL, units="bytes and seconds, summed over ranks")
    try:
        report = darshan.DarshanReport(str(path), read_all=False)
        modules = [name for name in ("POSIX", "MPI-IO", "STDIO") if name in report.modules]
        for index, module in enumerate(modules):
            report.mod_read_all_records(module, dtype="pandas")
            _module(parsed, report, module)
            progress(size * (index + 1) // max(len(modules), 1), size)
    except Problem:
        raise
    except Exception as error:  # PyDarshan's reader raises whatever the damage leads to
        raise Problem(f"{path}: PyDarshan cannot read it: {error}") from None
    parsed.lines_understood = sum(len(rows) for rows in parsed.tables.values()) or 1
    return parsed


def _module(parsed: Parsed, report: Any, module: str) -> None:
    prefix = {"MPI-IO": "MPIIO"}.get(module, module)
    for frames in report.records[module]:
        merged = frames["counters"].merge(frames["fcounters"], on=["id", "rank"])
        for identity, rows in merged.groupby("id"):
            path = report.name_records.get(identity, str(identity))
            for counter, metric in COUNTERS.items():
                column = f"{prefix}_{counter}"
                if column in rows.columns:
                    # -1 stands for a counter that was not kept.
                    kept = rows[column][rows[column] >= 0]
                    if len(kept):
                        measure(parsed, f"{module} {path}", metric, float(kept.sum()))
