"""Agents of many hosts as processes: each makes a recording of counts of a minute as the agent does, moves it to its day and host, and stores it.

    python -m tests.fleet.agents FOLDER HOSTS [s3://BUCKET/PREFIX]

Folder N below FOLDER is the directory of host N's agent. The disk of host SLOW takes 3 times as long; on the second
day a rollout makes syncs 10 % slower. Exit status 1 where one agent failed.
"""

import os
import sys
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from iowhy.agent import retention
from iowhy.agent.uploads import Uploads
from iowhy.recordings.manifest import Clock, Host, Manifest
from iowhy.recordings.object_store import path_of
from iowhy.recordings.writer import write_recording
from tests.fleet.hosts import DAY_NS, FIRST_NS, HOSTS, RECORDINGS

Row = dict[str, object]
S = 10**9
SDA, EVERY, INTERVALS = 8 << 20, 10 * S, 6
SLOW = 37
#: Ends of the kernel's buckets; the last is open.
ENDS = np.array([1024, *((5 + part) << power for power in range(8, 34) for part in range(4))])
SERVICE = {"id": "ledger.service", "name": "ledger", "runtime": "systemd", "cgroup": "/ledger"}
#: At the same time.
AT_ONCE = 16


def timed(
    rng: np.random.Generator, key: Row, count: int, mean_ns: float, bytes_: int = 0
) -> tuple[Row, list[Row]]:
    """The row of so many times around a mean, and the rows of its buckets."""
    times = np.maximum(mean_ns * np.exp(rng.normal(0, 0.3, count)), 1).astype(np.int64)
    at, counts = np.unique(np.searchsorted(ENDS, times, side="right"), return_counts=True)
    ends = [int(ENDS[i]) if i < len(ENDS) else None for i in at]
    row = key | {"interval_ns": EVERY, "count": count, "untimed": 0}
    row |= {"sum_ns": int(times.sum()), "bytes": count * bytes_}
    named = ("ts_ns", "measure", "name", "cgroup", "dev")
    bucket = {name: key[name] for name in named if name in key}
    return row, [
        bucket | {"up_to_ns": e, "count": int(c)} for e, c in zip(ends, counts, strict=True)
    ]


def counted(rng: np.random.Generator, disk: float, sync: float) -> dict[str, list[Row]]:
    """The tables of one recording: a service that writes and syncs, and what its disk does."""
    latencies: list[Row] = []
    buckets: list[Row] = []
    own: Row = {"cgroup": 7, "path": "/ledger", "container": "ledger.service", "dev": SDA}
    for number in range(INTERVALS):
        at: Row = {"ts_ns": number * EVERY}
        for key, count, mean_ns, bytes_ in (
            (at | {"measure": "request", "name": "write", "dev": SDA}, 60, 2e6 * disk, 8192),
            (at | {"measure": "request", "name": "flush", "dev": SDA}, 30, 5e6 * disk, 0),
            (at | own | {"measure": "sync", "name": "fsync"}, 30, 8e6 * sync, 0),
            (at | own | {"measure": "io_wait", "name": "pwrite64"}, 10, 1e6 * disk, 0),
        ):
            row, own_buckets = timed(rng, key, count, mean_ns, bytes_)
            latencies.append(row)
            buckets += own_buckets
    return {
        "agent_latencies": latencies,
        "agent_buckets": buckets,
        "containers": [SERVICE],
        "devices": [{"dev": SDA, "name": "sda", "rotational": True, "write_cache": "write back"}],
    }


def agent(root: Path, host: int, to: str | None = None, slow: int = SLOW) -> int:
    """What one host's agent keeps of a minute on each of two days; gives how many of them are still to be stored."""
    rng = np.random.default_rng(1000 + host)
    own = float(np.exp(rng.normal(0, HOSTS)))
    uploads = Uploads(root, None if to is None else path_of(to), lambda _: None)
    for day in (0, 1):
        disk = own * float(np.exp(rng.normal(0, RECORDINGS))) * (3 if host == slow else 1)
        sync = own * float(np.exp(rng.normal(0, RECORDINGS))) * (1.1 if day else 1)
        manifest = replace(
            Manifest.made(
                mode="machine",
                start_ns=0,
                end_ns=INTERVALS * EVERY,
                sensors=["agent_requests", "agent_waits", "agent_syncs_ext4"],
                host=Host(name=f"web{host:03}", kernel="6.12.1", cpus=2, page_bytes=4096),
            ),
            clock=Clock(0, FIRST_NS + day * DAY_NS + host * S),
        )
        path = retention.begin(root, "agent")
        write_recording(path, manifest, counted(rng, disk, sync))
        retention.close(root, path)
    uploads.know(retention.kept(root), [])
    uploads.end(120)
    return uploads.waiting


def main(root: Path, hosts: int, to: str | None) -> int:
    """Forks an agent for each host, some at a time."""
    running: set[int] = set()
    failed = 0
    for host in range(hosts):
        while len(running) >= AT_ONCE:
            pid, status = os.wait()
            running.remove(pid)
            failed += status != 0
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = min(agent(root / str(host), host, to), 1)
            finally:
                os._exit(status)
        running.add(pid)
    for _ in running:
        failed += os.wait()[1] != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None))
