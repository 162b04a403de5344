"""small-requests: little per call."""

from pathlib import Path

import pytest

from tests.numbers_told import tells

from ..conftest import (
    Judge,
    absent,
    chain,
    finding,
    fixes_of,
    judge_with_rows,
    leads,
    links_of,
)
from ..made import FS, KIB, MS, START, Row, Story, job


def test_bytes_at_a_time_cost_the_cpu(judged: Judge) -> None:
    story = Story(1.0).caller("write", 12_000, cpu=60_000, bytes_=1)
    found = leads(judged(story), "small-requests", 0.6, 0.8)
    assert found.remedies and "O_DIRECT" not in " ".join(found.remedies)


def test_the_time_between_tiny_calls_goes_with_them(judged: Judge) -> None:
    """An interpreter makes call after call; a program that computes with what it gets keeps its time."""
    fast = Story(0.25).caller("read", 100_000, cpu=1_000, bytes_=1, blocked=0)
    leads(judged(fast), "small-requests", 0.95)
    slow = Story(0.25).caller("read", 25_000, cpu=7_500, bytes_=1, blocked=0)
    leads(judged(slow), "small-requests", 0.7, 0.8)


@pytest.mark.parametrize(
    ("name", "bytes_", "gain"), [("read", 1, 0.98), ("read", 100, 0.56), ("write", 1, 0.56)]
)
def test_what_is_computed_on_their_bytes_remains(
    judged: Judge, name: str, bytes_: int, gain: float
) -> None:
    """1.5 µs of the program's own between two: making a call takes less, and there is nothing to compute on one byte that is read."""
    story = Story(0.25).caller(name, 100_000, cpu=1_000, bytes_=bytes_, blocked=0)
    assert leads(judged(story), "small-requests", 0.9).gain == pytest.approx(gain, abs=0.04)


def test_the_calls_that_are_tiny_are_to_be_larger(judged: Judge) -> None:
    """A filter that reads a byte at a time and writes lines; and one that does both alike."""
    story = Story(0.25).caller("read", 100_000, cpu=1_000, bytes_=1, ino=5)
    story.caller("write", 2_500, tid=11, cpu=1_000, bytes_=30, ino=6, gap="idle")
    found = leads(judged(story.file(5, "/in").file(6, "/out")), "small-requests", 0.9)
    assert dict(found.fixes[0].do.values)["data"] == "/in"
    both = Story(0.25).caller("read", 100_000, cpu=1_000, bytes_=1, ino=5)
    both.caller("write", 50_000, tid=11, cpu=1_000, bytes_=1, ino=6, gap="idle")
    found = leads(judged(both.file(5, "/in").file(6, "/out")), "small-requests", 0.9)
    assert "/" not in str(dict(found.fixes[0].do.values)["data"])


def test_what_goes_to_a_device_is_called_output(judged: Judge) -> None:
    """A filter that writes to /dev/null, or a terminal: the file that it reads is not to be written."""
    story = Story(0.25).caller("write", 100_000, cpu=1_000, bytes_=3, ino=6)
    story.caller("read", 50, tid=11, cpu=1_000, bytes_=4 * KIB, ino=5, gap="idle").file(5, "/in")
    story.add("files", dev=FS, ino=6, path="/dev/null", kind="device")
    found = leads(judged(story), "small-requests", 0.9)
    assert dict(found.fixes[0].do.values)["data"] == "its output"


@pytest.mark.parametrize("anew", [True, False])
def test_opening_a_file_for_each_of_them_goes_with_them(anew: bool, judged: Judge) -> None:
    """A script that appends a row at a time; one that opens other files meanwhile needs these."""
    story = Story(1.0).caller("write", 25_000, cpu=10_000, bytes_=10, ino=5, gap="idle")
    inodes = [5] if anew else list(range(1_000, 26_000))
    story.caller("openat", 25_000, tid=11, cpu=20_000, bytes_=None, ino=[*inodes], gap="idle")
    for name, each in (("openat", 20_000), ("write", 10_000), ("close", 8_000)):
        story.add(
            "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=10, name=name,
            calls=25_000, errors=0, total_ns=25_000 * each, cpu_ns=25_000 * each,
        )  # fmt: skip
    found = finding(judged(story.file(5, "/out")), "small-requests")
    assert found is not None
    assert (found.fixes[0].do.id == "small-requests.keep-open") == anew
    if anew:
        assert found.share > 0.6
    else:
        assert found.share < 0.4


def test_who_makes_fewer_calls_waits_for_a_cpu_less(judged: Judge) -> None:
    """Others keep the CPUs busy: what it waits for them is for these calls, as its computing is."""
    story = Story(0.25, cpus=2).caller("write", 50_000, cpu=1_000, bytes_=2, runnable=3_500)
    found = leads(judged(story.machine(busy=1.0)), "small-requests", 0.9)
    assert "small-requests.waits-for-cpu" in links_of(found)


def test_who_typed_somebody_elses_program_gives_it_an_option(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1900, blocked=MS - 10_000, bytes_=4 * KIB, reason="direct_io")
    story.requests(1900, service=MS - 10_000).argv = ("/usr/sbin/badblocks", "-c", "1", "/dev/sda")
    assert fixes_of(leads(judged(story), "small-requests", 0.85)) == ["shared.larger-by-option"]


def test_direct_reads_in_order_of_4_kib(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1900, blocked=MS - 10_000, bytes_=4 * KIB, reason="direct_io")
    story.requests(1900, service=MS - 10_000)
    found = leads(judged(story), "small-requests", 0.85)
    assert "without O_DIRECT" in " ".join(found.remedies)


def test_what_small_direct_calls_take_of_a_cpu_goes_with_them(judged: Judge) -> None:
    """They copy nothing: 10 µs of each are the way to the device and back."""
    story = Story(2.0).caller(
        "read", 50_000, blocked=28_000, cpu=10_000, bytes_=4 * KIB, reason="direct_io"
    )
    found = leads(judged(story.requests(50_000, service=28_000)), "small-requests", 0.9)
    assert any(tells(link.statement, "25 %") for link in found.chain)
    assert found.gain == pytest.approx(0.74, abs=0.03)


def test_what_calls_through_the_cache_take_of_a_cpu_stays(judged: Judge) -> None:
    story = Story(2.0).caller("read", 50_000, blocked=28_000, cpu=10_000, bytes_=4 * KIB)
    found = leads(judged(story.requests(50_000, service=28_000)), "small-requests", 0.6, 0.8)
    assert "CPU time" not in " ".join(link.statement for link in found.chain)


def test_who_uses_the_page_cache_is_not_told_to(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1900, blocked=MS - 10_000, bytes_=4 * KIB)
    found = leads(judged(story.requests(1900, service=MS - 10_000)), "small-requests", 0.85)
    assert found.remedies and "O_DIRECT" not in " ".join(found.remedies)


@pytest.mark.parametrize(("blocked", "found"), [(MS - 10_000, True), (0, False)])
def test_it_claims_what_calls_wait_and_not_page_faults(
    judged: Judge, blocked: int, found: bool
) -> None:
    """A mapped file is not asked for by calls: larger ones would not help what waits for its pages."""
    story = Story(2.0).thread(11, blocked=0.9)
    for number in range(360):
        story.wait(START + number * 5 * MS, 5 * MS, "page_read", None, tid=11)
    story.caller("read", 1900, blocked=blocked, bytes_=4 * KIB).requests(1900, service=MS - 10_000)
    verdict = judged(story)
    if not found:
        absent(verdict, "small-requests")
        return
    small, waiting = finding(verdict, "small-requests"), verdict.budget.elapsed("waiting to read")
    assert small is not None and 0.1 < small.share < 0.7 * waiting
    assert "in-these-calls" in links_of(small)


def test_not_cached_reads_of_4_kib(judged: Judge) -> None:
    story = Story(1.0).caller("pread64", 12_000, cpu=60_000, bytes_=4 * KIB)
    absent(judged(story), "small-requests")


def test_not_when_the_reads_jump(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1900, blocked=900_000, jump=True, reason="direct_io")
    story.requests(1900, service=900_000, jump=True)
    absent(judged(story), "small-requests")


def test_not_when_readahead_gathers_them(judged: Judge) -> None:
    story = Story(2.0).caller("read", 1000, blocked=MS, bytes_=4 * KIB)
    story.requests(100, service=10 * MS, bytes_=128 * KIB)
    absent(judged(story), "small-requests")


@pytest.mark.parametrize(("reason", "told"), [("page_read", False), ("direct_io", True)])
def test_not_through_the_page_cache_for_requests_that_jump(
    judged: Judge, reason: str, told: bool
) -> None:
    """Many small files, each in order: larger calls ask for no more of them. Past the cache, each call is a request."""
    story = Story(2.0).caller("read", 1900, blocked=MS - 10_000, bytes_=4 * KIB, reason=reason)
    verdict = judged(story.requests(1900, service=MS - 10_000, jump=True))
    assert (finding(verdict, "small-requests") is not None) == told


def test_a_job_of_small_reads_below_mpi_io(tmp_path: Path) -> None:
    """MPI-IO reads what lies between before it writes: 30,000 reads of 100 B, and four times as much is written."""
    posix: Row = {"read_count": 30_000, "small_reads": 29_000, "sized_reads": 30_000, "sequential_reads": 30_000, "read_bytes": 3e6, "last_read": 3e6,
                  "read_s": 64 * 40, "write_count": 30_000, "sized_writes": 30_000, "written_bytes": 4e10, "sequential_writes": 30_000, "slowest_s": 40}  # fmt: skip
    mpi: Row = {"write_count": 6_400, "collective_count": 6_400, "written_bytes": 1e10, "write_s": 64 * 41, "slowest_s": 41}  # fmt: skip
    made = job(tmp_path / "a", {"POSIX": [posix], "MPI-IO": [mpi]})
    found = leads(judge_with_rows(made), "small-requests", 0.38, 0.4)
    assert tells(chain(found), "29,000", "30,000", "100 B") and found.gain > 0.38
    assert "romio_ds_write" in found.fixes[0].do
    absent(judge_with_rows(job(tmp_path / "b", {"POSIX": [{**posix, "small_reads": 14_000}]})), "small-requests")  # fmt: skip


def test_many_files_are_not_the_one_that_it_reads(judged: Judge) -> None:
    story = Story(0.25).caller("write", 100_000, cpu=1_000, bytes_=3, ino=[6, 7, 8])
    story.caller("read", 50, tid=11, cpu=1_000, bytes_=4 * KIB, ino=5, gap="idle").file(5, "/in")
    for ino in (6, 7, 8):
        story.file(ino, f"/out/{ino}")
    found = leads(judged(story), "small-requests", 0.9)
    assert dict(found.fixes[0].do.values)["data"] == "its files"


def reopening(files: int) -> Story:
    """Each write of a few bytes has an open before it, and a close after it."""
    inodes: list[int | None] = list(range(100, 100 + files))
    story = Story(0.5).caller("write", 25_000, cpu=2_000, bytes_=6, ino=inodes)
    story.caller("openat", 25_000, tid=11, cpu=2_000, bytes_=None, ino=inodes, gap="idle")
    for name, tid in (("write", 10), ("openat", 11), ("close", 11)):
        story.add(
            "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=tid, name=name,
            calls=25_000, errors=0, total_ns=25_000 * 2_000,
        )  # fmt: skip
    return story


def test_files_that_are_opened_for_each_call_are_to_stay_open(judged: Judge) -> None:
    found = finding(judged(reopening(20)), "small-requests")
    assert found is not None
    fix = found.fixes[0].do
    assert fix.id == "small-requests.keep-open"
    assert dict(fix.values)["files"] == 20 and dict(fix.values)["opens"] == 25_000


def test_many_small_files_cannot_stay_open(judged: Judge) -> None:
    found = finding(judged(reopening(20_000)), "small-requests")
    assert found is None or found.fixes[0].do.id != "small-requests.keep-open"


@pytest.mark.parametrize(
    ("name", "errors", "goes"),
    [("pselect6", 0, True), ("recvfrom", 25_000, True), ("getpid", 0, False)],
)
def test_what_is_asked_before_each_of_these_calls_goes_as_well(
    judged: Judge, name: str, errors: int, goes: bool
) -> None:
    """Whether there is data, or in vain: not what the program does in between for itself."""
    story = Story(0.5).caller("read", 25_000, cpu=2_000, bytes_=16, gap="idle")
    story.thread(11, user=0.0, kernel=0.5)
    for one in story.tables["thread_time"]:
        one["cpu_calls_ns"] = one["cpu_kernel_ns"]
    story.add(
        "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=11, name=name,
        calls=25_000, errors=errors, total_ns=story.elapsed // 2,
    )  # fmt: skip
    found = finding(judged(story), "small-requests")
    assert (found is not None and found.share > 0.55) is goes


def test_what_each_of_many_processes_opens_cannot_stay_open(judged: Judge) -> None:
    story = reopening(20)
    for number, call in enumerate(story.tables["syscalls"]):
        call["tgid"] = 1000 + number // 20
    found = finding(judged(story), "small-requests")
    assert found is None or found.fixes[0].do.id != "small-requests.keep-open"
