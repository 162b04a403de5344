"""file-fragmented: large calls, small scattered requests, many extents."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import DISK, FS, KIB, MIB, MS, Story


def imdb(
    *,
    extents: int,
    extent: int,
    request: int,
    jump: bool,
    service: int = 2 * MS,
    pages: Iterator[int] | None = None,
) -> Story:
    """8 threads msync regions of 4 MiB of one file."""
    story = Story(4.0, cpus=8)
    for tid in range(10, 18):
        story.caller(
            "msync", 4, tid=tid, blocked=900 * MS, cpu=5 * MS, bytes_=4 * MIB,
            reason="page_writeback", gap="idle",
        )  # fmt: skip
    story.requests(
        1800, op="write", bytes_=request, service=service, depth=1, jump=jump, pages=pages
    )
    return story.extents(extents, extent).allocations(2000, 8)


def test_msync_becomes_small_scattered_writes(judged: Judge) -> None:
    verdict = judged(imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True))
    found = leads(verdict, "file-fragmented", 0.85, 0.95)
    text = chain(found)
    for said in (
        ("msync", "32 calls", "4 MiB", "905 ms", "5 ms"),
        ("1,800 requests", "4 KiB"),
        ("100 %",),
        ("8,000 extents", "4 KiB"),
        ("0 %",),
        ("8 threads", "2,000"),
    ):
        assert tells(text, *said), text
    for other in ("flush-cost", "random-access", "device-saturated", "sync-storm"):
        assert finding(verdict, other) is None


@pytest.mark.parametrize(
    ("kind", "options", "ahead"),
    [("ext4", "rw", True), ("btrfs", "rw", False), ("btrfs", "rw,nodatasum,nodatacow", True)],
)
def test_blocks_allocated_ahead_help_only_where_they_are_kept(
    kind: str, options: str, ahead: bool, judged: Judge
) -> None:
    story = imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True)
    story.add("filesystems", dev=FS, kind=kind, mount="/data", options=options, disk_dev=DISK)
    found = leads(judged(story), "file-fragmented", 0.85, 0.95)
    assert any("fallocate" in remedy for remedy in found.remedies) == ahead
    assert any("chattr +C" in remedy for remedy in found.remedies) != ahead
    assert (found.experiment == "preallocate") == ahead


@pytest.mark.parametrize(
    ("kind", "tool", "not_its"),
    [
        ("ext4", "`e4defrag /data/file`", "xfs"),
        ("xfs", "`xfs_fsr /data/file`", "bigalloc"),
        ("btrfs", "`btrfs filesystem defragment /data/file`", "xfs"),
        ("f2fs", "cp -p /data/file", "efrag"),
    ],
)
def test_a_file_is_defragmented_by_the_tool_of_its_filesystem(
    kind: str, tool: str, not_its: str, judged: Judge
) -> None:
    story = imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True)
    story.add("filesystems", dev=FS, kind=kind, mount="/data", options="nodatacow", disk_dev=DISK)
    told = " ".join(leads(judged(story), "file-fragmented", 0.85, 0.95).remedies)
    assert tool in told and not_its not in told


def behind_a_scheduler(story: Story) -> Story:
    """Sixteen requests wait for each other, and are sent in the order of their places on the disk."""
    rows = story.tables["block_requests"]
    for at in range(0, len(rows), 16):
        waiting = rows[at : at + 16]
        sent_ns = max(row["complete_ns"] for row in waiting)  # type: ignore[type-var]
        for place, row in enumerate(sorted(waiting, key=lambda one: one["sector"])):  # type: ignore[arg-type,return-value]
            row["issue_ns"] = sent_ns + place  # type: ignore[operator]
            row["complete_ns"] = sent_ns + place + 2 * MS  # type: ignore[operator]
    return story


@pytest.mark.parametrize("behind", [lambda story: story, behind_a_scheduler])
@pytest.mark.parametrize(("step", "led"), [(1, True), (7919, False)])
def test_only_where_what_lies_next_to_it_in_the_file_is_elsewhere(
    step: int, led: bool, behind: Callable[[Story], Story], judged: Judge
) -> None:
    """The range of an msync is large, whatever of it is dirty: pages far from each other jump in every layout."""
    pages = (number * step % (1 << 20) for number in count())
    story = imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True, pages=pages)
    verdict = judged(behind(story))
    if led:
        leads(verdict, "file-fragmented", 0.85, 0.95)
    else:
        absent(verdict, "file-fragmented")


def test_not_a_file_in_one_piece(judged: Judge) -> None:
    absent(
        judged(imdb(extents=1, extent=32 * MIB, request=512 * KIB, jump=False)), "file-fragmented"
    )


def test_not_when_the_application_jumps(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 190, blocked=10 * MS, jump=True, bytes_=4 * KIB)
    story.requests(190, service=10 * MS, jump=True).extents(1, 64 * MIB)
    verdict = judged(story)
    absent(verdict, "file-fragmented")
    leads(verdict, "random-access", 0.85)


def test_not_large_extents(judged: Judge) -> None:
    story = imdb(extents=60, extent=1 * MIB, request=512 * KIB, jump=True)
    absent(judged(story), "file-fragmented")


def test_not_another_fragmented_file(judged: Judge) -> None:
    story = imdb(extents=1, extent=32 * MIB, request=4 * KIB, jump=True)
    story.extents(5000, 4 * KIB, ino=555)
    absent(judged(story), "file-fragmented")


def test_page_faults_that_wait_as_long_do_not_hide_the_call(judged: Judge) -> None:
    story = imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True)
    for row in story.tables["waits"][8:]:
        row["syscall"] = None
    found = leads(judged(story), "file-fragmented", 0.85, 0.95)
    assert tells(chain(found), "page fault")
    assert tells(chain(found), "msync", "32", "4 MiB", "905 ms")


def in_pages(bytes_: int, **device: object) -> Story:
    """One thread waits 95 % of 4 s while its file of so many bytes is written in scattered pages of 64 KiB."""
    story = Story(4.0, cpus=8)
    story.tables["devices"][0].update(device)
    story.caller(
        "msync", 40, blocked=95 * MS, bytes_=bytes_ // 40, reason="page_writeback", gap="idle"
    )
    count = bytes_ // (64 * KIB)
    story.requests(count, op="write", bytes_=64 * KIB, service=MS, jump=True)
    return story.extents(count, 64 * KIB)


def test_the_time_that_the_bytes_take_in_order_is_not_claimed(judged: Judge) -> None:
    """228 MB take a disk 1.52 s in order, so that of 3.8 s only 2.28 s (57 % of the run) are due to the layout."""
    found = leads(judged(in_pages(228_000_000)), "file-fragmented", 0.54, 0.60)
    assert tells(chain(found), "217 MiB", "1.52 s")


def test_flash_moves_them_faster(judged: Judge) -> None:
    """At 500 MB/s they take 0.456 s: 84 % remain."""
    leads(judged(in_pages(228_000_000, rotational=False)), "file-fragmented", 0.81, 0.87)


def test_a_disk_that_is_faster_than_disks_is_flash(judged: Judge) -> None:
    """800 MB in 3.8 s are 210 MB/s: no disk of scattered pages. At 500 MB/s they take 1.6 s."""
    leads(judged(in_pages(800_000_000, rotational=True)), "file-fragmented", 0.52, 0.58)


def test_not_when_the_layout_costs_nothing(judged: Judge) -> None:
    """550 MB in 3.8 s are 145 MB/s already, what a disk does in order."""
    verdict = judged(in_pages(550_000_000, rotational=True))
    absent(verdict, "file-fragmented")


def test_threads_that_take_turns_at_the_queue_write_in_order_each(judged: Judge) -> None:
    """A short queue lets each of eight threads in for one request at a time: none follows the one before it in the file."""
    places = (1024 * turn + step for step in count() for turn in range(8))
    story = imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True, pages=places)
    for number, row in enumerate(story.tables["block_requests"]):
        row["tid"] = 10 + number % 8
    leads(judged(story), "file-fragmented", 0.85, 0.95)
