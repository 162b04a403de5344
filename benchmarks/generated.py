"""A recording of any size from a seed, with rows in every table that the reports read.

Threads make calls one after the other; some calls wait, and the wait lies inside the call; the states
of each thread sum to its intervals. The values are drawn at random: no workload is meant.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from benchmarks.generated_machine import DISK, FS, INTERVAL_NS, LOOP, START_NS, machine
from iowhy.recordings import Manifest, Recording
from iowhy.recordings.manifest import Clock, Host
from iowhy.recordings.stored_rows import StoredRows
from iowhy.recordings.writer import write_recording
from iowhy.relations.facts import SENSORS

CALLS = np.array(
    [
        "read",
        "pread64",
        "write",
        "pwrite64",
        "fsync",
        "fdatasync",
        "msync",
        "openat",
        "io_getevents",
    ]
)
REASONS = np.array(
    [
        "page_read",
        "page_writeback",
        "journal_commit",
        "log_force",
        "device_flush",
        "dirty_throttle",
        "request_queue_full",
        "inode_lock",
        "memory_reclaim",
        "direct_io",
        "process",
        "other",
    ]
)


def generate(
    path: Path,
    calls: int,
    seed: int = 1,
    threads: int = 8,
    files: int = 50,
    stalled: bool = False,
) -> Recording:
    """Write a recording of `calls` system calls (and about as many other rows) to `path`; `stalled`: of three reads of one more device
    the last takes long."""
    rng = np.random.default_rng(seed)
    tables, end_ns = events(rng, calls, threads, files)
    if stalled:
        requests = tables["block_requests"]
        last = requests.slice(0, 3).to_pylist()
        for row, took_ns in zip(last, (1_000_000, 1_000_000, 200_000_000), strict=True):
            row |= {"dev": LOOP + 1, "op": "read", "bytes": 4096, "issue_ns": row["queue_ns"]}
            row["complete_ns"] = row["queue_ns"] + took_ns
        more = pa.Table.from_pylist(last, requests.schema)
        tables["block_requests"] = pa.concat_tables([requests, more])
    tables |= machine(rng, end_ns, threads, files)
    stored = {name: StoredRows.of(rows) for name, rows in tables.items()}
    return write_recording(path, manifest_until(end_ns), stored)


def manifest_until(end_ns: int) -> Manifest:
    """What a generated recording says of itself and its machine, without its tables."""
    manifest = Manifest.made(
        argv=["generated"],
        start_ns=START_NS,
        end_ns=end_ns,
        sensors=SENSORS,
        host=Host(cpus=2, page_bytes=4096, memory_bytes=8 << 30),
    )
    return replace(manifest, clock=Clock(START_NS, 1_700_000_000_000_000_000))


def events(
    rng: np.random.Generator, calls: int, threads: int, files: int
) -> tuple[dict[str, pa.Table], int]:
    """The tables whose rows grow with the work, and when that ends."""
    tables: dict[str, pa.Table] = {}
    tables["syscalls"], tables["waits"] = _calls(rng, calls, threads, files)
    end_ns = int(tables["syscalls"]["ts_ns"].to_numpy().max()) + 10_000_000
    end_ns += -(end_ns - START_NS) % INTERVAL_NS
    tables["thread_time"] = _thread_time(rng, end_ns, threads)
    tables["block_requests"] = _requests(rng, calls // 2, end_ns, threads, files)
    tables["async_operations"] = _operations(end_ns, threads, files)
    tables["page_cache"] = _page_cache(rng, end_ns, files)
    tables["dirtied_by_others"] = pa.table(
        {
            "ts_ns": [START_NS, START_NS + INTERVAL_NS],
            "interval_ns": [INTERVAL_NS, INTERVAL_NS],
            "tgid": [900, 901],
            "dev": [FS, FS],
            "pages": [300, 700],
        }
    )
    return tables, end_ns


def _calls(
    rng: np.random.Generator, calls: int, threads: int, files: int
) -> tuple[pa.Table, pa.Table]:
    each = max(calls // threads, 1)
    count = each * threads
    cpu = rng.integers(500, 20_000, count)
    runnable = rng.integers(0, 5_000, count) * (rng.random(count) < 0.2)
    blocked = rng.integers(10_000, 400_000, count) * (rng.random(count) < 0.4)
    sleeping = rng.integers(1_000, 50_000, count) * (rng.random(count) < 0.05)
    dur = cpu + runnable + blocked + sleeping
    gap = rng.integers(1_000, 60_000, count)
    ends = np.cumsum((dur + gap).reshape(threads, each), axis=1)
    ts = START_NS + ends.reshape(-1) - dur
    tid = np.repeat(np.arange(threads) + 1000, each)
    tgid = 1000 + (tid - 1000) // 4 * 4
    name = CALLS[rng.choice(len(CALLS), count, p=_odds())]
    size = rng.integers(1, 64, count) * 4096
    moves = np.isin(name, ["read", "pread64", "write", "pwrite64"])
    ret = np.where(rng.random(count) < 0.01, -5, np.where(moves, size, 0))
    ino = rng.integers(1, files + 1, count)
    table = pa.table(
        {
            "ts_ns": ts,
            "dur_ns": dur,
            "cpu_ns": cpu,
            "runnable_ns": runnable,
            "blocked_ns": blocked,
            "sleeping_ns": sleeping,
            "tgid": tgid,
            "tid": tid,
            "name": name,
            "fd": rng.integers(3, 40, count),
            "dev": np.full(count, FS),
            "ino": ino,
            "offset": rng.integers(0, 10_000, count) * 4096,
            "bytes": size,
            "ret": pa.array(ret, mask=rng.random(count) < 0.0005),
        }
    )
    inside = np.flatnonzero(blocked > 0)
    number = len(inside)
    waits = pa.table(
        {
            "ts_ns": ts[inside] + cpu[inside] // 2,
            "dur_ns": blocked[inside],
            "tgid": tgid[inside],
            "tid": tid[inside],
            "reason": REASONS[rng.integers(0, len(REASONS), number)],
            "io": rng.random(number) < 0.5,
            "stack_id": rng.integers(0, 100, number),
            "syscall": name[inside],
            "dev": np.full(number, FS),
            "ino": ino[inside],
        }
    )
    return table, waits


def _odds() -> np.ndarray:
    weight = np.array([20, 20, 20, 10, 8, 8, 4, 8, 2], dtype=float)
    return weight / weight.sum()


def _thread_time(rng: np.random.Generator, end_ns: int, threads: int) -> pa.Table:
    intervals = (end_ns - START_NS) // INTERVAL_NS
    count = intervals * threads
    split = rng.dirichlet([1.0, 1.0, 0.3, 2.0, 2.0], count)
    states = np.floor(split * INTERVAL_NS).astype(np.int64)
    states[:, 4] += INTERVAL_NS - states.sum(axis=1)
    tid = np.tile(np.arange(threads) + 1000, intervals)
    return pa.table(
        {
            "ts_ns": np.repeat(START_NS + np.arange(intervals) * INTERVAL_NS, threads),
            "interval_ns": np.full(count, INTERVAL_NS),
            "tgid": 1000 + (tid - 1000) // 4 * 4,
            "tid": tid,
            "cpu_user_ns": states[:, 0],
            "cpu_kernel_ns": states[:, 1],
            "runnable_ns": states[:, 2],
            "blocked_ns": states[:, 3],
            "sleeping_ns": states[:, 4],
        }
    )


def _operations(end_ns: int, threads: int, files: int) -> pa.Table:
    """A few, beside the calls: the last has not ended."""
    at = np.arange(60)
    reads, size = at % 3 == 0, 4096 * (1 + at % 4)
    ended = at < 59
    return pa.table(
        {
            "submit_ns": START_NS + at * ((end_ns - START_NS) // 64),
            "complete_ns": pa.array(
                START_NS + at * ((end_ns - START_NS) // 64) + 5_000 + at * 100, mask=~ended
            ),
            "tgid": 1000 + at % threads // 4 * 4,
            "tid": 1000 + at % threads,
            "ring": 1 + at % 2,
            "api": np.where(at % 2 == 0, "io_uring", "libaio"),
            "op": np.where(reads, "read", "write"),
            "kind": np.where(reads, "read", "write"),
            "ran": np.where(at % 5 == 0, "worker", "inline"),
            "flags": [["direct", "fixed_file"] if one % 2 else [] for one in at],
            "dev": np.full(60, FS),
            "ino": 1 + at % files,
            "offset": at * 4096,
            "bytes": size,
            "moved_bytes": pa.array(size, mask=~ended),
            "results": ended.astype(int),
            "ret": pa.array(size, mask=~ended),
        }
    )


def _requests(
    rng: np.random.Generator, count: int, end_ns: int, threads: int, files: int
) -> pa.Table:
    queue = np.sort(rng.integers(START_NS, end_ns, count))
    issue = queue + rng.integers(0, 50_000, count)
    complete = issue + rng.integers(20_000, 2_000_000, count)
    op = np.array(["read", "write", "flush", "discard"])[
        rng.choice(4, count, p=[0.45, 0.45, 0.09, 0.01])
    ]
    flush = op == "flush"
    size = np.where(flush, 0, rng.integers(1, 128, count) * 4096)
    sector = np.where(
        rng.random(count) < 0.5, rng.integers(0, 1 << 24, count) * 8, np.cumsum(size) // 512
    )
    kind = np.where(
        flush,
        "flush",
        np.array(["data", "journal", "metadata"])[rng.choice(3, count, p=[0.7, 0.2, 0.1])],
    )
    owned = kind == "data"
    scope = rng.random(count)
    tid = rng.integers(0, threads, count) + 1000
    return pa.table(
        {
            "queue_ns": queue,
            "issue_ns": pa.array(issue, mask=rng.random(count) < 0.001),
            "complete_ns": pa.array(complete, mask=rng.random(count) < 0.002),
            "dev": np.where(rng.random(count) < 0.7, DISK, LOOP),
            "sector": pa.array(sector, mask=flush),
            "bytes": size,
            "op": op,
            "flags": pa.array([["sync"] if s < 0.5 else [] for s in scope], pa.list_(pa.string())),
            "tgid": 1000 + (tid - 1000) // 4 * 4,
            "tid": tid,
            "owner_dev": pa.array(np.full(count, FS), mask=~owned),
            "owner_ino": pa.array(rng.integers(1, files + 1, count), mask=~owned),
            "owner_kind": kind,
            "in_scope": pa.array(scope < 0.8, mask=(scope > 0.6) & (scope < 0.8)),
            "error": np.zeros(count, dtype=np.int64),
        }
    )


def _page_cache(rng: np.random.Generator, end_ns: int, files: int) -> pa.Table:
    intervals = (end_ns - START_NS) // INTERVAL_NS
    count = intervals * files
    lookups = rng.integers(1, 500, count)
    missed = rng.integers(0, lookups)
    return pa.table(
        {
            "ts_ns": np.repeat(START_NS + np.arange(intervals) * INTERVAL_NS, files),
            "interval_ns": np.full(count, INTERVAL_NS),
            "tgid": 1000 + rng.integers(0, 2, count) * 4,
            "dev": np.full(count, FS),
            "ino": np.tile(np.arange(files) + 1, intervals),
            "lookup_pages": lookups,
            "demand_miss_pages": missed,
            "readahead_pages": rng.integers(0, 200, count),
            "prefetched_hit_pages": rng.integers(0, lookups - missed + 1),
            "dirtied_pages": rng.integers(0, 100, count),
            "evicted_pages": (evicted := rng.integers(0, 100, count)),
            "reclaimed_pages": evicted // 2,
            "refault_pages": rng.integers(0, 50, count),
            "major_faults": rng.integers(0, 3, count),
            "minor_faults": rng.integers(0, 30, count),
            "estimated": np.zeros(count, dtype=bool),
        }
    )
