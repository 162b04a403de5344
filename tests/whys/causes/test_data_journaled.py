"""data-journaled: an ext4 with data=journal writes all data twice."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, fixes_of, leads
from ..made import FS, KIB, MS, Story


def journaled(options: str = "rw,data=journal", *, requests: int = 400, calls: int = 200) -> Story:
    """200 writes of 512 KiB, for which the device has two requests of as much each."""
    story = Story(2.0).caller(
        "write", calls, blocked=int(9.7 * MS), bytes_=512 * KIB, reason="journal_space", gap="idle"
    )
    story.requests(requests, op="write", bytes_=512 * KIB, service=int(9.7 * MS), depth=2)
    story.commits(10, 150 * MS)
    return story.add(
        "filesystems", dev=FS, kind="ext4", mount="/data", options=options, disk_dev=None
    )


def test_data_that_go_to_the_journal_first(judged: Judge) -> None:
    found = leads(judged(journaled()), "data-journaled", 0.9)
    text = chain(found)
    assert tells(text, "/data", "data=journal")
    assert tells(text, "100 MiB", "sda", "200 MiB")
    assert tells(text, "10", "150 ms")
    assert fixes_of(found)[0] == "data-journaled.ordered-any"
    assert found.gain_condition.startswith("if data is written once")


def test_not_where_data_are_written_once(judged: Judge) -> None:
    absent(judged(journaled("rw,data=ordered")), "data-journaled")
    absent(judged(journaled("rw")), "data-journaled")


def test_not_what_is_in_the_journal_alone(judged: Judge) -> None:
    """Whether it is ever written to its place does not matter to who has ended."""
    absent(judged(journaled(requests=299)), "data-journaled")


def test_not_a_few_data(judged: Judge) -> None:
    absent(judged(journaled(calls=31, requests=62)), "data-journaled")


def test_not_who_waits_for_something_else(judged: Judge) -> None:
    story = journaled()
    for row in story.tables["waits"]:
        row["reason"] = "inode_lock"
    absent(judged(story), "data-journaled")
