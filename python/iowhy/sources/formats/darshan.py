"""Darshan logs of HPC jobs, through PyDarshan (the optional extra `iowhy[darshan]`).

Header: a version text and a magic number (darshan-log-format.h). Operations, bytes and seconds are those of the
POSIX, MPI-IO and STDIO modules, summed over ranks: a module's totals as Darshan's own summary has them, and its
heaviest files. MPI-IO counts independent, collective, split and non-blocking operations apart; here they are one. A
file written through MPI-IO is in both modules: their bytes are never added.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.numbers import NS_PER_S

NAME = "darshan"
TOOL = "darshan"

#: DARSHAN_MAGIC_NR, behind the version text of 8 bytes; byte order is the writer's.
MAGIC = 6567223
#: Files of a module that are listed one by one, heaviest first; a job may have millions.
FILES_LISTED = 100
MODULES = ("POSIX", "MPI-IO", "STDIO")
#: Metric → the counters that it per_file up, in each module's own names (darshan-*-log-format.h).
COUNTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "POSIX": {
        "open_count": ("POSIX_OPENS",),
        "read_count": ("POSIX_READS",),
        "write_count": ("POSIX_WRITES",),
        "read_bytes": ("POSIX_BYTES_READ",),
        "written_bytes": ("POSIX_BYTES_WRITTEN",),
        "sequential_reads": ("POSIX_SEQ_READS",),
        "sequential_writes": ("POSIX_SEQ_WRITES",),
        "sync_count": ("POSIX_FSYNCS", "POSIX_FDSYNCS"),
        "read_s": ("POSIX_F_READ_TIME",),
        "write_s": ("POSIX_F_WRITE_TIME",),
        "metadata_s": ("POSIX_F_META_TIME",),
    },
    "MPI-IO": {
        "open_count": ("MPIIO_INDEP_OPENS", "MPIIO_COLL_OPENS"),
        "read_count": tuple(f"MPIIO_{how}_READS" for how in ("INDEP", "COLL", "SPLIT", "NB")),
        "write_count": tuple(f"MPIIO_{how}_WRITES" for how in ("INDEP", "COLL", "SPLIT", "NB")),
        "read_bytes": ("MPIIO_BYTES_READ",),
        "written_bytes": ("MPIIO_BYTES_WRITTEN",),
        "sync_count": ("MPIIO_SYNCS",),
        "read_s": ("MPIIO_F_READ_TIME",),
        "write_s": ("MPIIO_F_WRITE_TIME",),
        "metadata_s": ("MPIIO_F_META_TIME",),
    },
    "STDIO": {
        "open_count": ("STDIO_OPENS", "STDIO_FDOPENS"),
        "read_count": ("STDIO_READS",),
        "write_count": ("STDIO_WRITES",),
        "read_bytes": ("STDIO_BYTES_READ",),
        "written_bytes": ("STDIO_BYTES_WRITTEN",),
        "flush_count": ("STDIO_FLUSHES",),
        "read_s": ("STDIO_F_READ_TIME",),
        "write_s": ("STDIO_F_WRITE_TIME",),
        "metadata_s": ("STDIO_F_META_TIME",),
    },
}
_TIMES = ("read_s", "write_s", "metadata_s")


def sniff_head(head: bytes) -> float | None:
    """The version text and the magic number."""
    number = head[8:16]
    little = int.from_bytes(number, "little") == MAGIC
    big = int.from_bytes(number, "big") == MAGIC
    return 0.99 if len(number) == 8 and (little or big) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Into measurements: subject is "MODULE" for its totals and "MODULE PATH" for a file."""
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
        job = report.metadata["job"]
        parsed.version = job["metadata"].get("lib_ver")
        totals: dict[str, dict[str, float]] = {}
        for index, module in enumerate(MODULES):
            if module in report.modules:
                report.mod_read_all_records(module, dtype="pandas")
                totals[module] = _module(parsed, report, module)
            progress(size * (index + 1) // len(MODULES), size)
        _job(parsed, job, totals)
    except Exception as error:  # PyDarshan's reader raises whatever the damage leads to
        raise Problem(f"{path}: PyDarshan cannot read it: {error}") from None
    parsed.lines_understood = sum(len(rows) for rows in parsed.tables.values()) or 1
    return parsed


def _module(parsed: Parsed, report: Any, module: str) -> dict[str, float]:
    """Measure a module's totals and heaviest files; its totals."""
    per_file: Any = None
    for frames in report.records[module]:
        both = frames["counters"].merge(frames["fcounters"], on=["id", "rank"])
        part = both[["id"]].copy()
        for metric, counters in COUNTERS[module].items():
            kept = [name for name in counters if name in both.columns]
            if kept:  # -1 stands for a counter that was not kept
                part[metric] = both[kept].where(both[kept] >= 0).sum(axis=1, min_count=1)
        part = part.groupby("id").sum(min_count=1)
        per_file = part if per_file is None else per_file.add(part, fill_value=0)
    if per_file is None or not len(per_file):
        return {}
    if report.modules[module].get("partial_flag"):
        parsed.note(f"Darshan ran out of memory for {module} records: some files are not counted")
    totals = {str(metric): float(value) for metric, value in per_file.sum(min_count=1).items()}
    for metric, value in totals.items():
        parsed.measure(module, metric, value)
    parsed.measure(module, "files", float(len(per_file)))
    times = [name for name in _TIMES if name in per_file.columns]
    per_file["weight"] = per_file[times].sum(axis=1)
    heavy = per_file.sort_values("weight", ascending=False, kind="stable").head(FILES_LISTED)
    for identity, row in heavy.drop(columns="weight").iterrows():
        path = report.name_records.get(identity, str(identity))
        for metric, value in row.items():
            parsed.measure(f"{module} {path}", str(metric), float(value))
    if len(per_file) > FILES_LISTED:
        parsed.note(
            f"{module}: {len(per_file):,} files; the {FILES_LISTED} with the most time are listed one by one"
        )
    return totals


def _job(parsed: Parsed, job: dict[str, Any], totals: dict[str, dict[str, float]]) -> None:
    """The job's size, and the time of its calls as a share of it."""
    processes, run_s = float(job["nprocs"]), float(job["run_time"])
    parsed.measure("job", "processes", processes)
    parsed.measure("job", "run_s", run_s)
    # POSIX is what the layers above it come down to; jobs without it used stdio alone.
    module = "POSIX" if totals.get("POSIX") else "STDIO"
    values = totals.get(module)
    if not values:
        return
    calls = {
        "read": (values.get("read_s"), values.get("read_count")),
        "write": (values.get("write_s"), values.get("write_count")),
        "open": (values.get("metadata_s"), values.get("open_count")),
    }
    for name, (seconds, count) in calls.items():
        if seconds and count:
            row = {
                "ts_ns": 0,
                "interval_ns": max(1, round(run_s * NS_PER_S)),
                "tgid": 0,
                "tid": 0,
                "name": name,
                "calls": round(count),
                "errors": 0,
                "total_ns": round(seconds * NS_PER_S),
                "max_ns": None,
                "cpu_ns": None,
            }
            parsed.add("syscall_totals", row)
    busy = sum(seconds or 0.0 for seconds, _ in calls.values())
    if processes and run_s:
        share = busy / (processes * run_s)
        parsed.note(
            f"{module} calls take {100 * share:.0f} % of the time of {processes:,.0f} processes in "
            f"{run_s:,.0f} s; Darshan's write time includes syncs, its metadata time counts as open"
        )
