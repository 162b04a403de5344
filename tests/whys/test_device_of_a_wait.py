"""The device that is spoken of is the one that was waited for, not the one with most requests of the command's own."""

from pathlib import Path

import pytest

from iowhy.whys.facts import Facts
from tests.numbers_told import tells

from .conftest import Judge, absent, chain, leads, links_of
from .made import KIB, MS, START, Story
from .made.base import DISK, FS

OTHER = 9 << 20


def with_disks(story: Story) -> Story:
    story.device(OTHER, "sdb")
    options = {"kind": "ext4", "options": "rw", "block_bytes": 4096}
    story.add("filesystems", dev=FS, mount="/data", disk_dev=DISK, **options)
    return story.add("filesystems", dev=OTHER | 1, mount="/", disk_dev=OTHER, **options)


def behind_others(depth: int = 8) -> Story:
    """One syncfs; its own few requests went to the disk that its program lies on."""
    story = Story(2.0).caller("syncfs", 1, blocked=1900 * MS, bytes_=None, reason="page_writeback")
    with_disks(story).requests(4, dev=OTHER, service=MS)
    return story.requests(
        1600, op="write", bytes_=512 * KIB, service=9 * MS, depth=depth, own=False, ino=999, tgid=70
    )


def dirtied(story: Story, tgid: int, dev: int = FS, pages: int = 9000) -> Story:
    return story.add(
        "dirtied_by_others", ts_ns=START, interval_ns=story.elapsed, tgid=tgid, dev=dev, pages=pages
    )


def test_a_sync_behind_what_others_made_dirty(judged: Judge) -> None:
    story = dirtied(dirtied(behind_others(), 77), 78, OTHER | 1)
    story.add("neighbours", tgid=70, comm="kworker/u8:0").add("neighbours", tgid=77, comm="dd")
    found = leads(judged(story), "device-contended", 0.85)
    assert tells(found.summary, "sda", "dd", "77")
    assert tells(chain(found), "dd", "77", "35.2 MiB", "sda")
    # Their pages are written by the kernel, in nobody's name: no weight of the command's helps.
    assert any("vm.dirty_bytes" in one for one in found.remedies)
    assert not any("ionice" in one for one in found.remedies)


@pytest.mark.parametrize(
    ("alone", "who"),
    [(9000, "container prod/db/noisy (dd, 19 processes)"), (9600, "cp (process 77)")],
)
def test_the_group_that_did_most_is_named(judged: Judge, alone: int, who: str) -> None:
    """19 of one container did 500 pages each: one process elsewhere did less than they, or more."""
    story = dirtied(behind_others(), 77, pages=alone).add("neighbours", tgid=77, comm="cp")
    story.add("containers", id="c1", name="noisy", pod="db", pod_namespace="prod", cgroup="/a")
    for tgid in range(100, 119):
        dirtied(story, tgid, pages=500).add("neighbours", tgid=tgid, comm="dd", container="c1")
    found = leads(judged(story), "device-contended", 0.85)
    assert who in found.summary


def test_without_a_name_it_is_a_number(judged: Judge) -> None:
    """Two of which no name was seen are two, not one that did the work of both."""
    story = dirtied(dirtied(behind_others(), 77), 76)
    found = leads(judged(story), "device-contended", 0.85)
    assert tells(chain(found), "76", "35.2 MiB", "sda")


def test_not_a_disk_that_nothing_waits_for(judged: Judge) -> None:
    """Others keep sda busy; the command waits for a file on sdb."""
    story = behind_others()
    for wait in story.tables["waits"]:
        wait["dev"] = OTHER | 1
    absent(judged(story), "device-contended")


def test_flushes_of_the_log_disk_though_the_data_disk_moves_more(judged: Judge) -> None:
    story = Story(2.0).caller(
        "fdatasync", 400, blocked=int(4.5 * MS), bytes_=None, reason="journal_commit"
    )
    with_disks(story).requests(400, op="write", bytes_=4 * KIB, service=MS // 2)
    story.requests(3000, op="write", bytes_=512 * KIB, service=9 * MS, depth=8, dev=OTHER)
    found = leads(judged(story.flushes(400, int(3.8 * MS))), "flush-cost", 0.85)
    assert tells(chain(found), "400", "sda", "3.8 ms")


def test_flushes_of_two_disks_stand_beside_each_other(judged: Judge) -> None:
    story = Story(2.0).caller(
        "fdatasync", 400, blocked=int(4.5 * MS), bytes_=None, reason="journal_commit"
    )
    with_disks(story).requests(400, op="write", bytes_=4 * KIB, service=MS // 2)
    story.requests(72, op="write", dev=OTHER, service=MS)
    flush = {"op": "flush", "own": None, "kind": "flush", "ino": None, "flags": ("preflush",)}
    story.flushes(400, int(3.8 * MS))
    story.requests(72, service=2 * MS, dev=OTHER, **flush)  # type: ignore[arg-type]
    found = leads(judged(story), "flush-cost", 0.85)
    # Seven of the 72 fall between two calls, where nobody waits for them.
    assert tells(chain(found), "400", "sda", "3.8 ms", "65", "sdb", "2 ms")
    assert "sda (and sdb)" in found.summary


def two_filesystems(story: Story) -> Story:
    """The command writes to both disks; while it syncs one, somebody else's syncs empty the cache of the other."""
    with_disks(story).requests(400, op="write", bytes_=4 * KIB, service=MS // 2)
    story.caller("pwrite64", 40, tid=11, cpu=MS // 10)
    for call in story.tables["syscalls"]:
        if call["tid"] == 11:
            call["dev"] = OTHER | 1
    flush = {"op": "flush", "own": None, "kind": "flush", "ino": None, "flags": ("preflush",)}
    story.flushes(400, int(3.8 * MS))
    return story.requests(300, service=5 * MS, dev=OTHER, **flush)  # type: ignore[arg-type]


def syncs(name: str = "fdatasync") -> Story:
    return Story(2.0).caller(name, 400, blocked=int(4.5 * MS), bytes_=None, reason="journal_commit")


def test_flushes_of_a_disk_that_is_not_waited_for_are_others(judged: Judge) -> None:
    found = leads(judged(two_filesystems(syncs())), "flush-cost", 0.4)
    assert tells(chain(found), "400", "sda", "3.8 ms")
    assert "sdb" not in chain(found)


def test_sync_of_all_waits_for_both_disks(judged: Judge) -> None:
    story = two_filesystems(syncs("sync"))
    for row in (*story.tables["syscalls"], *story.tables["waits"]):
        if row.get("name", row.get("syscall")) == "sync":
            row["dev"] = row["ino"] = None
    assert " of sdb" in "".join(chain(one) for one in judged(story).findings)


def test_flushes_of_the_disk_that_the_log_lies_on(judged: Judge) -> None:
    """A partition of the disk of another filesystem: what the journal's thread flushes there is the command's."""
    story = two_filesystems(syncs())
    for call in story.tables["syscalls"]:
        if call["tid"] == 11:
            call["dev"] = FS
    story.tables["filesystems"][0]["log_dev"] = OTHER
    found = leads(judged(story), "flush-cost", 0.4)
    # Others' flushes between two syncs are not the command's.
    assert "of sdb" in chain(found) and tells(chain(found), "400", "sda")


def test_a_commit_waits_for_the_disk_of_the_log(judged: Judge) -> None:
    """The data disk moves more, and is not what the commits wait for."""
    story = syncs()
    with_disks(story).requests(400, op="write", bytes_=4 * KIB, service=MS // 2)
    story.tables["filesystems"][0]["log_dev"] = OTHER
    story.requests(300, op="write", bytes_=4 * KIB, service=4 * MS, dev=OTHER, own=None)
    flush = {"op": "flush", "own": None, "kind": "flush", "ino": None, "flags": ("preflush",)}
    story.requests(400, service=int(3.8 * MS), dev=OTHER, **flush)  # type: ignore[arg-type]
    found = leads(judged(story), "flush-cost", 0.4)
    assert tells(links_of(found)["flushes"], "sdb", "made")
    assert "sda" not in found.summary


def on_several(story: Story, dev: int, disks: list[int]) -> Story:
    """A btrfs of several devices."""
    for row in story.tables["filesystems"]:
        if row["dev"] == dev:
            row.update(kind="btrfs", disk_devs=disks)
    return story


def test_flushes_of_another_device_of_the_same_filesystem(judged: Judge) -> None:
    """A partition of the disk of another filesystem; the near miss is a second device of that other one."""
    found = leads(
        judged(on_several(two_filesystems(syncs()), FS, [DISK, OTHER])), "flush-cost", 0.4
    )
    assert "of sdb" in chain(found) and tells(chain(found), "400", "sda")
    third = 10 << 20
    near = on_several(two_filesystems(syncs()), OTHER | 1, [OTHER, third])
    found = leads(judged(near), "flush-cost", 0.4)
    assert "sdb" not in chain(found)


def test_a_wait_on_several_devices_is_for_the_one_that_moves(tmp_path: Path) -> None:
    """The mount names the first device; the data lie on the second."""

    def device(disks: list[int]) -> str | None:
        story = Story(2.0).caller("read", 400, blocked=int(4.5 * MS), bytes_=4 * KIB)
        with_disks(story).requests(4, service=MS)
        story.requests(400, service=int(4.4 * MS), dev=OTHER, jump=True)
        recording = on_several(story, FS, disks).write(tmp_path / f"{len(disks)}.iowhy")
        with Facts(recording) as facts:
            return facts.requests.device

    assert device([DISK, OTHER]) == "sdb"
    assert device([]) == "sda"


def test_what_a_ring_waits_for_counts(judged: Judge) -> None:
    """Reads by libaio from sda, and pages of its program from sdb, more of them but hardly waited for."""
    story = Story(2.0).ring("read", 130, length=14 * MS, api="libaio", asleep_in="io_getevents")
    with_disks(story).requests(140, service=14 * MS, bytes_=512 * KIB)
    story.requests(190, dev=OTHER, service=MS // 3)
    story.caller("read", 18, tid=12, blocked=200_000, ino=1, gap="idle")
    for row in (*story.tables["syscalls"][-18:], *story.tables["waits"]):
        row["dev"] = OTHER | 1
    assert "sda" in str(judged(story).findings[0].summary)
