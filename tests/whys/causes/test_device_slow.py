"""device-slow: late answers with a short queue."""

import pytest

from iowhy.whys.slow_device import look
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, leads
from ..made import DISK, FS, KIB, MIB, MS, START, S, Story
from ..made.pasted import disk

OTHER = 9 << 20


def test_every_request_is_late(judged: Judge) -> None:
    story = Story(4.0).caller("pread64", 90, blocked=40 * MS, jump=True)
    story.requests(90, service=40 * MS, jump=True)
    leads(judged(story), "device-slow", 0.85)


def test_a_few_outliers_take_the_time(judged: Judge) -> None:
    story = Story(4.0).caller("pread64", 4, blocked=800 * MS)
    story.requests(400, service=MS // 2).requests(4, service=800 * MS, first=MS)
    found = leads(judged(story), "device-slow", 0.6)
    assert tells(chain(found), "4 requests", "100 ms")


def late_by_60_ms(*, turns: bool) -> Story:
    story = Story(4.0).device(rotational=turns).caller("pread64", 50, blocked=60 * MS)
    return story.requests(400, service=MS // 2).requests(50, service=60 * MS, first=MS)


def test_what_is_late_depends_on_whether_it_turns(judged: Judge) -> None:
    found = leads(judged(late_by_60_ms(turns=False)), "device-slow", 0.6)
    assert [one.value for one in found.chain if one.statement.id == "device-slow.late"]
    absent(judged(late_by_60_ms(turns=True)), "device-slow")


def test_not_one_late_write_among_many_flushes(judged: Judge) -> None:
    """It takes most of what reads and writes take, which is hardly any of what is waited for."""
    story = Story(6.0).device(rotational=False)
    story.caller("fsync", 125, blocked=40 * MS, bytes_=None, reason="device_flush")
    story.requests(300, op="write", service=MS // 5).requests(
        1, op="write", service=70 * MS, first=MS
    )
    verdict = judged(story.flushes(250, 19 * MS))
    absent(verdict, "device-slow")
    assert leads(verdict, "flush-cost", 0.7)


def test_not_what_waits_above_its_queue(judged: Judge) -> None:
    """A few late answers take most of its time, and hardly any of that in which its group holds the reader back."""
    story = Story(2.0).device(rotational=False)
    story.caller("read", 100, blocked=19 * MS, bytes_=128 * KIB, reason="direct_io", gap="idle")
    story.requests(100, bytes_=128 * KIB, service=MS // 2).requests(3, service=30 * MS, first=MS)
    story.group(io_limit_read_bytes_per_s=7_000_000)
    absent(judged(story), "device-slow")


def test_not_a_disk_that_seeks(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 190, blocked=10 * MS, jump=True)
    story.requests(190, service=10 * MS, jump=True)
    absent(judged(story), "device-slow")


def test_not_large_requests(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 60, blocked=32 * MS, bytes_=4 * MIB)
    story.requests(60, service=32 * MS, bytes_=4 * MIB)
    absent(judged(story), "device-slow")


def test_not_a_deep_queue(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 40, blocked=48 * MS, jump=True)
    story.requests(1280, service=48 * MS, depth=32, jump=True)
    absent(judged(story), "device-slow")


def in_a_deep_queue(call: str, op: str) -> Story:
    """Some that take long among many that do not, at any time 30 and more in flight."""
    story = Story(4.0).caller(call, 40, blocked=90 * MS, jump=True)
    return story.requests(8000, op=op, service=4 * MS, depth=32, jump=True)


def that_stalls(call: str, op: str) -> Story:
    """Nothing else is answered while some take long."""
    story = in_a_deep_queue(call, op)
    story.requests(64, op=op, service=1000 * MS, depth=32, jump=True)
    rows = story.tables["block_requests"]
    stalls = [row for row in rows if row["complete_ns"] - row["queue_ns"] == 1000 * MS]
    rows[:] = stalls + [
        row
        for row in rows
        if not any(s["queue_ns"] <= row["complete_ns"] <= s["complete_ns"] for s in stalls[::32])
    ]
    return story


def test_a_deep_queue_that_stalls(judged: Judge) -> None:
    found = leads(judged(that_stalls("pread64", "read")), "device-slow", 0.7)
    assert tells(chain(found), "64 requests", "100 ms")
    assert "completes hardly any other" in chain(found)


def test_not_a_disk_that_empties_its_cache(judged: Judge) -> None:
    absent(judged(that_stalls("pwrite64", "write")), "device-slow")


def test_late_writes_are_a_part_of_the_time_that_flushes_have(judged: Judge) -> None:
    """A write takes 4 ms in most moments and 0.2 ms in some, and the flush behind each 20 ms: syncs, not a slow disk."""
    story = Story(5.0).device(rotational=False)
    story.caller("fsync", 160, blocked=24 * MS, bytes_=None, reason="journal_commit")
    story.flushes(160, 20 * MS).requests(160, op="write", service=4 * MS)
    for number, row in enumerate(story.tables["block_requests"][-160:]):
        if number // 8 % 3 == 0:
            row["complete_ns"] = int(row["issue_ns"]) + MS // 5  # type: ignore[call-overload]
    verdict = judged(story)
    assert verdict.findings[0].cause in ("flush-cost", "sync-storm"), verdict.answer
    late = [one.share for one in verdict.findings if one.cause == "device-slow"]
    assert sum(late) < 0.25


def test_not_a_deep_queue_that_takes_others_first(judged: Judge) -> None:
    story = in_a_deep_queue("pread64", "read")
    absent(judged(story.requests(800, service=150 * MS, depth=32, jump=True)), "device-slow")


def test_a_disk_a_little_slower_than_the_slowest_explains_no_more_than_that(judged: Judge) -> None:
    story = Story(4.0).caller("pread64", 170, blocked=22 * MS, jump=True)
    verdict = judged(story.requests(170, service=22 * MS, jump=True))
    leads(verdict, "random-access", 0.8)
    late = [one for one in verdict.findings if one.cause == "device-slow"]
    assert all(one.share < 0.15 for one in late), verdict.answer


@pytest.mark.parametrize(("turns", "gain"), [(False, 0.95), (True, 0.48), (None, 0.48)])
def test_what_can_be_gained_is_what_a_disk_of_its_kind_takes(
    judged: Judge, turns: bool | None, gain: float
) -> None:
    """What is still allowed to the slowest disk that turns is no bound for one that does not."""
    story = Story(4.0).device(rotational=turns).caller("pread64", 90, blocked=40 * MS, jump=True)
    found = leads(judged(story.requests(90, service=40 * MS, jump=True)), "device-slow", 0.85)
    assert found.share * gain - 0.05 < found.gain <= found.share * gain + 0.05


def test_not_the_time_in_which_it_has_no_request(judged: Judge) -> None:
    """A limit above the queue lets through four reads a second, each of which takes 50 ms."""
    story = Story(4.0).caller("pread64", 16, blocked=240 * MS, jump=True)
    story.requests(16, service=50 * MS, depth=1, jump=True)
    found = next(one for one in judged(story).findings if one.cause == "device-slow")
    assert 0.15 < found.share < 0.25


def test_when_it_answered_nobody_what_it_had_and_who_waited(judged: Judge) -> None:
    story = Story(6.0).device(rotational=False).caller("read", 1500, blocked=MS)
    story.requests(1500, service=MS).stall(0.5, 2).stall(3.5, 2)
    found = leads(judged(story), "device-slow", 0.6, 0.7)
    told = {link.statement.id: link for link in found.chain}
    assert [
        (link.statement.values["at"], round(link.value / MS), link.statement.values["asked"])
        for link in found.chain
        if link.statement.id == "slow-device.silence"
    ] == [(500 * MS, 2000, "1 read"), (3500 * MS, 2000, "1 read")]  # fmt: skip
    assert told["slow-device.waited"].value
    assert found.summary.values["times"] == 2


def long_run(stalled: float, seconds: float = 60.0) -> Story:
    """A minute that waits to read for a sixth of its time, and in which the disk answers nobody once."""
    story = Story(seconds).device(rotational=False)
    story.caller("read", 5000, blocked=2 * MS).requests(5000, service=2 * MS)
    return story.stall(30, stalled)


def test_a_moment_is_a_finding_however_little_of_the_run_it_is(judged: Judge) -> None:
    verdict = judged(long_run(2.0))
    found = next(one for one in verdict.findings if one.cause == "device-slow")
    assert found.moment and 0.02 < found.share < 0.05
    told = {link.statement.id: link for link in found.chain}
    silence = told["slow-device.silence"]
    assert (silence.statement.values["at"], silence.value) == (30 * S, 2 * S)
    assert told["slow-device.waited"].value == 2 * S
    absent(judged(long_run(0.9)), "device-slow")


def test_a_run_with_such_a_moment_is_not_healthy(judged: Judge) -> None:
    story = Story(120.0).device(rotational=False).caller("read", 200, blocked=MS, gap="sleep")
    verdict = judged(story.requests(200, service=MS).stall(60, 2))
    assert not any(one.healthy for one in verdict.findings)
    (found,) = (one for one in verdict.findings if one.cause == "device-slow")
    assert found.headline.id == "slow-device.noticed"
    assert found.headline.values["waited"] == 2 * S


def test_who_sleeps_until_its_requests_are_done_waits_for_a_silent_disk(judged: Judge) -> None:
    """A ring's thread is in no uninterruptible wait."""
    story = Story(6.0).device(rotational=False)
    story.ring("read", 400, length=14 * MS, api="libaio", asleep_in="io_getevents")
    story.requests(400, service=14 * MS, bytes_=512 * KIB)
    begin, end = START + 2 * S, START + 4 * S
    rows = story.tables["block_requests"]
    rows[:] = [row for row in rows if not begin <= row["complete_ns"] <= end]  # type: ignore[operator]
    rows.append(rows[0] | {"queue_ns": begin, "issue_ns": begin, "complete_ns": end})
    story.tables.setdefault("waits", [])
    found = leads(judged(story), "device-slow", 0.25)
    (silence,) = (one for one in found.chain if one.statement.id == "slow-device.silence")
    assert (silence.statement.values["at"], silence.value) == (2 * S, 2 * S)
    (waited,) = (one for one in found.chain if one.statement.id == "slow-device.waited")
    assert waited.value == 2 * S


def behind_flushes(longest: float) -> Story:
    """Flash flushes a hundred times for 1 ms, and once longer."""
    story = Story(6.0).device(rotational=False)
    story.caller("fdatasync", 100, blocked=MS, reason="device_flush", bytes_=None, gap="sleep")
    story.requests(200, op="write", service=MS // 4).flushes(100, MS)
    return story.stall(1, longest, "device_flush", "fdatasync", "flush")


def test_a_flush_far_longer_than_others_is_a_stall(judged: Judge) -> None:
    leads(judged(behind_flushes(4)), "device-slow", 0.6)
    absent(judged(behind_flushes(0.015)), "device-slow")


def moments(
    quick: int, slow: int, *, turns: bool = False, op: str = "read", after: float = 2.0
) -> Story:
    """Four seconds of small requests in turn: from `after` on for a second they take `slow`."""
    call = "pread64" if op == "read" else "pwrite64"
    story = (
        Story(4.0)
        .device(rotational=turns)
        .caller(call, 100, blocked=10 * MS, jump=True, reason="direct_io")
    )
    story.requests(400, op=op, service=quick, jump=True)
    for row in story.tables["block_requests"]:
        if after <= (row["queue_ns"] - START) / S < after + 1:  # type: ignore[operator]
            row["complete_ns"] = row["queue_ns"] + slow  # type: ignore[operator]
    return story


def test_slow_compared_with_its_own_quick_moments(judged: Judge) -> None:
    found = next(f for f in judged(moments(MS // 2, 8 * MS)).findings if f.cause == "device-slow")
    (said,) = (one.statement for one in found.chain if one.statement.id == "slow-device.uneven")
    assert (said.values["late"], said.values["usual"]) == (8 * MS, MS // 2)
    assert (said.values["since"], said.values["until"]) == (2000 * MS, 3000 * MS)
    absent(judged(moments(MS, 3 * MS - 1)), "device-slow")
    absent(judged(moments(MS // 20, MS)), "device-slow")


def test_not_a_disk_that_turns_nor_one_whose_cache_is_full(judged: Judge) -> None:
    absent(judged(moments(MS // 2, 8 * MS, turns=True)), "device-slow")
    assert judged(moments(MS // 2, 8 * MS, op="write")).finds("device-slow")
    absent(judged(moments(MS // 2, 8 * MS, op="write", after=3.0)), "device-slow")


def test_not_what_is_sent_behind_a_flush(judged: Judge) -> None:
    story = moments(MS // 2, 8 * MS)
    for row in list(story.tables["block_requests"]):
        if row["complete_ns"] - row["queue_ns"] == 8 * MS:  # type: ignore[operator]
            story.add(
                "block_requests",
                **row
                | {
                    "op": "flush",
                    "bytes": 0,
                    "sector": None,
                    "queue_ns": row["queue_ns"] - 1,
                    "issue_ns": row["queue_ns"] - 1,
                },
            )  # type: ignore[operator]
    absent(judged(story), "device-slow")


def twins(own: int, other: int, *, alike: bool = True) -> Story:
    """The command reads from one disk; somebody from another one, of the same size or not."""
    story = Story(4.0).caller("pread64", 400, blocked=own, jump=True, gap="sleep")
    story.tables["devices"] = []
    story.device(rotational=False, size_bytes=MIB)
    story.device(OTHER, "sdb", rotational=False, size_bytes=MIB if alike else 2 * MIB)
    story.requests(400, service=own, jump=True)
    return story.requests(400, service=other, jump=True, dev=OTHER, own=False, ino=None)


def test_slow_compared_with_its_twin(judged: Judge) -> None:
    found = leads(judged(twins(8 * MS, MS // 10)), "device-slow", 0.7)
    assert found.summary.values["twin"] == "sdb"
    absent(judged(twins(8 * MS, MS // 10, alike=False)), "device-slow")
    absent(judged(twins(8 * MS, 4 * MS)), "device-slow")


def answers_nobody(reads: float = 0.0, dev: int = DISK) -> Story:
    """Attached while a read is under way that ends neither: what was asked before is in no request, only in the disk's counters."""
    story = Story(4.0, mode="attach").thread(blocked=1.0)
    story.wait(START, 4000 * MS, "page_read", "read")
    story.requests(40, own=False, ino=None, dev=OTHER).device().device(OTHER, "sdb")
    story.add("filesystems", dev=FS, kind="ext4", mount="/", options="rw", disk_dev=DISK)
    for row in disk(
        seconds=4, reads=reads, read_bytes=4096 * reads, wait_ns=1e6, busy=1.0, depth=1, dev=dev
    ):
        story.add("disk_samples", **row | {"ts_ns": START + row["ts_ns"], "in_flight": 5})  # type: ignore[operator]
    return story


def test_a_device_that_answers_nobody(judged: Judge) -> None:
    found = leads(judged(answers_nobody()), "device-slow", 0.95)
    assert found.comes_first
    assert tells(found.summary, "sda", "on /)") and tells(chain(found), "5 requests")


def keeps_some(in_flight: int, depth: int, over_by: int | None = None) -> Story:
    """Reads are fast, and in the end one after the other gets no answer, while others go on in one of the two. `over_by`: when they
    were known to be over.
    """
    story = (
        Story(4.0)
        .caller("pread64", 1, blocked=1500 * MS)
        .requests(1000, service=MS // 4, depth=depth)
    )
    rows = story.tables["block_requests"]
    if depth > 1:
        rows[:] = [row for row in rows if row["queue_ns"] < START + 2400 * MS]
    for row in rows[-depth:] if depth > 1 else [dict(rows[624])]:
        if depth == 1:
            rows.append(row)
        row["complete_ns"], row["over_by_ns"] = None, over_by
    for row in disk(seconds=4, reads=200, read_bytes=819_200, wait_ns=1e6, busy=1.0, depth=1):
        story.add("disk_samples", **row | {"ts_ns": START + row["ts_ns"], "in_flight": in_flight})  # type: ignore[operator]
    return story


@pytest.mark.parametrize(
    ("in_flight", "depth", "found"), [(1, 1, True), (0, 1, False), (8, 8, True), (7, 8, False)]
)
def test_requests_without_an_end_that_the_device_still_has(
    judged: Judge, in_flight: int, depth: int, found: bool
) -> None:
    """If it has fewer in flight, their ends were not seen."""
    assert judged(keeps_some(in_flight, depth)).finds("device-slow") is found


def test_not_requests_that_are_known_to_be_over(judged: Judge) -> None:
    absent(judged(keeps_some(1, 1, over_by=START + 2600 * MS)), "device-slow")


def test_not_a_device_that_answers_others_nor_one_that_nobody_waits_for(judged: Judge) -> None:
    absent(judged(answers_nobody(reads=100)), "device-slow")
    absent(judged(answers_nobody(dev=OTHER)), "device-slow")


def test_a_device_s_name_in_a_command_is_one_word() -> None:
    """It is what a pasted text says."""
    assert dict(look("$(id)").do.values)["word"] == "'$(id)'"
