"""healthy: no cause explains more than a small share."""

from pathlib import Path

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, judge_with_rows
from ..made import MS, Story, disk, pasted, samples


def test_a_server_that_does_a_little_of_all(judged: Judge) -> None:
    story = Story(2.0).thread(user=0.04, runnable=0.01).idle_call("epoll_wait", 0.05)
    # Almost all of the time belongs to a thread that no cause speaks of.
    story.caller("pread64", 100, tid=11, blocked=MS // 2, gap="idle")
    verdict = judged(story)
    assert verdict.findings[0].cause in ("not-io", "healthy")


def test_not_a_run_that_computes(judged: Judge) -> None:
    absent(judged(Story(2.0).thread(user=0.9)), "healthy")


def test_not_when_waits_have_no_known_cause(judged: Judge) -> None:
    story = Story(2.0).caller("openat", 20, blocked=90 * MS, bytes_=None, gap="idle")
    verdict = judged(story)
    absent(verdict, "healthy")
    assert tells(verdict.headline, "90 %", "1.8", "2 s")


def test_not_when_the_time_is_unexplained(judged: Judge) -> None:
    story = Story(2.0).caller("ioctl", 100, blocked=18 * MS, reason="other", io=False)
    verdict = judged(story)
    absent(verdict, "healthy")
    assert tells(verdict.headline, "90 %", "1.8", "2 s")


@pytest.mark.parametrize(
    ("depth", "healthy"), [(1, True), (8, False), (None, False)], ids=["alone", "queued", "unknown"]
)
def test_not_while_a_disk_works_and_may_have_a_queue(
    tmp_path: Path, depth: int | None, healthy: bool
) -> None:
    """Who reads and writes asynchronously waits without being counted."""
    tables = {
        "cpu_samples": samples(user=0.02, system=0.01, idle=0.97),
        "disk_samples": disk(reads=400, read_bytes=4e6, wait_ns=2 * MS, busy=0.9, depth=depth or 1),
    }
    for row in tables["disk_samples"] if depth is None else ():
        row["queue_ns"] = row["read_ns"] = None
    verdict = judge_with_rows(pasted(tmp_path / "x", tables, cpus=4))
    assert any(one.cause == "healthy" for one in verdict.findings) == healthy
