"""partial-writes: a write of part of a block waits until the block is read."""

import pytest

from iowhy.whys.finding import Finding
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, links_of, sentence
from ..made import FILE, FS, KIB, MS, Story

WRITES = 200


def writer(
    call: str = "pwrite64", *, reason: str = "partial_write", bytes_: int = 512, **more: int
) -> Story:
    """A disk that turns brings a block for each of 200 writes: 9 of 10 ms."""
    story = Story(2.0).caller(
        call, WRITES, blocked=9 * MS, reason=reason, bytes_=bytes_, jump=True, **more
    )
    story.requests(WRITES, bytes_=4 * KIB, service=9 * MS, jump=True)
    return story.cache(lookups=WRITES, misses=WRITES)


def the(judged: Judge, story: Story) -> Finding:
    return leads(judged(story), "partial-writes", 0.85, 0.95)


def test_records_that_are_smaller_than_a_block(judged: Judge) -> None:
    story = writer().add(
        "filesystems", dev=FS, kind="ext4", mount="/data", options="rw", block_bytes=4096
    )
    found = the(judged, story)
    text = chain(found)
    assert tells(text, "pwrite64", "4 KiB")
    assert tells(text, "200", "200", "512 B")
    assert tells(text, "200", "800 KiB", "100 KiB")
    assert sentence(found.summary).values["where"] == "/data/file"
    assert fixes_of(found)[0] == "partial-writes.whole-blocks"
    assert found.gain == pytest.approx(found.share)


@pytest.mark.parametrize("call", ["write", "writev", "pwritev2"])
def test_every_call_that_writes(judged: Judge, call: str) -> None:
    assert tells(links_of(the(judged, writer(call)))["partial-writes.share"], call)


def test_several_files(judged: Judge) -> None:
    story = writer(ino=[FILE, 2]).file(2, "/data/other")  # type: ignore[arg-type]
    assert tells(the(judged, story).summary, "2 files")


def test_what_was_not_recorded_is_not_said(judged: Judge) -> None:
    """Without requests and calls by file: the waits alone."""
    story = writer()
    for table in ("block_requests", "syscalls", "files"):
        story.tables.pop(table, None)
    found = finding(judged(story), "partial-writes")
    assert found is not None
    assert not {"partial-writes.read-bytes", "partial-writes.mean-bytes"} & {*links_of(found)}
    assert sentence(found.summary).values["where"] == "its file"


def test_not_reads_that_wait_for_a_page(judged: Judge) -> None:
    absent(judged(writer("pread64", reason="page_read", bytes_=4 * KIB)), "partial-writes")


def test_not_writes_of_what_a_mapped_file_holds(judged: Judge) -> None:
    """The source is read, page by page, in the call that writes it elsewhere."""
    absent(judged(writer("write", reason="page_read", bytes_=4 * KIB)), "partial-writes")


def test_not_writes_that_wait_for_the_device_to_write(judged: Judge) -> None:
    absent(judged(writer(reason="page_writeback")), "partial-writes")


def test_not_page_faults(judged: Judge) -> None:
    """A filesystem without extents reads a block so for a page that is mapped and changed: no call can write more of it."""
    story = writer()
    for row in story.tables["waits"]:
        row["syscall"] = None
    absent(judged(story), "partial-writes")


def test_not_a_little_of_the_time(judged: Judge) -> None:
    story = Story(2.0).caller(
        "pwrite64", 10, blocked=9 * MS, reason="partial_write", bytes_=512, gap="user"
    )
    absent(judged(story), "partial-writes")
