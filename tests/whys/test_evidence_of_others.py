"""Evidence of others is no fallback for none: of a device that the command did nothing on, no cause says a word."""

import re
from pathlib import Path

import pytest

from iowhy.whys.causes import causes
from iowhy.whys.facts import Facts
from iowhy.whys.verdict import verdict_of

from .made import KIB, MS, START, Story, disk
from .made.base import DISK, FS

#: Reports whose rows are requests or a device's own counters: a number from there is one of the others'.
OF_DEVICES = frozenset({
    "addresses", "amplification", "devices", "devices-over-time", "request-latency", "request-pattern",
    "request-size", "journal",
})  # fmt: skip
NAMED = re.compile(r"\bsda\b")

#: What the command does meanwhile: how it spends its time, in which call, and for what it waits.
WORK = {
    "computes": {"cpu": 9 * MS, "name": "getppid", "reason": None},
    "sleeps": {"sleeping": 9 * MS, "name": "poll", "gap": "idle", "reason": None},
    "fuse": {"blocked": 9 * MS, "name": "read", "reason": "fuse"},
    "fuse, for pages": {"blocked": 9 * MS, "name": "read", "reason": "page_read"},
    "fuse, fsync": {"blocked": 9 * MS, "name": "fsync", "reason": "fuse"},
    "network": {"blocked": 9 * MS, "name": "read", "reason": "network_filesystem"},
    "network, names": {"blocked": 9 * MS, "name": "newfstatat", "reason": "network_filesystem"},
    "network, fsync": {"blocked": 9 * MS, "name": "fsync", "reason": "network_filesystem"},
    "locks": {"blocked": 9 * MS, "name": "write", "reason": "inode_lock"},
    "small reads from memory": {"cpu": 9 * MS, "name": "read", "bytes_": 1, "reason": None},
    "writes to memory": {"cpu": 9 * MS, "name": "pwrite64", "bytes_": 4 * KIB, "reason": None},
    "syncs memory": {"cpu": 9 * MS, "name": "fsync", "bytes_": None, "reason": None},
}  # fmt: skip


def beside_others(work: str) -> Story:
    """The command's files lie on a filesystem without a disk; others do all that one can do to sda."""
    what: dict[str, object] = {"bytes_": 64 * KIB, "io": False} | WORK[work]
    story = Story(2.0).caller(count=200, **what)  # type: ignore[arg-type]
    kind = (
        "fuse.sshfs"
        if work.startswith("fuse")
        else "nfs4"
        if work.startswith("network")
        else "tmpfs"
    )
    served = 88 if kind == "fuse.sshfs" else None
    options = {"options": "rw", "disk_dev": None, "daemon_tgid": served}
    story.add("filesystems", dev=FS, kind=kind, mount="/far", **options)
    theirs = 8 << 20 | 7
    story.add("filesystems", dev=theirs, kind="ext4", mount="/", options="rw", disk_dev=DISK)
    begun = len(story.tables.get("block_requests", []))
    story.requests(1600, op="read", service=6 * MS, depth=8, jump=True, own=False, ino=999, tgid=70)
    story.requests(800, op="write", service=9 * MS, depth=8, own=False, ino=999, tgid=70)
    story.requests(400, op="read", service=2 * MS, own=False, kind="metadata", ino=None, tgid=70)
    story.requests(400, op="flush", service=3 * MS, own=None, kind="flush", ino=None, tgid=71)
    story.requests(400, op="write", service=3 * MS, own=None, kind="journal", ino=None, tgid=71)
    for request in story.tables["block_requests"][begun:]:
        request["owner_dev"] = theirs if request["owner_dev"] is not None else None
    story.commits(300, 4 * MS)
    for commit in story.tables["journal_commits"]:
        commit["dev"] = theirs
    pages = {"dev": theirs, "pages": 9000}
    story.add("dirtied_by_others", ts_ns=START, interval_ns=story.elapsed, tgid=70, **pages)
    story.add("neighbours", tgid=70, comm="dd")
    samples = disk(seconds=2, reads=1000, read_bytes=8e6, wait_ns=9 * MS, busy=0.99, depth=8)
    for row in samples:
        story.add("disk_samples", **row | {"ts_ns": START + row["ts_ns"]})
    return story


@pytest.mark.parametrize("work", WORK)
def test_no_cause_speaks_of_a_device_that_only_others_use(work: str, tmp_path: Path) -> None:
    with Facts(beside_others(work).made(tmp_path / "x")) as facts:
        for cause in causes():
            found = cause.find(facts)
            if found is None:
                continue
            said = [link.statement for link in found.chain]
            assert not {link.report for link in found.chain} & OF_DEVICES, (cause.name, said)
            spoken = [one for one in (*said, found.summary) if NAMED.search(one)]
            assert not spoken, (cause.name, spoken)
        verdict = verdict_of(facts)
    assert not NAMED.search(verdict.answer), verdict.answer
    assert not [one.cause for one in verdict.findings if one.cause.startswith("device-")]
