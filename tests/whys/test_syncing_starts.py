"""Syncs that come with each start of a program, in the loop of a script."""

import pytest

from .conftest import Judge, fixes_of, leads
from .made import KIB, MS, START, Story


def loop(
    processes: int = 20, files: int = 5, *, starter: str = "bash", uneven: bool = False
) -> Story:
    """So many processes share 200 syncs, each of its files as often as the others."""
    story = Story(4.0).file(201, "/usr/bin/notmuch")
    for number in range(files):
        story.file(300 + number, f"/srv/xapian/{number}")
    story.caller(
        "fdatasync", 200, blocked=15 * MS, reason="device_flush", bytes_=None,
        ino=[300 + number for number in range(files)],
    )  # fmt: skip
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 12 * MS)
    story.argv = ("bash", "each.sh")
    first = {**story.tables["threads"][0], "comm": "notmuch"}
    story.tables["threads"][0]["comm"] = starter
    each = 200 // processes
    for number, call in enumerate(story.tables["syscalls"]):
        at = min(number // each, processes - 1)
        if uneven and at % 2:
            at -= number % each % 2
        call["tid"] = call["tgid"] = 1000 + at
    for number in range(processes):
        tid = 1000 + number
        story.tables["threads"].append({**first, "tid": tid, "tgid": tid, "ppid": 10})
    return story


def test_one_start_for_all_comes_before_no_syncs_at_all(judged: Judge) -> None:
    found = leads(judged(loop()), "flush-cost", 0.5)
    assert fixes_of(found)[:2] == ["shared.one-start", "shared.without-syncs"]
    assert found.fixes[0].do.values["processes"] == 20 and found.fixes[0].do.values["syncs"] == 10
    assert found.gain / found.share == pytest.approx(1 - 1 / 20)


def test_also_where_each_syncs_once(judged: Judge) -> None:
    found = leads(judged(loop(200, 1)), "flush-cost", 0.5)
    assert fixes_of(found)[0] == "shared.one-start"


@pytest.mark.parametrize(
    "story",
    [
        loop(4),  # some commands of a script
        loop(20, 1),  # ten syncs of one file: for each thing that it does
        loop(uneven=True),  # as many as there is to do
        loop(starter="notmuch"),  # a server's processes
        loop(starter="make"),  # what decides is no script of one's own
    ],
)
def test_not_what_comes_with_the_work(judged: Judge, story: Story) -> None:
    assert "shared.one-start" not in fixes_of(leads(judged(story), "flush-cost", 0.5))


@pytest.mark.parametrize(("each", "goes"), [(10 * MS, True), (16 * MS, False)])
def test_what_short_ones_compute_is_their_start(judged: Judge, each: int, goes: bool) -> None:
    """A process that computes long does something of its own."""
    processes = 100
    story = loop(processes=processes)
    for row in story.tables["thread_time"]:
        row["sleeping_ns"] += row["cpu_user_ns"]
        row["cpu_user_ns"] = 0
    step = story.elapsed // processes
    for number in range(processes):
        story.add(
            "thread_time", ts_ns=START + number * step, interval_ns=step, tgid=1000 + number, tid=1000 + number,
            cpu_user_ns=each, cpu_kernel_ns=0, runnable_ns=0, blocked_ns=0, sleeping_ns=step - each,
        )  # fmt: skip
    found = leads(judged(story), "flush-cost", 0.5)
    assert ("cpu-serial" in dict(found.gain_with)) is goes
