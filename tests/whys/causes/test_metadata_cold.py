"""metadata-cold: a walk over a tree whose directories and inodes are not in memory."""

import pytest

from iowhy.whys.finding import Finding
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads
from ..made import KIB, MIB, MS, START, Story


def walk(service: int = MS, *, reason: str = "metadata_read", call: str = "newfstatat") -> Story:
    """A name each 5 ms, whose inode takes a request to read."""
    story = Story(4.0).caller(call, 800, blocked=4 * MS, bytes_=None, reason=reason)
    story.requests(800, service=service, kind="metadata", ino=None, jump=True)
    return story.add(
        "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=10, name=call,
        calls=800, errors=0, total_ns=3200 * MS,
    )  # fmt: skip


def test_a_walk_over_a_cold_tree(judged: Judge) -> None:
    found = leads(judged(walk()), "metadata-cold", 0.75)
    text = chain(found)
    assert tells(text, "80 %")
    assert tells(text, "800 calls")
    assert tells(text, "800 requests", "3.12 MiB") and tells(text, "1 ms")
    assert tells(text, "100 %")
    assert "xargs -P" in found.remedies[0]


def test_on_a_device_that_seeks_the_order_comes_first(judged: Judge) -> None:
    found = leads(judged(walk(4 * MS)), "metadata-cold", 0.75)
    assert fixes_of(found)[0] == "metadata-cold.inode-order"
    assert len(found.fixes) == 4


def test_more_walkers_save_only_the_pauses_of_a_single_head(judged: Judge) -> None:
    """It says that it turns, though its short ways take less than a seek does."""
    story = walk()
    story.tables["devices"][0]["rotational"] = True
    found = leads(judged(story), "metadata-cold", 0.75)
    assert fixes_of(found)[0] == "metadata-cold.inode-order"
    assert fixes_of(found)[-1] == "metadata-cold.parallel-walk"
    quick = walk()
    quick.tables["devices"][0]["rotational"] = False
    found = leads(judged(quick), "metadata-cold", 0.75)
    assert "xargs" in found.remedies[0] and found.gain == pytest.approx(7 / 8 * found.share)


@pytest.mark.parametrize("turns", [True, False])
def test_so_does_a_programs_setting_that_reads_more_at_once(judged: Judge, turns: bool) -> None:
    """restic's saves as much as other walkers do, on both."""
    story = walk()
    story.tables["devices"][0]["rotational"] = turns
    walkers = _gains(finding(judged(story), "metadata-cold"))["metadata-cold.parallel-walk"]
    story.tables["threads"][0]["comm"] = "restic"
    story.file(301, "/usr/bin/restic")
    for number in range(20):
        story.file(1000 + number, f"/data/{number}")
        parts = {"cpu_ns": 1000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
        story.call(START + number, "read", parts, tid=10, ino=1000 + number, offset=0, bytes_=KIB)
    assert _gains(finding(judged(story), "metadata-cold"))["restic.read-more"] == pytest.approx(
        walkers
    )


def _gains(found: Finding) -> dict[str, float]:
    return dict(zip(fixes_of(found), (one.gain for one in found.fixes), strict=True))


@pytest.mark.parametrize("program", ["/usr/bin/find", "/usr/bin/find.busybox"])
def test_nobody_changes_the_order_of_somebody_elses_program(judged: Judge, program: str) -> None:
    """Of several of a kind, its name is a link to one."""
    story = walk(4 * MS)
    story.argv = ("find", "/data")
    story.file(301, program)
    found = leads(judged(story), "metadata-cold", 0.75)
    assert not any("inodes (" in one or "xargs" in one for one in found.remedies)
    # Of one's own program it is what to do.
    story.argv = ("./find", "/data")
    found = leads(judged(story), "metadata-cold", 0.75)
    assert fixes_of(found)[0] == "metadata-cold.inode-order"


def walkers(locked_at: int) -> Story:
    """Two walkers: one reads a block in the first 4 ms of each 10, the other waits for a locked one from some time on."""
    story = walk(4 * MS)
    for table in ("waits", "threads", "thread_time"):
        story.tables[table] = []
    for tid, at, reason in ((10, 0, "metadata_read"), (11, locked_at, "metadata_lock")):
        for number in range(400):
            begin = START + number * 10 * MS + at
            story.wait(begin, 4 * MS, reason, "newfstatat", tid=tid, io=False)
        story.thread(tid, blocked=0.4, user=0.05)
    # One for each block that is read: none is under way in the rest of the 10 ms.
    story.tables["block_requests"] = story.tables["block_requests"][::2]
    return story


def test_who_waits_for_a_block_that_another_reads_waits_for_that_read(judged: Judge) -> None:
    verdict = judged(walkers(0))
    leads(verdict, "metadata-cold", 0.8)
    absent(verdict, "lock-contended")


def test_not_who_waits_while_nobody_reads(judged: Judge) -> None:
    assert finding(judged(walkers(5 * MS)), "lock-contended") is not None


def test_removing_a_cold_tree(judged: Judge) -> None:
    leads(judged(walk(call="unlinkat")), "metadata-cold", 0.75)


def test_of_directories_no_call_can_ask_ahead(judged: Judge) -> None:
    story = Story(2.0).caller("getdents64", 1900, blocked=MS, reason="metadata_read", bytes_=None)
    verdict = judged(story.requests(1900, service=MS, kind="metadata", ino=None, jump=True))
    found = leads(verdict, "metadata-cold", 0.9)
    assert not any("fadvise" in remedy for remedy in found.remedies)
    absent(verdict, "queue-shallow")


def test_where_requests_were_not_recorded_it_is_less_sure(judged: Judge) -> None:
    story = walk()
    del story.tables["block_requests"]
    story.missing.add("block_requests")
    found = leads(judged(story), "metadata-cold", 0.75)
    assert found.confidence < 0.6 and "requests read" not in chain(found)


def test_not_maps_that_are_read_before_data(judged: Judge) -> None:
    """Reading a file: where its blocks lie comes first, and the data are what takes the time."""
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True, reason="metadata_read")
    story.requests(180, service=10 * MS, jump=True, kind="metadata", ino=None)
    absent(judged(story), "metadata-cold")


def test_not_data_that_are_read(judged: Judge) -> None:
    story = Story(2.0).caller("read", 180, blocked=10 * MS, bytes_=128 * KIB)
    absent(judged(story.requests(180, service=10 * MS, bytes_=128 * KIB)), "metadata-cold")


def test_not_a_warm_tree(judged: Judge) -> None:
    story = Story(2.0).caller("newfstatat", 100_000, cpu=15_000, bytes_=None)
    absent(judged(story.cache(lookups=1 * MIB // 4096)), "metadata-cold")


def test_not_a_programs_own_start(judged: Judge) -> None:
    story = Story(0.5).caller("openat", 20, blocked=20 * MS, bytes_=None, reason="metadata_read")
    story.requests(20, service=20 * MS, kind="metadata", ino=None, jump=True)
    absent(judged(story), "metadata-cold")
