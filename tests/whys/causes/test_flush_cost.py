"""flush-cost: the device empties its cache at every sync."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, leads
from ..made import KIB, MIB, MS, Story


def syncer(flush: int, count: int = 400, name: str = "fdatasync") -> Story:
    story = Story(2.0).caller(
        name, count, blocked=int(4.5 * MS), bytes_=None, reason="journal_commit"
    )
    story.requests(count, op="write", bytes_=4 * KIB, service=MS // 2)
    return story.flushes(count, flush) if flush else story


def test_one_file_synced_over_and_over(judged: Judge) -> None:
    found = leads(judged(syncer(int(3.8 * MS))), "flush-cost", 0.85)
    assert tells(chain(found), "400", "sda", "3.8 ms")
    assert tells(chain(found), "84 %")


def test_who_syncs_whole_filesystems_has_no_transactions(judged: Judge) -> None:
    for name in ("syncfs", "sync"):
        fix = leads(judged(syncer(int(3.8 * MS), name=name)), "flush-cost", 0.85).fixes[0]
        assert "COMMIT" not in fix.do and name in fix.do


def test_what_is_done_once_is_what_was_counted(judged: Judge) -> None:
    """On ext4 a sync of a file that grows flushes twice: there were not so many syncs."""
    for flushes, said in ((200, ("1 sync", "200")), (400, ("1 flush", "400"))):
        story = Story(2.0).caller(
            "fdatasync", 200, blocked=9 * MS, bytes_=None, reason="journal_commit"
        )
        story.requests(200, op="write", bytes_=4 * KIB, service=MS // 2)
        story.flushes(flushes, 1600 * MS // flushes)
        assert tells(leads(judged(story), "flush-cost", 0.5).gain_condition, *said)


def test_not_without_barriers(judged: Judge) -> None:
    absent(judged(syncer(0)), "flush-cost")


def test_not_when_the_flush_is_quick(judged: Judge) -> None:
    absent(judged(syncer(MS)), "flush-cost")


def test_not_one_flush_that_drains_a_bulk_write(judged: Judge) -> None:
    story = Story(2.0).caller("fsync", 1, blocked=1800 * MS, bytes_=None, reason="journal_commit")
    story.requests(500, op="write", bytes_=512 * KIB, service=MS).flushes(1, 1500 * MS)
    absent(judged(story), "flush-cost")


def flushing(writes: int, mib: int) -> Story:
    """A hundred syncs of 16 ms, of which a flush is 12; 200 MiB are written, each time just before one of them."""
    story = Story(2.0).caller("fdatasync", 100, blocked=16 * MS, bytes_=None, reason="device_flush")
    story.requests(writes, op="write", bytes_=mib * MIB, service=2 * MS, first=14 * MS)
    return story.flushes(100, 12 * MS)


def test_a_flush_that_has_little_to_write_costs_whatever_others_move(judged: Judge) -> None:
    """An image's metadata between its data: on average 2 MiB for each sync, and most flushes have none of that."""
    found = leads(judged(flushing(25, 8)), "flush-cost", 0.75)
    assert found.summary.values["flushes"] == 100


def test_not_flushes_each_of_which_writes_much(judged: Judge) -> None:
    absent(judged(flushing(100, 2)), "flush-cost")


def test_writes_that_sync_themselves(judged: Judge) -> None:
    story = Story(2.0).caller("pwrite64", 200, blocked=9 * MS, reason="journal_commit")
    story.requests(200, op="write", bytes_=4 * KIB, service=MS // 2).flushes(200, 8 * MS)
    found = leads(judged(story), "flush-cost", 0.85)
    assert tells(chain(found), "200 writes", "durable")
    assert "O_SYNC" in found.remedies[0]


def test_few_flushes_count_where_little_was_written(judged: Judge) -> None:
    found = leads(judged(few_slow_syncs(4 * KIB)), "flush-cost", 0.55, 0.65)
    assert found.confidence <= 0.6
    assert any("only 5 flushes" in text for text in found.lowered_by)


def few_slow_syncs(bytes_: int) -> Story:
    """Five syncs of 60 ms, after four requests each, in a run that else computes."""
    story = Story(0.5).caller("fsync", 5, blocked=60 * MS, bytes_=None, reason="journal_commit")
    return story.requests(20, op="write", bytes_=bytes_, service=MS).flushes(5, 55 * MS)


def test_not_few_flushes_after_much_data(judged: Judge) -> None:
    absent(judged(few_slow_syncs(512 * KIB)), "flush-cost")


def test_a_cache_that_needs_no_flush_is_told_to_the_queue_of_its_device(judged: Judge) -> None:
    """Not each filesystem can be mounted without flushes: XFS cannot."""
    found = leads(judged(syncer(int(3.8 * MS))), "flush-cost", 0.85)
    (told,) = (one for one in found.remedies if "write_cache" in one)
    assert "`echo 'write through' > /sys/block/sda/queue/write_cache`" in told
    assert not any("barrier" in one for one in found.remedies)


def log(*, flushes: int = 400, commits: int = 200, files: int = 1) -> Story:
    """200 syncs, each of which flushes the data and, where the file grows, the journal."""
    story = Story(2.0).caller(
        "fdatasync", 200, blocked=9 * MS, bytes_=None, reason="journal_commit",
        ino=list(range(1, files + 1)),
    )  # fmt: skip
    story.requests(200, op="write", bytes_=4 * KIB, service=MS // 2)
    story.flushes(flushes, 1600 * MS // flushes)
    return story.commits(commits, 8 * MS) if commits else story


def overwrites(judged: Judge, story: Story) -> bool:
    found = leads(judged(story), "flush-cost", 0.5)
    return any("with zeros" in one for one in found.remedies)


def test_a_log_that_grows_is_told_to_write_over_what_is_there(judged: Judge) -> None:
    assert overwrites(judged, log())
    assert overwrites(judged, log(files=20))


def test_not_one_that_does_so_already(judged: Judge) -> None:
    """Its syncs commit nothing, or flush once."""
    assert not overwrites(judged, log(commits=90))
    assert not overwrites(judged, log(flushes=290))


def test_not_files_that_are_written_once(judged: Judge) -> None:
    assert not overwrites(judged, log(files=25))


def test_not_where_commits_were_not_recorded(judged: Judge) -> None:
    assert not overwrites(judged, log(commits=0))


def test_not_who_leaves_its_log_to_a_library(judged: Judge) -> None:
    """How SQLite lays out its journal is SQLite's to say: what its users can set is said of it."""
    story = log().file(201, "/usr/lib/libsqlite3.so.0.8.6").file(202, "/srv/x.db-journal")
    assert not overwrites(judged, story)
