"""Small recordings written by hand, whose answers are known."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest

from iowhy.recordings import Manifest, Recording
from iowhy.recordings.manifest import Clock, Host
from iowhy.relations.facts import SENSORS
from tests.in_memory import in_memory

Tables = Mapping[str, Sequence[Mapping[str, object]]]
Make = Callable[..., Recording]

MS = 1_000_000
S = 1_000_000_000
KIB = 1024
T0 = 7_000 * S  # the recording's start: monotonic clocks do not begin at 0
WALL0 = 1_700_000_000 * S  # 2023-11-14T22:13:20Z


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """make(tables, end_s=…, without=sensors) → Recording that starts at T0, in memory (in_files.py: in files)."""
    return maker(tmp_path, in_memory)


def maker(folder: Path, write: Callable[[Path, Manifest, Tables], Recording]) -> Make:
    """Recordings with names of their own in a folder, made by `write`."""
    number = count(1)

    def made(tables: Tables, end_s: float = 1.0, without: Sequence[str] = ()) -> Recording:
        manifest = Manifest(
            source="live",
            host=Host(cpus=2, page_bytes=4096),
            clock=Clock(monotonic_ns=T0, wall_ns=WALL0),
            command=Manifest.made(start_ns=T0, end_ns=T0 + round(end_s * S)).command,
            sensors=Manifest.made(sensors=[s for s in SENSORS if s not in without]).sensors,
        )
        return write(folder / f"{next(number)}.iowhy", manifest, tables)

    return made


def call(at_ns: int, dur_ns: int, name: str, tid: int = 10, **more: object) -> dict[str, object]:
    """A system call `at_ns` after the start; blocked for all of it unless told otherwise."""
    row: dict[str, object] = {
        "ts_ns": T0 + at_ns,
        "dur_ns": dur_ns,
        "cpu_ns": 0,
        "runnable_ns": 0,
        "blocked_ns": dur_ns,
        "sleeping_ns": 0,
        "tgid": 10,
        "tid": tid,
        "name": name,
        "dev": 1,
        "ino": 2,
        "ret": 0,
    }
    return row | more


def wait(at_ns: int, dur_ns: int, reason: str, tid: int = 10, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "ts_ns": T0 + at_ns,
        "dur_ns": dur_ns,
        "tgid": 10,
        "tid": tid,
        "reason": reason,
        "io": True,
        "dev": 1,
        "ino": 2,
    }
    return row | more


def spent(at_ns: int, interval_ns: int, tid: int = 10, **states: int) -> dict[str, object]:
    """A thread's interval: user, kernel, runnable, blocked in ns; the rest of it sleeping."""
    known = {name: states.get(name, 0) for name in ("user", "kernel", "runnable", "blocked")}
    return {
        "ts_ns": T0 + at_ns,
        "interval_ns": interval_ns,
        "tgid": 10,
        "tid": tid,
        "cpu_user_ns": known["user"],
        "cpu_kernel_ns": known["kernel"],
        "runnable_ns": known["runnable"],
        "blocked_ns": known["blocked"],
        "sleeping_ns": interval_ns - sum(known.values()),
    }


def request(at_ns: int, dur_ns: int | None, op: str = "write", **more: object) -> dict[str, object]:
    """A block request of the command, issued at once, on device 80."""
    row: dict[str, object] = {
        "queue_ns": T0 + at_ns,
        "issue_ns": T0 + at_ns,
        "complete_ns": None if dur_ns is None else T0 + at_ns + dur_ns,
        "dev": 80,
        "sector": None if op == "flush" else 0,
        "bytes": 0 if op == "flush" else 4096,
        "op": op,
        "flags": [],
        "tgid": 10,
        "tid": 10,
        "owner_dev": 1,
        "owner_ino": 2,
        "owner_kind": "flush" if op == "flush" else "data",
        "in_scope": True,
        "error": 0,
    }
    return row | more


def file(ino: int, path: str | None, kind: str = "file", dev: int = 1) -> dict[str, object]:
    return {"dev": dev, "ino": ino, "path": path, "kind": kind}


def filesystem(disk: int | None = 80, dev: int = 1, block: int = 4096) -> dict[str, object]:
    return {
        "dev": dev,
        "kind": "ext4",
        "mount": "/srv",
        "options": "rw",
        "disk_dev": disk,
        "block_bytes": block,
    }


def stacked(make: Make, **more: object) -> Recording:
    """A file on loop0 over vda: 8 KiB written as two pages, one 8 KiB request, seen twice."""
    return make(
        {
            "files": [file(2, "/mnt/a"), file(3, None, "pipe"),
                file(4, "/dev/zero", "device"), file(9, "/var/image", dev=5)],
            "filesystems": [filesystem(disk=70), filesystem(disk=80, dev=5)],
            "devices": [{"dev": 70, "name": "loop0", "below_dev": 80}, {"dev": 80, "name": "vda"}],
            "syscalls": [
                call(0, MS, "pwrite64", bytes=4000, ret=4000),
                call(2 * MS, MS, "write", bytes=4192, ret=4192),
                call(4 * MS, MS, "read", bytes=100, ret=50),
                call(5 * MS, MS, "read", bytes=100, ret=0),
                call(6 * MS, MS, "write", ino=3, ret=1000),
                call(7 * MS, MS, "read", ino=4, ret=1000),
                call(8 * MS, 5 * MS, "fsync"),
            ],
            "page_cache": [
                {
                    "ts_ns": T0,
                    "interval_ns": 100 * MS,
                    "tgid": 10,
                    "dev": 1,
                    "ino": 2,
                    "lookup_pages": 4,
                    "demand_miss_pages": 1,
                    "dirtied_pages": 2,
                    "estimated": False,
                }
            ],
            "block_requests": [
                request(8 * MS, MS, bytes=8192, dev=70),
                request(8 * MS, MS, bytes=8192, dev=80, sector=5000),
                request(9 * MS, MS, bytes=4096, dev=70, owner_dev=None, owner_ino=None,
                        owner_kind="journal", in_scope=None, sector=800),
                request(9 * MS, MS, bytes=4096, dev=80, owner_dev=None, owner_ino=None,
                        owner_kind="journal", in_scope=None, sector=9000),
                request(10 * MS, None, bytes=0, dev=70, owner_kind="flush", issue_ns=None),
                request(10 * MS, MS, "flush", dev=70, owner_dev=None, owner_ino=None, in_scope=None),
                request(10 * MS, MS, "flush", dev=80, owner_dev=None, owner_ino=None, in_scope=None),
                request(10 * MS, MS, "read", bytes=1 << 20, owner_ino=77, in_scope=False),
            ],
        },
        **more,
    )  # fmt: skip


def limited() -> dict[str, list[dict[str, object]]]:
    """Limits of I/O that change, on two devices, and requests of the command and of others on them and on a third."""

    def limit(at: int, dev: int, **limits: int) -> dict[str, object]:
        return {"ts_ns": T0 + at * MS, "path": "/x", "dev": dev, **limits}

    return {
        "io_limits": [
            limit(0, 8, read_bytes_per_s=3000, write_ops_per_s=7),
            limit(5, 8, read_bytes_per_s=2000, write_ops_per_s=9),
            limit(0, 7, write_bytes_per_s=500, read_ops_per_s=4),
        ],
        "block_requests": [
            request(MS, 2 * MS, "read") | {"dev": 8},
            request(3 * MS, MS) | {"dev": 8, "bytes": 512},
            request(4 * MS, MS) | {"dev": 8, "bytes": 1024, "in_scope": False},
            request(5 * MS, MS) | {"dev": 9},
        ],
    }
