"""A fleet of hosts that do the same, each a little differently: a program that writes and calls fsync, on a disk of its own."""

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from iowhy.recordings.manifest import Clock
from tests.whys.made import MS, START, Story

#: Spread of the hosts, and of one host's recordings, as standard deviations of logarithms.
HOSTS, RECORDINGS = 0.1, 0.03
DAY_NS = 86_400_000_000_000
FIRST_NS = 1_762_000_000_000_000_000  # 2025-11-01


def write_fleet(
    folder: Path,
    hosts: int,
    days: tuple[int, ...] = (0,),
    *,
    slow: int | None = None,
    rollout: int | None = None,
    seed: int = 1,
    calls: int = 20,
) -> None:
    """One recording for each host and day; the disk of host `slow` takes 3 times as long, and from day `rollout` on fsync takes 10 % more."""
    rng = np.random.default_rng(seed)
    for host in range(hosts):
        own = float(np.exp(rng.normal(0, HOSTS)))
        for day in days:
            disk = own * float(np.exp(rng.normal(0, RECORDINGS))) * (3 if host == slow else 1)
            sync = disk * float(np.exp(rng.normal(0, RECORDINGS)))
            if rollout is not None and day >= rollout:
                sync *= 1.1
            place = folder / f"date=2025-11-{day + 1:02}" / f"host=web{host:03}"
            write_host(place, host, day, disk, sync, calls)


def write_host(
    folder: Path, host: int, day: int, disk: float, sync: float, calls: int = 20
) -> None:
    """A recording in which a flush takes 5 ms times `disk`, and each of `calls` fsyncs 8 ms times `sync`."""
    story = Story(seconds=1.0, seed=host)
    story.caller("fsync", calls, blocked=int(8 * MS * sync), reason="device_flush", bytes_=None)
    story.requests(calls, op="write", service=int(2 * MS * disk), first=100)
    story.flushes(calls, int(5 * MS * disk))
    folder.mkdir(parents=True)
    made = story.write(folder / "run.iowhy")
    manifest = made.manifest
    began = FIRST_NS + day * DAY_NS + host * 1_000_000_000
    manifest = replace(
        manifest,
        host=replace(manifest.host, name=f"web{host:03}", kernel="6.12.1"),
        clock=Clock(START, began),
        command=replace(manifest.command, argv=("/usr/bin/ledger",)),
    )
    (made.path / "manifest.json").write_text(manifest.as_json())
