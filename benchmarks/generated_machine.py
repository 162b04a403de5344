"""What a generated recording holds beside calls and requests: rarer events, files, the machine and its limits."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

START_NS = 5_000_000_000_000
FS, DISK, LOOP = 7 << 20, 253 << 20, 7 << 20
#: An NFS mount, which has no disk here.
FAR = 61
INTERVAL_NS = 100_000_000
SOME = 400

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class _Some:
    """When, and of which file and thread, the rarer events are."""

    times: np.ndarray
    ino: np.ndarray
    tid: np.ndarray
    tgid: np.ndarray


def machine(rng: np.random.Generator, end_ns: int, threads: int, files: int) -> Tables:
    """All of these tables; the order of the draws is part of what a seed gives."""
    times = np.sort(rng.integers(START_NS, end_ns, SOME))
    ino = rng.integers(1, files + 1, SOME)
    tid = rng.integers(0, threads, SOME) + 1000
    some = _Some(times, ino, tid, 1000 + (tid - 1000) // 4 * 4)
    return {
        **_throttled_writes(rng, some),
        **_journal_and_blocks(rng, some),
        **_layout(rng, files),
        **_names(end_ns, threads),
        **_samples(rng, end_ns),
        **_limits(rng, end_ns),
    }


def _throttled_writes(rng: np.random.Generator, of: _Some) -> Tables:
    return {
        "syscall_totals": pa.table(
            {
                "ts_ns": of.times,
                "interval_ns": np.full(SOME, INTERVAL_NS),
                "tgid": of.tgid,
                "tid": of.tid,
                "name": np.array(["futex", "brk", "read"])[rng.integers(0, 3, SOME)],
                "calls": rng.integers(1, 100, SOME),
                "errors": rng.integers(0, 2, SOME),
                "total_ns": rng.integers(1_000, 10_000_000, SOME),
                "max_ns": rng.integers(1_000, 100_000, SOME),
                "cpu_ns": rng.integers(100, 1_000, SOME),
            }
        ),
        "writeback": pa.table(
            {
                "ts_ns": of.times,
                "dur_ns": rng.integers(1_000, 1_000_000, SOME),
                "tgid": np.full(SOME, 77),
                "tid": np.full(SOME, 77),
                "dev": np.full(SOME, FS),
                "ino": of.ino,
                "reason": np.array(["background", "sync", "fsync"])[rng.integers(0, 3, SOME)],
                "pages_written": rng.integers(1, 400, SOME),
                "dirtied_age_ns": rng.integers(1, 10**10, SOME),
            }
        ),
        "dirty_throttle": pa.table(
            {
                "ts_ns": of.times,
                "tgid": of.tgid,
                "tid": of.tid,
                "pause_ns": rng.integers(1_000_000, 200_000_000, SOME),
                "dirty_pages": rng.integers(1, 1_000, SOME),
                "limit_pages": np.full(SOME, 1_000),
            }
        ),
        "connections": pa.table(
            {
                "ts_ns": of.times,
                "tgid": of.tgid,
                "tid": of.tid,
                "address": ["10.0.0.1"] * SOME,
                "port": np.full(SOME, 443),
            }
        ),
    }


def _journal_and_blocks(rng: np.random.Generator, of: _Some) -> Tables:
    return {
        "journal_commits": pa.table(
            {
                "ts_ns": of.times,
                "dur_ns": rng.integers(1_000, 10_000_000, SOME),
                "dev": np.full(SOME, FS),
                "kind": np.full(SOME, "jbd2"),
                "transaction": np.arange(SOME),
                "wait_ns": rng.integers(0, 1_000, SOME),
                "locked_ns": rng.integers(0, 1_000, SOME),
                "flushing_ns": rng.integers(0, 1_000, SOME),
                "logging_ns": rng.integers(0, 1_000, SOME),
                "handles": rng.integers(1, 100, SOME),
                "blocks": rng.integers(1, 50, SOME),
            }
        ),
        "allocations": pa.table(
            {
                "ts_ns": of.times,
                "tgid": of.tgid,
                "tid": of.tid,
                "dev": np.full(SOME, FS),
                "ino": of.ino,
                "logical_block": np.arange(SOME) * 16,
                "physical_block": rng.integers(0, 1 << 20, SOME),
                "blocks": rng.integers(1, 16, SOME),
            }
        ),
    }


def _layout(rng: np.random.Generator, files: int) -> Tables:
    extents = files * 6
    return {
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
        "database_files": pa.table(
            {"path": ["/srv/data/file-00001.db"], "object": ["public.made"]}
        ),
    }


def _names(end_ns: int, threads: int) -> Tables:
    numbers = np.arange(threads) + 1000
    return {
        "filesystems": pa.table(
            {
                "dev": [FS, FAR],
                "kind": ["ext4", "nfs4"],
                "mount": ["/srv", "/far"],
                "options": ["rw", "rw"],
                "disk_dev": pa.array([LOOP, None], pa.int64()),
                "block_bytes": [4096, 1 << 20],
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


def _samples(rng: np.random.Generator, end_ns: int) -> Tables:
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


def _limits(rng: np.random.Generator, end_ns: int) -> Tables:
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
        "io_limits": pa.table(
            {
                "ts_ns": [START_NS, START_NS, START_NS + INTERVAL_NS],
                "path": ["/made"] * 3,
                "dev": [DISK, LOOP, LOOP],
                "read_bytes_per_s": [10 << 30, None, None],
                "write_ops_per_s": [None, 400_000, 300_000],
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
        "remote_samples": pa.concat_tables(
            pa.table(
                {"ts_ns": [START_NS, end_ns], "dev": [FAR] * 2, "op": [op] * 2}
                | _operations(each_ms)
            )
            for op, each_ms in (("READ", 7), ("WRITE", 11))
        ),
        "kernel_log": _log(end_ns),
        "volume_limits": _volume(end_ns),
        **_statements(end_ns),
        "measurements": pa.table(
            {
                "tool": ["fio", "fio", "curt"],
                "subject": ["job", "job", "fsync"],
                "metric": ["read_iops", "read_iops", "elapsed_mean_ns"],
                "value": [10.0, 20.0, 5.5],
            }
        ),
    }


def _volume(end_ns: int) -> pa.Table:
    """What a bought volume counts of its limits."""
    return pa.table(
        {
            "ts_ns": [START_NS, end_ns - 1],
            "dev": [DISK, DISK],
            "volume_requests_ns": [10**9, 10**9 + 5],
            "volume_bytes_ns": [0, 0],
            "machine_requests_ns": [0, 3],
            "machine_bytes_ns": [7, 7],
        }
    )


def _log(end_ns: int) -> pa.Table:
    """A line about a disk, and one about none."""
    return pa.table(
        {
            "ts_ns": [START_NS + 1_000_000, end_ns - 1],
            "level": [4, 3],
            "dev": [DISK, None],
            "text": ["a disk's warning", "an error of none"],
            "left_out": [0, 0],
        }
    )


def _statements(end_ns: int) -> dict[str, pa.Table]:
    """A session that waits for a lock all of the time, and one that holds it."""
    return {
        "statement_readings": pa.table(
            {
                "ts_ns": [START_NS, START_NS + 10**7],
                "span_ns": [(end_ns - START_NS) // 2, 10**7],
                "readings": [2, 1],
                "tgid": [1000, 1000],
                "tid": [1000, 1001],
                "statement_id": ["1", "2"],
                "began_ns": [START_NS, START_NS + 9 * 10**6],
                "ended_ns": [None, START_NS + 12 * 10**6],
                "exact": [False, True],
                "wait": ["Lock: tuple", None],
                "holder_tid": [1001, None],
            }
        ),
        "statements": pa.table(
            {
                "statement_id": ["1", "2"],
                "text": ["UPDATE stock SET left = ?", "SELECT ?"],
                "server": ["PostgreSQL 15"] * 2,
            }
        ),
    }


def _operations(each_ms: int) -> dict[str, np.ndarray]:
    """Counters of an NFS mount at the beginning and at the end: 300 operations of a kind."""
    ended = 300 * np.arange(2)
    ms = 10**6
    return {
        "operations": ended,
        "transmissions": ended + 1,
        "timeouts": 0 * ended,
        "sent_bytes": 176 * ended,
        "received_bytes": 8300 * ended,
        "queue_ns": ms * ended,
        "rtt_ns": each_ms * ms * ended,
        "execute_ns": (each_ms + 1) * ms * ended,
    }
