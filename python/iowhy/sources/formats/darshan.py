"""Darshan logs of HPC jobs, through PyDarshan (the optional extra `iowhy[darshan]`).

Header: a version text and a magic number (darshan-log-format.h). Each module's counters are summed over its records. MPI-IO counts
independent, collective, split and non-blocking operations apart; here they are one as well. A file written through MPI-IO is in POSIX
too, one written through HDF5 or PnetCDF in all three: their bytes are never added (`_darshan_job`).
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.formats import _darshan_job as job
from iowhy.sources.names import Names
from iowhy.sources.numbers import NS_PER_S

NAME = "darshan"

#: DARSHAN_MAGIC_NR, behind the version text of 8 bytes; byte order is the writer's.
MAGIC = 6567223
#: Files of a module that are listed one by one, heaviest first; a job may have millions.
FILES_LISTED = 20
#: Requests that are small for a parallel filesystem, whose servers get up to 1 MiB each (the bins of Darshan's histogram).
_SMALL = ("0_100", "100_1K", "1K_10K", "10K_100K")
_SIZES = (*_SMALL, "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS")
#: Metric → the counters that are added up for it, each module's prefix left out (darshan-*-log-format.h).
_COUNTERS: dict[str, tuple[str, ...]] = {
    "open_count": ("OPENS", "FDOPENS", "INDEP_OPENS", "COLL_OPENS", "INDEP_NC_OPENS", "COLL_NC_OPENS"),
    "stat_count": ("STATS",),
    "read_count": ("READS", "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
    "write_count": ("WRITES", "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
    "read_bytes": ("BYTES_READ",),
    "written_bytes": ("BYTES_WRITTEN",),
    "sequential_reads": ("SEQ_READS",),
    "sequential_writes": ("SEQ_WRITES",),
    "consecutive_reads": ("CONSEC_READS",),
    "consecutive_writes": ("CONSEC_WRITES",),
    "unaligned_count": ("FILE_NOT_ALIGNED",),
    "small_reads": tuple(f"SIZE_READ_{size}" for size in _SMALL),
    "small_writes": tuple(f"SIZE_WRITE_{size}" for size in _SMALL),
    "sized_reads": tuple(f"SIZE_READ_{size}" for size in _SIZES),
    "sized_writes": tuple(f"SIZE_WRITE_{size}" for size in _SIZES),
    "collective_count": ("COLL_READS", "COLL_WRITES"),
    "independent_count": ("INDEP_READS", "INDEP_WRITES"),
    "nonblocking_count": ("NB_READS", "NB_WRITES", "SPLIT_READS", "SPLIT_WRITES"),
    "sync_count": ("FSYNCS", "FDSYNCS", "SYNCS"),
    "flush_count": ("FLUSHES",),
    "read_s": ("F_READ_TIME",),
    "write_s": ("F_WRITE_TIME",),
    "metadata_s": ("F_META_TIME",),
}  # fmt: skip
#: Not measured of a module, but needed: the slowest rank of a file that all share, its highest byte, its blocks.
_ALSO = {"slowest_s": ("F_SLOWEST_RANK_TIME",), "last_read": ("MAX_BYTE_READ",), "alignment_bytes": ("FILE_ALIGNMENT",)}  # fmt: skip
#: In DFS (DAOS) a non-blocking call is counted as a read or write, too.
_COUNTED_TWICE = {"DFS": frozenset({"NB_READS", "NB_WRITES"})}
#: Modules that are read → what their counters begin with.
MODULES = {"POSIX": "POSIX", "MPI-IO": "MPIIO", "STDIO": "STDIO", "DFS": "DFS", "H5F": "H5F", "H5D": "H5D",
           "PNETCDF_FILE": "PNETCDF_FILE", "PNETCDF_VAR": "PNETCDF_VAR"}  # fmt: skip
#: What need not be read: calls once more by time, or no I/O. DXT's segments (each call) are named as not read.
_OF_NO_USE = frozenset({"HEATMAP", "LUSTRE", "BG/Q", "APMPI", "APXC"})


def sniff_head(head: bytes) -> float | None:
    """The version text and the magic number."""
    number = head[8:16]
    little = int.from_bytes(number, "little") == MAGIC
    big = int.from_bytes(number, "big") == MAGIC
    return 0.99 if len(number) == 8 and (little or big) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Into measurements: subject is "job", "MODULE" for its totals and "MODULE PATH" for a file; and the calls of each file."""
    try:
        importlib.import_module("darshan")
        backend: Any = importlib.import_module("darshan.backend.cffi_backend")
    except ImportError:
        raise Problem("pydarshan-missing", path=path) from None
    size = path.stat().st_size
    parsed = Parsed(NAME, units="bytes and seconds, summed over ranks")
    log = backend.log_open(str(path))
    if not log["handle"]:
        raise Problem("darshan-damaged", path=path)
    try:
        _read(parsed, backend, log, names, lambda share: progress(round(share * size), size))
    except Exception as error:  # PyDarshan's reader raises whatever the damage leads to
        raise Problem("darshan-unreadable", path=path, error=error) from None
    finally:
        backend.log_close(log)
    parsed.lines_understood = sum(len(rows) for rows in parsed.tables.values()) or 1
    return parsed


def _read(
    parsed: Parsed, backend: Any, log: Any, names: Names, progress: Callable[[float], None]
) -> None:
    about = backend.log_get_job(log)
    parsed.version = about["metadata"].get("lib_ver")
    modules = backend.log_get_modules(log)
    paths = backend.log_get_name_records(log)
    layers: dict[str, job.Layer] = {}
    for at, module in enumerate(MODULES, 1):
        if module in modules:
            layers[module] = _records(backend, log, module)
            if not len(layers[module].ids):
                raise ValueError(f"the records of {module} are damaged, or cut off")
            measure_module(parsed, module, layers[module], paths)
            if modules[module].get("partial_flag"):
                parsed.note(
                    f"Darshan ran out of memory for {module} records: some files are not counted"
                )
        progress(at / len(MODULES))
    unread = sorted(set(modules) - set(MODULES) - _OF_NO_USE)
    if unread:
        parsed.note(f"parts of the log that are not read: {', '.join(unread)}")
    servers = _servers(backend, log) if "LUSTRE" in modules else {}
    run_s, processes = float(about["run_time"]), int(about["nprocs"])
    parsed.measure("job", "processes", float(processes), ts_ns=0)
    parsed.measure("job", "run_s", run_s, ts_ns=max(1, round(run_s * NS_PER_S)))
    if run_s == round(run_s):
        parsed.note("this version of Darshan counts the job's time in whole seconds")
    job.emit(parsed, layers, run_s, servers, paths)
    _calls(parsed, layers, names, paths)


def _records(backend: Any, log: Any, module: str) -> job.Layer:
    """All records of a module, of each counter that is known a column."""
    prefix = MODULES[module]
    whole = {name: at for at, name in enumerate(backend.counter_names(module))}
    parts = {name: at for at, name in enumerate(backend.fcounter_names(module))}
    twice = _COUNTED_TWICE.get(module, frozenset())
    wanted = {
        metric: [f"{prefix}_{name}" for name in counters if name not in twice or metric == "nonblocking_count"]
        for metric, counters in (_COUNTERS | _ALSO).items()
    }  # fmt: skip
    ints = [n for names in wanted.values() for n in names if n in whole]
    floats = [n for names in wanted.values() for n in names if n in parts]
    chosen, chosen_floats = [whole[n] for n in ints], [parts[n] for n in floats]
    ids: list[int] = []
    ranks: list[int] = []
    rows: list[Any] = []
    while (record := backend.log_get_record(log, module)) is not None:
        ids.append(int(record["id"]))
        ranks.append(int(record["rank"]))
        rows.append(
            np.concatenate((record["counters"][chosen], record["fcounters"][chosen_floats]))
        )
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(ints) + len(floats))
    table[~np.isfinite(table) | (table < 0)] = 0.0  # -1 stands for a counter that was not kept
    at = {name: column for column, name in enumerate([*ints, *floats])}
    return job.Layer(
        np.array(ids, dtype=np.uint64),
        np.array(ranks, dtype=np.int64),
        {
            metric: table[:, [at[name] for name in names if name in at]].sum(axis=1)
            for metric, names in wanted.items()
            if any(name in at for name in names)
        },
    )


def measure_module(parsed: Parsed, module: str, layer: job.Layer, paths: Mapping[int, str]) -> None:
    """A module's totals and its heaviest files."""
    known = [metric for metric in _COUNTERS if metric in layer.columns]
    for metric in known:
        parsed.measure(module, metric, layer.total(metric))
    unique, place = np.unique(layer.ids, return_inverse=True)
    parsed.measure(module, "files", float(len(unique)))
    times = np.bincount(place, weights=layer.times())
    heaviest = np.argsort(-times, kind="stable")[:FILES_LISTED]
    for metric in known if module in job.BOTTOM else ():
        sums = np.bincount(place, weights=layer.columns[metric])
        for file in heaviest:
            parsed.measure(f"{module} {_path(paths, unique[file])}", metric, float(sums[file]))


def _path(paths: Mapping[int, str], identity: Any) -> str:
    return paths.get(int(identity)) or str(identity)


def _servers(backend: Any, log: Any) -> dict[int, Sequence[int]]:
    """Files by the servers (OSTs) that they are spread over."""
    found: dict[int, Sequence[int]] = {}
    while (record := backend.log_get_record(log, "LUSTRE")) is not None:
        found[int(record["id"])] = sorted(
            {int(one) for part in record["components"] for one in part["ost_ids"]}
        )
    return found


def _calls(
    parsed: Parsed, layers: Mapping[str, job.Layer], names: Names, paths: Mapping[int, str]
) -> None:
    """What the layers that others come down to called, by file: the heaviest, and all others as one."""
    for module in job.BOTTOM:
        if module not in layers:
            continue
        layer = layers[module]
        unique, place = np.unique(layer.ids, return_inverse=True)
        weight = np.bincount(place, weights=layer.times())
        listed = set(np.argsort(-weight, kind="stable")[:FILES_LISTED].tolist())
        for name, count, seconds, moved in (
            ("read", "read_count", "read_s", "read_bytes"),
            ("write", "write_count", "write_s", "written_bytes"),
            ("open", "open_count", "metadata_s", None),
        ):
            sums = [np.bincount(place, weights=layer.of(one)) if one else None for one in (count, seconds, moved)]  # fmt: skip
            rest = [file for file in range(len(unique)) if file not in listed]
            for files, path in [*(([file], _path(paths, unique[file])) for file in sorted(listed)), (rest, None)]:  # fmt: skip
                _call(parsed, name, [None if one is None else float(one[files].sum()) for one in sums], None if path is None else names.file(path))  # fmt: skip


def _call(parsed: Parsed, name: str, sums: Sequence[float | None], file: tuple[int, int] | None) -> None:  # fmt: skip
    calls, seconds, moved = round(sums[0] or 0), sums[1] or 0.0, sums[2]
    if not calls:
        return
    unknown = ("durable", "cpu_ns", "cpu_of_ns", "runnable_ns", "blocked_ns", "sleeping_ns", "synced_bytes")  # fmt: skip
    of_bytes = {"asked_bytes": None, "done_bytes": None, "moving": 0} if moved is None else {
        "asked_bytes": round(moved), "done_bytes": round(moved), "moving": calls
    }  # fmt: skip
    dev, ino = file or (None, None)
    longest = {"total_ns": round(seconds * NS_PER_S), "max_ns": 0, "errors": 0, "unfinished": 0, "syncing": 0}  # fmt: skip
    row = {"tgid": 0, "tid": 0, "name": name, "dev": dev, "ino": ino, "tiny": False, "calls": calls}
    parsed.add("call_sums", {**row, **dict.fromkeys(unknown), **longest, **of_bytes})
