"""journal-entangled: a small sync waits for somebody's bulk data."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, leads
from ..made import KIB, MS, Story


def syncer(foreign: int, flushing: int) -> Story:
    story = Story(2.0).caller(
        "fsync", 20, blocked=90 * MS, bytes_=None, reason="journal_commit", gap="idle"
    )
    story.requests(40, op="write", bytes_=4 * KIB, service=MS)
    story.file(700, "/data/bulk")
    if foreign:
        story.requests(
            foreign, op="write", bytes_=512 * KIB, service=4 * MS, own=False, ino=700, tgid=70
        )
    return story.commits(20, 85 * MS, flushing_ns=flushing, logging_ns=85 * MS - flushing)


def test_a_bulk_writer_on_the_same_file_system(judged: Judge) -> None:
    verdict = judged(syncer(400, 75 * MS))
    leads(verdict, "journal-entangled", 0.85)
    absent(verdict, "sync-storm")
    absent(verdict, "device-contended")


def test_not_when_commits_write_the_log(judged: Judge) -> None:
    absent(judged(syncer(400, 10 * MS)), "journal-entangled")


@pytest.mark.parametrize(("lasts", "found"), [(60 * MS, True), (20 * MS, False)])
def test_data_that_a_device_takes_at_once_are_waited_for_in_the_phase_of_the_log(
    judged: Judge, lasts: int, found: bool
) -> None:
    """Handed over in 10 ms; the last of them is done 60 ms later, or 20."""
    story = syncer(0, 10 * MS)
    story.requests(
        20,
        op="write",
        bytes_=4096 * KIB,
        service=lasts + 5 * MS,
        first=5 * MS,
        own=False,
        ino=700,
        tgid=70,
    )
    verdict = judged(story)
    if found:
        first = leads(verdict, "journal-entangled", 0.85)
        assert any(tells(one.statement, "82 %") for one in first.chain)
    else:
        absent(verdict, "journal-entangled")


def test_not_without_other_data(judged: Judge) -> None:
    absent(judged(syncer(0, 75 * MS)), "journal-entangled")
