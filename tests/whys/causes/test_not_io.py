"""not-io: nothing is at work."""

import pytest

from iowhy.tables import calls
from iowhy.whys.causes import not_io
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, fixes_of, leads, links_of, sentence
from ..made import FS, MS, START, Story


def test_a_timer(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("clock_nanosleep", 0.97)
    found = leads(judged(story), "not-io", 0.95)
    assert str(sentence(found.summary).values["what"]).startswith("for a timer")


def test_the_network(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("recvfrom", 0.97)
    found = leads(judged(story), "not-io", 0.95)
    assert sentence(found.summary).values["what"] == "for a peer"


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
    assert str(sentence(found.summary).values["what"]).startswith("for a timer")
    assert "not-io.record-all" not in fixes_of(found)


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
    assert tells(found.summary, "pauses") and tells(chain(found), "by pauses")
    assert "pauses" in found.remedies[0]


def test_a_child_that_is_not_followed_can_be(judged: Judge) -> None:
    found = leads(judged(parent_and_child(False)), "not-io", 0.95)
    assert sentence(found.summary).values["what"] == "for a child process"
    assert "not-io.record-all" in fixes_of(found)


def test_a_file_lock_is_named_though_the_call_is_not_one_of_idleness(judged: Judge) -> None:
    story = Story(2.0).caller("flock", 2, sleeping=950 * MS, cpu=1_000, bytes_=None, gap_share=0.0)
    found = leads(judged(story), "not-io", 0.9)
    assert tells(chain(found), "flock", "2 calls")
    assert "lock-file.see-holder" in fixes_of(found)
    assert not any("not known" in text for text in found.lowered_by)


def test_a_call_that_explains_next_to_nothing_is_not_what_is_waited_for(judged: Judge) -> None:
    """A moment in futex beside seconds of which no call is known: those are not for another thread."""
    story = Story(2.0).thread(user=0.02).idle_call("futex", 0.0001)
    found = leads(judged(story), "not-io", 0.95)
    assert "futex" not in chain(found) and sentence(found.summary).id == "not-io.sleeps"
    assert len(found.lowered_by) == 1


def test_a_lock_is_named_beside_a_moment_in_another_call(judged: Judge) -> None:
    story = Story(2.0).caller("flock", 2, sleeping=950 * MS, cpu=1_000, bytes_=None, gap_share=0.0)
    found = leads(judged(story.idle_call("futex", 0.0001)), "not-io", 0.9)
    assert tells(chain(found), "flock", "2 calls")


def test_of_calls_that_last_all_the_time_another_recording_of_it_tells_no_more(
    judged: Judge,
) -> None:
    found = leads(judged(Story(2.0).thread(user=0.02)), "not-io", 0.95)
    assert "not-io.record-longer" in fixes_of(found)
    assert "not-io.record-calls" not in fixes_of(found)
    # Where calls are not recorded at all it does.
    story = Story(2.0).thread(user=0.02)
    story.missing.add("syscalls")
    assert "not-io.record-calls" in fixes_of(leads(judged(story), "not-io", 0.95))


def test_a_lock_on_a_file_is_the_call_that_it_sleeps_in(judged: Judge) -> None:
    for name in ("flock", "fcntl"):
        found = leads(judged(Story(2.0).thread(user=0.02).idle_call(name, 0.97)), "not-io", 0.9)
        assert f"in {name}: " in chain(found)
        assert fixes_of(found)[0] == "lock-file.see-holder"
        assert found.lowered_by == ()


def locked(*holders: int | None) -> Story:
    """It waits for a lock on a file for all its time, each time of another holder; 77 is backup."""
    story = Story(2.0).thread(user=0.02).idle_call("flock", 0.97).file(7, "/srv/jobs.lock")
    for number, holder in enumerate(holders):
        story.add("lock_waits", ts_ns=START + number, tgid=10, tid=10, dev=FS, ino=7, holder_tgid=holder)  # fmt: skip
    story.add("neighbours", tgid=77, comm="backup", container=None, title=None)
    return story


def test_who_holds_a_lock_is_named_with_its_file(judged: Judge) -> None:
    found = leads(judged(locked(77, 77)), "not-io", 0.9)
    said = sentence(found.summary)
    assert said.id == "lock-file.held"
    assert (said.values["path"], said.values["who"]) == ("/srv/jobs.lock", "backup (77)")
    assert fixes_of(found)[:2] == ["lock-file.release-sooner", "lock-file.record-holder"]
    assert "run -p 77 " in found.remedies[1]


@pytest.mark.parametrize(
    ("holders", "said", "fix"),
    [
        # In turn, and of these the one that did so most often is looked at.
        ((77, 78, 77), "lock-file.held", "lock-file.release-sooner"),
        # A lock of a client of a file server.
        ((None,), "not-io.waits", "lock-file.see-holder"),
        # A kernel that does not show it.
        ((), "not-io.waits", "lock-file.see-holder"),
    ],
)
def test_whose_a_lock_is_may_change_or_not_be_known(
    holders: tuple[int | None, ...], said: str, fix: str, judged: Judge
) -> None:
    found = leads(judged(locked(*holders)), "not-io", 0.9)
    assert sentence(found.summary).id == said and fixes_of(found)[0] == fix
    assert sentence(found.summary).values.get("holders") == (2 if len(holders) > 1 else None)


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
    assert tells(found.summary, "limiter")
    assert tells(chain(found), "pselect6", "by limiter") and "limiter" in found.remedies[0]
    assert found.gain == found.share


@pytest.mark.parametrize("connected", [True, False])
def test_threads_that_wait_for_each_other_wait_for_what_one_of_them_polls(
    connected: bool, judged: Judge
) -> None:
    """A Go program: any of its threads polls, the others sleep until that has something for them."""
    story = Story(2.0).thread(10, 10, user=0.02).idle_call("futex", 0.98)
    for tid in (11, 12):
        story.thread(tid, 10, user=0.01).idle_call("futex", 0.5, tid=tid)
        story.idle_call("epoll_pwait", 0.48, tid=tid)
    if connected:
        story.add("connections", ts_ns=START, tgid=10, tid=10, address="10.0.0.7", port=443)
    found = leads(judged(story), "not-io", 0.85)
    said = sentence(found.summary).values
    assert (said["call"] == "epoll_pwait" and "10.0.0.7" in str(said["what"])) is connected


@pytest.mark.parametrize(
    ("argv", "option"),
    [
        (("aria2c", "--max-overall-download-limit=2M", "http://x/f"), True),
        (("curl", "--limit-rate", "1M", "http://x/f"), True),
        (("cpulimit", "-l", "30", "gzip", "f"), True),
        (("psql", "--limit", "10"), False),
    ],
)
def test_what_was_typed_to_make_it_slower_is_left_out_first(
    argv: tuple[str, ...], option: bool, judged: Judge
) -> None:
    story = Story(2.0, argv=argv).thread(10, 10, user=0.02).idle_call("poll", 0.98)
    assert (fixes_of(judged(story).findings[0])[0] == "not-io.without-limit") is option


def test_who_has_a_peer_may_wait_for_it(judged: Judge) -> None:
    story = piped()
    story.idle_call("recvmsg", 0.001)
    for row in story.tables["syscall_totals"]:
        row["tgid"] = 10
    found = leads(judged(story), "not-io", 0.85)
    assert "limiter sets" not in found.summary and "ss -tunp" in found.remedies[0]


@pytest.mark.parametrize(
    ("address", "written", "id_"),
    [
        ("127.0.0.1", "127.0.0.1:443", "not-io.local-peer"),
        ("::1", "[::1]:443", "not-io.local-peer"),
        ("10.0.0.9", "10.0.0.9:443", "not-io.remote-peer"),
    ],
)
def test_a_peer_that_it_connected_to_has_an_address(
    judged: Judge, address: str, written: str, id_: str
) -> None:
    """The one that it asked most; another process's is not its own."""
    story = Story(2.0).thread(user=0.02).idle_call("poll", 0.97)
    for number, (tgid, other) in enumerate(
        [(10, "10.0.0.1"), (10, address), (10, address), (11, "10.0.0.2"), (11, "10.0.0.2")]
    ):
        story.add("connections", ts_ns=START + number, tgid=tgid, tid=tgid, address=other, port=443)
    for row in story.tables["syscall_totals"]:
        row["tgid"] = 10
    do = leads(judged(story), "not-io", 0.95).fixes[0].do
    assert (do.id, do.values["peer"]) == (id_, written)


@pytest.mark.parametrize(
    ("mode", "calls", "idles"),
    [
        ("attach", ("epoll_wait",), True), ("attach", (), True), ("run", ("epoll_wait", "accept4"), True),
        ("run", ("read", "inotify_add_watch"), True), ("run", ("epoll_wait",), False), ("attach", ("flock",), False),
        ("attach", ("clock_nanosleep",), False), ("attach", ("epoll_wait", "connect"), False),
        ("run", ("poll", "listen", "connect"), True), ("run", ("poll", "listen", "accept4", "connect"), False),
        ("run", ("wait4", "listen"), False),
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


@pytest.mark.parametrize(
    ("call", "began", "share", "idles"),
    [
        # What was there already, whatever it waits for: threads that wait for each other, peers and timers of their own.
        ("futex", False, 0.99, True), ("clock_nanosleep", False, 0.99, True), ("poll", False, 0.99, True),
        # What began meanwhile: somebody waits for the answer that it waits for, or for the lock.
        ("poll", True, 0.9, False), ("recvfrom", True, 0.9, False), ("flock", True, 0.9, False),
        # But not for who sleeps as he likes, waits for his own threads or for clients, or is soon done.
        ("clock_nanosleep", True, 0.9, True), ("futex", True, 0.9, True), ("accept4", True, 0.9, True),
        ("poll", True, 0.2, True),
    ],
)  # fmt: skip
def test_a_machine_on_which_nobody_waits_for_what_sleeps_is_idle(
    judged: Judge, call: str, began: bool, share: float, idles: bool
) -> None:
    story = Story(4.0).thread(user=0.004).idle_call("futex", 0.99).idle_call("connect", 0.0001)
    story.mode = "machine"
    story.thread(20, 20, user=0.001).idle_call(call, share, tid=20)
    story.tables["syscall_totals"][-1]["tgid"] = 20
    story.tables["threads"][-1]["start_ns"] = START + (200 * MS if began else 0)
    verdict = judged(story)
    assert (verdict.findings[0].cause == "healthy") is idles
    assert (verdict.findings[0].gain > 0.9) is not idles


def test_a_database_s_server_connects_only_to_look_up_users(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.02).idle_call("epoll_wait", 0.97).idle_call("connect", 0.0001)
    story.mode = "attach"
    story.tables["threads"][0]["comm"] = "postgres"
    assert judged(story).findings[0].cause == "healthy"


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


def tries(
    call: str, ret: int, *, path: str = "/srv/mbox.lock", last: int = 0, pauses: int = 4
) -> Story:
    """It sleeps a second four times, and before each pause a call ends so; in the end it ends as `last` says."""
    story = Story(4.0).thread(user=0.02).idle_call("clock_nanosleep", 0.97)
    story.file(77, path)
    for number in range(pauses + 1):
        for name, ino in ((call, None), ("openat", 77)):
            story.add(
                "syscalls", ts_ns=START + number * 990 * MS, dur_ns=1000, cpu_ns=1000, runnable_ns=0, blocked_ns=0, sleeping_ns=0,
                tgid=10, tid=10, name=name, dev=None if ino is None else FS, ino=ino,
                ret=3 if name != call else last if number == pauses else ret,
            )  # fmt: skip
    return story


@pytest.mark.parametrize("call", ["link", "mkdir", "openat"])
def test_a_lock_file_that_is_looked_for_after_each_pause(judged: Judge, call: str) -> None:
    found = leads(judged(tries(call, -17)), "not-io", 0.9)
    assert sentence(found.summary).id == "lock-file.waits"
    assert sentence(found.summary).values["path"] == "/srv/mbox.lock"
    assert fixes_of(found)[0] == "lock-file.remove-path" and "lock-file.tries" in links_of(found)


def test_a_lock_file_without_a_name(judged: Judge) -> None:
    found = leads(judged(tries("link", -17, path="/srv/tmp3")), "not-io", 0.9)
    assert sentence(found.summary).values["path"] is None
    assert fixes_of(found) == ["lock-file.which", "lock-file.remove"]


@pytest.mark.parametrize(
    "story",
    [
        tries("link", 0),  # nothing is in its way
        tries("link", -2),  # it has another reason
        tries("mkdir", -17, last=-17),  # a folder that is there anyway
        tries("link", -17, pauses=1),  # most pauses are for something else
    ],
)
def test_a_pause_of_its_own(judged: Judge, story: Story) -> None:
    found = leads(judged(story), "not-io", 0.9)
    assert fixes_of(found)[0] == "not-io.shorten-pause"
