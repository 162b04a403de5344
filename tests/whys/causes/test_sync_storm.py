"""sync-storm: many syncs, few bytes."""

from ..conftest import Judge, absent, chain, leads
from ..made import KIB, MS, Story


def syncer(count: int, blocked: int, files: int = 1, name: str = "fsync") -> Story:
    return Story(2.0).caller(
        name, count, blocked=blocked, bytes_=None, reason="journal_commit",
        ino=[200 + n for n in range(files)],
    )  # fmt: skip


def test_many_small_files(judged: Judge) -> None:
    story = syncer(400, int(4.5 * MS), files=400)
    story.requests(800, op="write", bytes_=32 * KIB, service=MS).flushes(400, 3 * MS)
    story.commits(400, 4 * MS).passes_of_writeback(400, 400, 16, "fsync")
    found = leads(judged(story), "sync-storm", 0.85)
    text = chain(found)
    assert "400 sync calls make 64 KiB durable each" in text
    assert "400 cache flushes" in text
    assert "400 writeback passes over 400 inodes, 16.0 pages each" in text
    assert "larger files" in found.remedies[0]


def test_transactions_where_the_journal_is_the_cost(judged: Judge) -> None:
    story = syncer(400, int(4.5 * MS), name="fdatasync")
    story.requests(800, op="write", bytes_=4 * KIB, service=2 * MS).flushes(400, MS)
    found = leads(judged(story), "sync-storm", 0.85)
    assert "transaction" in found.remedies[0]


def test_not_few_large_syncs(judged: Judge) -> None:
    story = syncer(40, 45 * MS)
    story.requests(800, op="write", bytes_=512 * KIB, service=2 * MS)
    absent(judged(story), "sync-storm")


def test_not_when_the_syncs_cost_nothing(judged: Judge) -> None:
    story = syncer(400, 20_000).requests(400, op="write", service=10_000)
    absent(judged(story), "sync-storm")


def test_not_when_the_syncs_compute(judged: Judge) -> None:
    story = Story(2.0).caller("fdatasync", 400, cpu=int(4.5 * MS), bytes_=None)
    story.requests(400, op="write", service=10_000)
    absent(judged(story), "sync-storm")


def test_not_one_sync_at_the_end(judged: Judge) -> None:
    story = syncer(1, 1900 * MS).requests(3000, op="write", bytes_=512 * KIB, service=MS // 2)
    absent(judged(story), "sync-storm")
