"""A recording of any size from a seed, with rows in every table that the reports read.

Threads make calls one after the other; some calls wait, and the wait lies inside the call; the states
of each thread sum to its intervals. The values are drawn at random: no workload is meant.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from iowhy.recording import Manifest, Recording
from iowhy.recording.manifest import Clock, Host
from iowhy.recording.writer import write_recording
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
START_NS = 5_000_000_000_000
FS, DISK, LOOP = 7 << 20, 253 << 20, 7 << 20
INTERVAL_NS = 100_000_000


def generate(path: Path, calls: int, seed: int = 1, threads: int = 8, files: int = 50) -> Recording:
    """Write a recording of `calls` system calls (and about as many other rows) to `path`."""
    rng = np.random.default_rng(seed)
    tables: dict[str, pa.Table] = {}
    tables["syscalls"], tables["waits"] = _calls(rng, calls, threads, files)
    end_ns = int(tables["syscalls"]["ts_ns"].to_numpy().max()) + 10_000_000
    end_ns += -(end_ns - START_NS) % INTERVAL_NS
    tables["thread_time"] = _thread_time(rng, end_ns, threads)
    tables["block_requests"] = _requests(rng, calls // 2, end_ns, threads, files)
    tables["page_cache"] = _page_cache(rng, end_ns, files)
    tables |= _small(rng, end_ns, threads, files)
    tables |= _samples(rng, end_ns)
    tables |= _limits(rng, end_ns)
    manifest = Manifest.made(
        argv=["generated"],
        start_ns=START_NS,
        end_ns=end_ns,
        sensors=SENSORS,
        host=Host(cpus=2, page_bytes=4096, memory_bytes=8 << 30),
    )
    manifest = replace(manifest, clock=Clock(START_NS, 1_700_000_000_000_000_000))
    return write_recording(path, manifest, tables)


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
            "evicted_pages": rng.integers(0, 100, count),
            "refault_pages": rng.integers(0, 50, count),
            "major_faults": rng.integers(0, 3, count),
            "minor_faults": rng.integers(0, 30, count),
            "estimated": np.zeros(count, dtype=bool),
        }
    )


def _small(rng: np.random.Generator, end_ns: int, threads: int, files: int) -> dict[str, pa.Table]:
    some = 400
    times = np.sort(rng.integers(START_NS, end_ns, some))
    ino = rng.integers(1, files + 1, some)
    tid = rng.integers(0, threads, some) + 1000
    tgid = 1000 + (tid - 1000) // 4 * 4
    numbers = np.arange(threads) + 1000
    extents = files * 6
    return {
        "syscall_totals": pa.table(
            {
                "ts_ns": times,
                "interval_ns": np.full(some, INTERVAL_NS),
                "tgid": tgid,
                "tid": tid,
                "name": np.array(["futex", "brk", "read"])[rng.integers(0, 3, some)],
                "calls": rng.integers(1, 100, some),
                "errors": rng.integers(0, 2, some),
                "total_ns": rng.integers(1_000, 10_000_000, some),
                "max_ns": rng.integers(1_000, 100_000, some),
                "cpu_ns": rng.integers(100, 1_000, some),
            }
        ),
        "writeback": pa.table(
            {
                "ts_ns": times,
                "dur_ns": rng.integers(1_000, 1_000_000, some),
                "tgid": np.full(some, 77),
                "tid": np.full(some, 77),
                "dev": np.full(some, FS),
                "ino": ino,
                "reason": np.array(["background", "sync", "fsync"])[rng.integers(0, 3, some)],
                "pages_written": rng.integers(1, 400, some),
                "dirtied_age_ns": rng.integers(1, 10**10, some),
            }
        ),
        "dirty_throttle": pa.table(
            {
                "ts_ns": times,
                "tgid": tgid,
                "tid": tid,
                "pause_ns": rng.integers(1_000_000, 200_000_000, some),
                "dirty_pages": rng.integers(1, 1_000, some),
                "limit_pages": np.full(some, 1_000),
            }
        ),
        "journal_commits": pa.table(
            {
                "ts_ns": times,
                "dur_ns": rng.integers(1_000, 10_000_000, some),
                "dev": np.full(some, FS),
                "kind": np.full(some, "jbd2"),
                "transaction": np.arange(some),
                "wait_ns": rng.integers(0, 1_000, some),
                "locked_ns": rng.integers(0, 1_000, some),
                "flushing_ns": rng.integers(0, 1_000, some),
                "logging_ns": rng.integers(0, 1_000, some),
                "handles": rng.integers(1, 100, some),
                "blocks": rng.integers(1, 50, some),
            }
        ),
        "allocations": pa.table(
            {
                "ts_ns": times,
                "tgid": tgid,
                "tid": tid,
                "dev": np.full(some, FS),
                "ino": ino,
                "logical_block": np.arange(some) * 16,
                "physical_block": rng.integers(0, 1 << 20, some),
                "blocks": rng.integers(1, 16, some),
            }
        ),
        "extents": pa.table(
            {
                "phase": np.tile(["before", "after"], extents // 2),
                "dev": np.full(extents, FS),
                "ino": np.repeat(np.arange(files) + 1, 6),
                "logical_bytes": np.tile(np.repeat(np.arange(3) * 65536, 2), files),
                "physical_bytes": pa.array(
                    rng.integers(0, 4, extents) * 65536, mask=rng.random(extents) < 0.05
                ),
                "bytes": np.full(extents, 65536),
                "flags": pa.array([["unwritten"], []] * (extents // 2), pa.list_(pa.string())),
            }
        ),
        "files": pa.table(
            {
                "dev": np.full(files, FS),
                "ino": np.arange(files) + 1,
                "path": [f"/srv/data/file-{n:05d}.db" for n in range(1, files + 1)],
                "kind": np.full(files, "file"),
                "size_bytes": rng.integers(0, 1 << 30, files),
                "deleted": np.zeros(files, dtype=bool),
            }
        ),
        "filesystems": pa.table(
            {
                "dev": [FS],
                "kind": ["ext4"],
                "mount": ["/srv"],
                "options": ["rw"],
                "disk_dev": [LOOP],
                "block_bytes": [4096],
            }
        ),
        "devices": pa.table(
            {
                "dev": [DISK, LOOP],
                "name": ["vda", "loop0"],
                "below_dev": pa.array([None, DISK], pa.int64()),
                "size_bytes": [1 << 40, 1 << 34],
            }
        ),
        "threads": pa.table(
            {
                "tid": numbers,
                "tgid": 1000 + (numbers - 1000) // 4 * 4,
                "ppid": np.full(threads, 1),
                "comm": [f"worker-{n}" for n in range(threads)],
                "start_ns": np.full(threads, START_NS),
                "end_ns": np.full(threads, end_ns),
                "exit_code": np.zeros(threads, dtype=np.int64),
            }
        ),
        "histograms": pa.table(
            {
                "metric": ["request_latency_ns", "request_bytes"],
                "dev": ["nvme0n1", "nvme0n1"],
                "low": [1024, 4096],
                "high": [2048, 8192],
                "count": [7, 9],
            }
        ),
    }


def _samples(rng: np.random.Generator, end_ns: int) -> dict[str, pa.Table]:
    times = np.arange(START_NS, end_ns, INTERVAL_NS)
    n = len(times)

    def counter(step: int) -> np.ndarray:
        return np.cumsum(rng.integers(0, step, n))

    cpu = []
    for number in (-1, 0, 1):
        columns = {
            name: counter(10**8) for name in ("user_ns", "system_ns", "idle_ns", "iowait_ns")
        }
        cpu.append(
            pa.table(
                {
                    "ts_ns": times,
                    "cpu": np.full(n, number),
                    **columns,
                    "irq_ns": counter(1000),
                    "steal_ns": counter(1000),
                }
            )
        )
    levels = ("free_bytes", "available_bytes", "cached_bytes", "dirty_bytes", "writeback_bytes")
    rates = (
        "context_switches",
        "forks",
        "page_in_bytes",
        "page_out_bytes",
        "swap_in_pages",
        "swap_out_pages",
        "major_faults",
        "direct_scan_pages",
    )
    disk = ("reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns")
    disk += ("busy_ns", "queue_ns", "flushes", "flush_ns")
    return {
        "cpu_samples": pa.concat_tables(cpu),
        "memory_samples": pa.table(
            {"ts_ns": times, **{name: rng.integers(0, 1 << 33, n) for name in levels}}
        ),
        "vm_samples": pa.table(
            {
                "ts_ns": times,
                "procs_running": rng.integers(0, 5, n),
                "procs_blocked": rng.integers(0, 5, n),
                **{name: counter(1000) for name in rates},
            }
        ),
        "disk_samples": pa.table(
            {"ts_ns": times, "dev": np.full(n, 8 << 20), **{name: counter(10**6) for name in disk}}
        ),
    }


def _limits(rng: np.random.Generator, end_ns: int) -> dict[str, pa.Table]:
    """A control group that is held back, pressure, and numbers that a tool printed."""
    times = np.arange(START_NS, end_ns, INTERVAL_NS)
    n = len(times)
    counters = ("cpu_throttled_ns", "cpu_periods", "cpu_throttled_periods", "memory_limit_hits")
    group = {name: np.cumsum(rng.integers(0, 5, n)) for name in (*counters, "refault_file_pages")}
    return {
        "cgroup_samples": pa.table(
            {
                "ts_ns": times,
                "path": ["/made"] * n,
                **group,
                "cpu_quota_cores": np.full(n, 1.5),
                "memory_bytes": rng.integers(0, 1 << 30, n),
                "memory_limit_bytes": np.full(n, 1 << 30),
                "cached_bytes": rng.integers(0, 1 << 29, n),
            }
        ),
        "pressure_samples": pa.concat_tables(
            pa.table(
                {
                    "ts_ns": times,
                    "scope": ["machine"] * n,
                    "resource": [resource] * n,
                    "kind": ["some"] * n,
                    "total_ns": np.cumsum(rng.integers(0, 10**6, n)),
                }
            )
            for resource in ("cpu", "io", "memory")
        ),
        "measurements": pa.table(
            {
                "tool": ["fio", "fio", "curt"],
                "subject": ["job", "job", "fsync"],
                "metric": ["read_iops", "read_iops", "elapsed_mean_ns"],
                "value": [10.0, 20.0, 5.5],
            }
        ),
    }
