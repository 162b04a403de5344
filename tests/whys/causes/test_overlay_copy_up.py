"""overlay-copy-up: a change of a file waits while an overlay copies all of it up."""

import pytest

from iowhy.whys.causes.overlay_copy_up import CAUSE
from iowhy.whys.finding import Finding
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, links_of, sentence
from ..made import FS, KIB, MS, START, Story

#: As on ext4 (fs/overlayfs/copy_up.c, Linux 6.18): the lower file is read, and the copy written, in one call.
READ = (
    "schedule", "folio_wait_bit_common", "filemap_get_pages", "filemap_splice_read", "do_splice_direct",
    "ovl_copy_up_file.isra.0", "ovl_copy_up_one", "ovl_copy_up_flags",
)  # fmt: skip
SYNCED = (
    "schedule", "folio_wait_writeback", "__filemap_fdatawait_range", "file_write_and_wait_range", "ext4_sync_file",
    "ovl_copy_up_file.isra.0", "ovl_copy_up_one", "ovl_copy_up_flags",
)  # fmt: skip
OPENS = ("ovl_open", "do_dentry_open", "vfs_open", "path_openat", "__x64_sys_openat")
CHANGES = ("ovl_setattr", "notify_change", "chmod_common", "__x64_sys_fchmodat")
#: What an overlay does for who only reads: it looks a name up in each layer, and reads the file below.
LOOKS_UP = (
    "schedule",
    "__wait_on_buffer",
    "ext4_lookup",
    "lookup_one_unlocked",
    "ovl_lookup_single",
    "ovl_lookup",
    "path_openat",
)
READS = (
    "schedule",
    "folio_wait_bit_common",
    "filemap_get_pages",
    "filemap_read",
    "ovl_read_iter",
    "vfs_read",
)

LOWER, UPPER, PAGES = 21, 22, 24_576


def changer(call: str, *frames: tuple[str, ...], blocked: int = 9 * MS, options: str = "") -> Story:
    """200 times a wait of 9 of 10 ms in a call, in turn through each of some kernel stacks; the file is 96 MiB large."""
    story = Story(2.0).caller(call, 200, blocked=blocked, bytes_=None, ino=None, stack_id=7)
    for number, stack in enumerate(frames):
        story.stack(7 + number, *stack)
    for number, row in enumerate(story.tables["waits"]):
        row["stack_id"] = 7 + number % len(frames)
        row["reason"] = (
            "page_writeback" if "ext4_sync_file" in frames[number % len(frames)] else "page_read"
        )
    story.requests(192, op="read", bytes_=512 * KIB, service=5 * MS, ino=LOWER)
    story.cache(lookups=0, readahead=PAGES, used=0, ino=LOWER)
    return story.add(
        "filesystems", dev=40, kind="overlay", mount="/merged", options=f"rw,lowerdir=/l,upperdir=/u,workdir=/w{options}",
        disk_dev=None,
    )  # fmt: skip


def dirtied(story: Story, pages: int, ino: int = UPPER, tgid: int = 10, faults: int = 0) -> Story:
    return story.add(
        "page_cache", ts_ns=START, interval_ns=story.elapsed, tgid=tgid, dev=FS, ino=ino, dirtied_pages=pages,
        minor_faults=faults, estimated=False,
    )  # fmt: skip


def the(judged: Judge, story: Story, low: float = 0.85) -> Finding:
    return leads(judged(story), "overlay-copy-up", low)


def test_a_mode_that_is_changed_copies_the_whole_file(judged: Judge) -> None:
    found = the(judged, dirtied(changer("fchmodat", READ + CHANGES, SYNCED + CHANGES), PAGES))
    text = chain(found)
    assert tells(links_of(found)["overlay-copy-up.share"], "fchmodat")
    assert tells(text, "200", "9 ms")
    assert tells(text, "1 file", "96 MiB")
    assert tells(links_of(found)["overlay-copy-up.attributes-only"], "fchmodat")
    assert tells(links_of(found)["overlay-copy-up.mounted"], "/merged", "/u")
    assert tells(found.summary, "96 MiB")
    assert found.summary.values["call"] == "fchmodat"
    assert "parameters/metacopy" in found.remedies[0]
    assert not any("volume" in one for one in found.remedies)


def test_an_overlay_that_copies_attributes_alone_is_not_told_to(judged: Judge) -> None:
    """One whose lower file has been copied up for other reasons: what helps is to change less of it there."""
    found = the(judged, changer("fchmodat", SYNCED + CHANGES, options=",metacopy=on"))
    assert not any("metacopy" in one for one in found.remedies)


def test_a_file_that_is_opened_to_write(judged: Judge) -> None:
    story = dirtied(changer("openat", READ + OPENS, SYNCED + OPENS), PAGES + 1)
    story.file(UPPER, "/merged/base.img", 96 << 20)
    story.call(START, "write", {"cpu_ns": 900}, tid=10, ino=UPPER, offset=0, bytes_=14)
    found = the(judged, story)
    text = chain(found)
    assert tells(text, "1 file", "96 MiB") and "synced: /merged/base.img" in text
    assert tells(text, "14 B")
    assert sentence(found.summary).values["call"] == "openat"
    assert fixes_of(found)[0] == "overlay-copy-up.volume"
    assert not any("metacopy" in one for one in found.remedies)


def test_what_is_cut_wants_its_data(judged: Judge) -> None:
    found = the(judged, changer("truncate", (*READ, "ovl_copy_up_with_data", "ovl_setattr")))
    assert sentence(found.summary).values["call"] == "truncate"
    assert fixes_of(found)[0] == "overlay-copy-up.volume"


def test_what_the_process_writes_itself_is_no_copy(judged: Judge) -> None:
    """Of pages: those that its calls write, of files that it maps, and those of others."""
    story = changer("fchmodat", SYNCED + CHANGES)
    dirtied(story, 1, ino=31)
    story.call(START, "write", {"cpu_ns": 900}, tid=10, ino=31, offset=0, bytes_=4096)
    dirtied(story, 500, ino=32, faults=500)
    dirtied(story, 500, ino=33, tgid=11)
    assert "in total" not in chain(the(judged, story))
    dirtied(story, 50)
    assert tells(chain(the(judged, story)), "1", "200 KiB")


def test_many_files(judged: Judge) -> None:
    story = changer("fchownat", SYNCED + CHANGES)
    story.file(41, "/merged/large", 4096 * 300)
    dirtied(dirtied(story, 300, ino=41), 100, ino=42)
    found = the(judged, story)
    assert tells(chain(found), "2", "1.56 MiB", "75 %", "/merged/large")
    assert tells(found.summary, "2", "1.56 MiB")


def test_what_copying_takes_of_a_cpu_goes_with_it(judged: Judge) -> None:
    def share(cpu: int) -> float:
        story = Story(2.0).caller(
            "fchmodat",
            200,
            blocked=4 * MS,
            cpu=cpu,
            bytes_=None,
            ino=None,
            stack_id=7,
            gap_share=0.0,
        )
        found = finding(judged(story.stack(7, *SYNCED, *CHANGES)), "overlay-copy-up")
        assert found is not None
        return found.share

    assert share(3 * MS) == pytest.approx(share(0) + 0.3, abs=0.03)


@pytest.mark.parametrize("frames", [LOOKS_UP, READS])
def test_not_who_only_reads(judged: Judge, frames: tuple[str, ...]) -> None:
    absent(judged(changer("openat", frames)), "overlay-copy-up")


def test_not_a_copy_that_the_program_makes(judged: Judge) -> None:
    """cp in an overlay: it reads below and writes a new file above by calls of its own."""
    story = dirtied(
        changer("copy_file_range", (*READ[:5], "ovl_copy_file_range", "vfs_copy_file_range")), PAGES
    )
    absent(judged(story), "overlay-copy-up")


def test_not_a_file_that_is_copied_in_no_time(judged: Judge) -> None:
    """Each side of what is listed."""
    for part, there in ((10, True), (20, False)):
        story = changer("openat", READS)
        story.stack(9, *READ, *OPENS)
        for row in story.tables["waits"][::part]:
            row["stack_id"] = 9
        assert (finding(judged(story), "overlay-copy-up") is not None) is there


def test_it_goes_before_what_the_copy_does(judged: Judge) -> None:
    """The device is busy, the cache cold, and each sync in it is a wait for durability: all for a copy that need not be."""
    verdict = judged(dirtied(changer("openat", READ + OPENS, SYNCED + OPENS), PAGES))
    for cause in ("cache-cold", "device-saturated", "sync-storm", "flush-cost"):
        absent(verdict, cause)
    assert {"cache-cold", "device-saturated", "sync-storm"} < set(CAUSE.beats)
