"""not-io: nothing is at work."""

import pytest

from iowhy.tables import calls
from iowhy.whys.causes import not_io
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, leads
from ..made import MS, Story


def test_a_timer(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("clock_nanosleep", 0.97)
    found = leads(judged(story), "not-io", 0.95)
    assert "waiting for a timer" in found.summary


def test_the_network(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("recvfrom", 0.97)
    assert "waiting for a peer" in leads(judged(story), "not-io", 0.95).summary


def test_not_a_parent_that_waits_for_a_busy_child(judged: Judge) -> None:
    story = Story(2.0).thread(10, 10).thread(11, 11, user=0.95).idle_call("wait4")
    verdict = judged(story)
    absent(verdict, "not-io")
    leads(verdict, "cpu-serial", 0.9)


def test_not_asynchronous_io_that_is_reaped(judged: Judge) -> None:
    story = Story(2.0).caller(
        "io_getevents", 190, sleeping=10 * MS, bytes_=None, ino=None, gap="idle"
    )
    story.requests(1520, service=10 * MS, depth=8, jump=True)
    verdict = judged(story)
    absent(verdict, "not-io")
    leads(verdict, "device-saturated", 0.9)


def parent_and_child(child_recorded: bool) -> Story:
    """A shell waits for a child that sleeps."""
    story = Story(2.0).thread(10, 10, user=0.02).idle_call("wait4", 0.98)
    if child_recorded:
        story.add("threads", tid=11, tgid=11, ppid=10, comm="sleep", start_ns=0)
        story.idle_call("clock_nanosleep", 0.97, tid=11)
    return story


def test_a_child_in_the_recording_says_what_is_waited_for(judged: Judge) -> None:
    found = leads(judged(parent_and_child(True)), "not-io", 0.95)
    assert "waiting for a timer" in found.summary
    assert not any("run -a" in remedy for remedy in found.remedies)


def test_of_many_children_those_of_one_name_are_waited_for_together(judged: Judge) -> None:
    """A script sleeps, and prints what took more of a CPU, again and again."""
    story = Story(2.0).thread(10, 10, user=0.02).idle_call("wait4", 0.98)
    for number in range(20):
        story.thread(20 + number, 20 + number, user=0.001).idle_call(
            "clock_nanosleep", 0.048, tid=20 + number
        )
        story.thread(50 + number, 50 + number, user=0.002).idle_call(
            "poll", 0.0005, tid=50 + number
        )
    for row in (
        *story.tables["threads"],
        *story.tables["thread_time"],
        *story.tables["syscall_totals"],
    ):
        row["tgid"] = row["tid"]
    for row in story.tables["threads"]:
        row["ppid"] = None if row["tid"] == 10 else 10
        row["comm"] = "sh" if row["tid"] == 10 else "pauses" if row["tid"] < 50 else "prints"  # type: ignore[operator]
    found = leads(judged(story), "not-io", 0.9)
    assert "that pauses sets" in found.summary and tells(chain(found), "by pauses")
    assert "pauses" in found.remedies[0]


def test_a_child_that_is_not_followed_can_be(judged: Judge) -> None:
    found = leads(judged(parent_and_child(False)), "not-io", 0.95)
    assert "waiting for a child process" in found.summary
    assert any("run -a" in remedy for remedy in found.remedies)


def test_a_file_lock_is_named_though_the_call_is_not_one_of_idleness(judged: Judge) -> None:
    story = Story(2.0).caller("flock", 2, sleeping=950 * MS, cpu=1_000, bytes_=None, gap_share=0.0)
    found = leads(judged(story), "not-io", 0.9)
    assert tells(chain(found), "flock", "2 calls") and "a lock on a file" in found.summary
    assert not any("not known" in text for text in found.lowered_by)


def test_a_call_that_explains_next_to_nothing_is_not_what_is_waited_for(judged: Judge) -> None:
    """A moment in futex beside seconds of which no call is known: those are not for another thread."""
    story = Story(2.0).thread(user=0.02).idle_call("futex", 0.0001)
    found = leads(judged(story), "not-io", 0.95)
    assert "futex" not in chain(found) and "for another thread" not in found.summary
    assert found.lowered_by == ("which call it sleeps in is not known",)


def test_a_lock_is_named_beside_a_moment_in_another_call(judged: Judge) -> None:
    story = Story(2.0).caller("flock", 2, sleeping=950 * MS, cpu=1_000, bytes_=None, gap_share=0.0)
    found = leads(judged(story.idle_call("futex", 0.0001)), "not-io", 0.9)
    assert tells(chain(found), "flock", "2 calls")


def test_of_calls_that_last_all_the_time_another_recording_of_it_tells_no_more(
    judged: Judge,
) -> None:
    found = leads(judged(Story(2.0).thread(user=0.02)), "not-io", 0.95)
    assert any("Record for longer" in remedy for remedy in found.remedies)
    assert not any("in which calls" in remedy for remedy in found.remedies)
    # Where calls are not recorded at all it does.
    story = Story(2.0).thread(user=0.02)
    story.missing.add("syscalls")
    assert any(
        "in which calls" in remedy for remedy in leads(judged(story), "not-io", 0.95).remedies
    )


def test_a_lock_on_a_file_is_the_call_that_it_sleeps_in(judged: Judge) -> None:
    for name in ("flock", "fcntl"):
        found = leads(judged(Story(2.0).thread(user=0.02).idle_call(name, 0.97)), "not-io", 0.9)
        assert f"in {name}: " in chain(found)
        assert "a lock on a file that another process holds" in found.summary
        assert found.lowered_by == ()


def piped() -> Story:
    """A program that sleeps in select between two writes, and who reads what it writes, which works more."""
    story = Story(2.0).thread(10, 10, user=0.01).idle_call("pselect6", 0.95)
    story.caller("read", 100, tid=11, sleeping=19 * MS, ino=400, gap_share=0.5)
    story.file(400, "pipe:[1]", kind="pipe")
    for row in (*story.tables["threads"], *story.tables["thread_time"], *story.tables["syscalls"]):
        row["tgid"] = row["tid"]
    for row in story.tables["threads"]:
        row["comm"] = "limiter" if row["tid"] == 10 else "reader"
    return story


def test_of_a_pipe_whoever_fills_it_sets_the_pace(judged: Judge) -> None:
    found = leads(judged(piped()), "not-io", 0.85)
    assert "a timer that limiter sets itself" in found.summary
    assert tells(chain(found), "pselect6", "by limiter") and "limiter" in found.remedies[0]
    assert found.gain == found.share


def test_who_has_a_peer_may_wait_for_it(judged: Judge) -> None:
    story = piped()
    story.idle_call("recvmsg", 0.001)
    for row in story.tables["syscall_totals"]:
        row["tgid"] = 10
    found = leads(judged(story), "not-io", 0.85)
    assert "limiter sets" not in found.summary and "ss -tnp" in found.remedies[0]


@pytest.mark.parametrize(
    ("mode", "calls", "idles"),
    [
        ("attach", ("epoll_wait",), True), ("attach", (), True), ("run", ("epoll_wait", "accept4"), True),
        ("run", ("read", "inotify_add_watch"), True), ("run", ("epoll_wait",), False), ("attach", ("flock",), False),
        ("attach", ("clock_nanosleep",), False), ("attach", ("epoll_wait", "connect"), False),
    ],
)  # fmt: skip
def test_a_server_without_work_loses_no_time(
    judged: Judge, mode: str, calls: tuple[str, ...], idles: bool
) -> None:
    story = Story(2.0).thread(user=0.02)
    story.mode = mode
    for number, name in enumerate(calls):
        story.idle_call(name, 0.0001 if number else 0.97)
    verdict = judged(story)
    assert (verdict.findings[0].cause == "healthy") is idles
    assert verdict.findings[0].gain == pytest.approx(0.0 if idles else 0.98, abs=0.03)


def test_a_server_s_work_is_judged_by_the_time_that_it_had_any(judged: Judge) -> None:
    """It syncs in most of the tenth of the time in which a client asks for something."""
    story = Story(4.0).caller(
        "fsync", 100, blocked=4 * MS, reason="device_flush", bytes_=None, gap_share=0.0
    )
    story.requests(100, op="write").flushes(100, 3 * MS).idle_call("epoll_wait", 0.8)
    story.mode = "attach"
    verdict = judged(story)
    assert verdict.findings[0].cause in ("sync-storm", "flush-cost"), verdict.answer
    assert "No single cause" not in verdict.answer


def test_what_is_said_of_a_call_is_of_one_that_idles() -> None:
    """The words of a call that counts as none of these would never be said."""
    idle = {name for name, one in calls().items() if one.kind == "idle"}
    assert set(not_io._WORDS) <= idle
