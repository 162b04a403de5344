"""One budget: the report, the verdict, its JSON and the comparison give the same nanoseconds."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iowhy.comparisons import layers
from iowhy.recordings import Recording
from iowhy.reports import run
from iowhy.sources import diagnose
from iowhy.tables import reasons
from iowhy.whys.verdict import judge
from iowhy.whys.verdict_json import as_json
from tests.examples import costly

from .made import DISK, FILE, FS, MS, START, Story, disk, pasted, samples

FIXTURES = Path(__file__).parents[1] / "sources" / "fixtures"
CALLS = (
    None, "read", "write", "fsync", "openat", "ftruncate", "sendfile", "io_submit", "io_uring_enter", "ioctl",
)  # fmt: skip
STATES = ("cpu_user_ns", "cpu_kernel_ns", "runnable_ns", "blocked_ns", "sleeping_ns")

times = st.integers(0, 900 * MS)
lengths = st.integers(1, 300 * MS)


def agree(recording: Recording) -> dict[str, tuple[int | None, int | None]]:
    """(thread_ns, elapsed_ns) of each class, after all four have given the same."""
    report = {row["class"]: row for row in run(recording, "budget").to_pylist()}
    verdict = judge(recording)
    lines = {line.cls: line for line in verdict.budget.lines}
    printed = {row["class"]: row for row in json.loads(json.dumps(as_json(verdict)))["budget"]}
    assert set(report) == set(lines)
    if not verdict.budget.known:
        assert printed == {} and {row["thread_ns"] for row in report.values()} == {None}
        return {}
    for name, line in lines.items():
        row, entry = report[name], printed[name]
        assert row["thread_ns"] == line.thread_ns == entry["thread_ns"]
        assert row["elapsed_ns"] == line.elapsed_ns == entry["elapsed_ns"]
        assert row["share_of_thread_time"] == line.share == entry["share"]
        assert row["share_of_elapsed"] == line.elapsed_share == entry["elapsed_share"]
    if verdict.elapsed_s is not None:
        compared = {part.name: part.after_s for part in layers.parts(verdict, verdict)}
        assert compared == {n: (x.elapsed_ns or 0) / 1e9 for n, x in lines.items() if x.elapsed_ns}
    return {name: (line.thread_ns, line.elapsed_ns) for name, line in lines.items()}


@st.composite
def stories(draw: st.DrawFn) -> tuple[Story, int]:
    """Threads whose states, waits, calls and requests fit together or not; and the time of all threads."""
    story = Story(draw(st.sampled_from([0.3, 1.0, 1.01])), cpus=draw(st.integers(1, 4)))
    total = 0
    for tid in range(10, 10 + draw(st.integers(1, 3))):
        at = START + draw(st.integers(0, 100 * MS))
        for length in draw(st.lists(lengths, min_size=1, max_size=4)):
            cuts = sorted(draw(st.lists(st.integers(0, length), min_size=5, max_size=5)))
            states: dict[str, object] = {
                name: b - a for name, a, b in zip(STATES, [0, *cuts], cuts, strict=False)
            }
            if draw(st.booleans()):
                states[draw(st.sampled_from(STATES))] = None
            story.add(
                "thread_time", ts_ns=at, interval_ns=length, tgid=10 + tid % 2, tid=tid, **states
            )
            total += length
            at += length + draw(st.sampled_from([0, 7 * MS]))
    for _ in range(draw(st.integers(0, 6))):
        reason = draw(st.sampled_from([*reasons(), "other", "a lock"]))
        story.wait(
            START + draw(times), draw(lengths), reason, draw(st.sampled_from(CALLS)),
            tid=draw(st.integers(10, 13)), io=draw(st.booleans()),
        )  # fmt: skip
    for _ in range(draw(st.integers(0, 4))):
        length = draw(lengths)
        asleep = draw(st.integers(0, length))
        story.add(
            "syscalls", ts_ns=START + draw(times), dur_ns=length, cpu_ns=0, runnable_ns=0,
            blocked_ns=length - asleep, sleeping_ns=asleep, tgid=10, tid=draw(st.integers(10, 12)),
            name=draw(st.sampled_from([name for name in CALLS if name])), dev=FS, ino=FILE, ret=0,
        )  # fmt: skip
    for _ in range(draw(st.integers(0, 4))):
        at = START + draw(times)
        story.add(
            "block_requests", queue_ns=at, issue_ns=at, complete_ns=at + draw(lengths), dev=DISK,
            sector=0, bytes=4096, op=draw(st.sampled_from(["read", "write"])), flags=[],
            tgid=draw(st.integers(10, 12)), tid=10, owner_kind="data", in_scope=True, error=0,
        )  # fmt: skip
    if draw(st.booleans()):
        story.add("process_io", ts_ns=START, tgid=10, read_bytes=1000, written_bytes=draw(times))
    for table in draw(
        st.sets(st.sampled_from(["waits", "syscalls", "block_requests", "cpu_samples"]))
    ):
        story.missing.add(table)
        story.tables.pop(table, None)
    return story, total


@settings(costly(5), suppress_health_check=list(HealthCheck))
@given(stories())
def test_recorded(made: tuple[Story, int]) -> None:
    story, total = made
    with tempfile.TemporaryDirectory() as folder:
        found = agree(story.made(Path(folder) / "x"))
    assert sum(ns or 0 for ns, _ in found.values()) == total
    assert sum(ns or 0 for _, ns in found.values()) == story.elapsed
    assert all((a or 0) >= 0 and (b or 0) >= 0 for a, b in found.values())


@pytest.mark.parametrize(
    "files",
    [
        ("traces/strace-f-ttt-T-y.txt",),
        ("traces/strace-c-w.txt",),
        ("traces/strace-c.txt",),
        ("case5-new-kernel.latencytop.txt",),
        ("case1-sparse.curt.txt",),
        ("build-j2.freebsd-vmstat.txt",),
        ("vmstat-4-wide-active.txt", "iostat-12-x.txt"),
        ("pagecache-large.iostat.txt", "pagecache-large.cachestat.txt"),
        ("traces/ftrace.txt",),
        ("fio-3.json",),
    ],
)
def test_pasted(files: tuple[str, ...], tmp_path: Path) -> None:
    made = diagnose.diagnose([str(FIXTURES / file) for file in files], tmp_path / "x.iowhy")
    found = agree(made.recording)
    for ns in found.values():
        assert ns[0] is None or ns[0] >= 0


def test_evidence_that_counts_no_threads_has_no_thread_time(tmp_path: Path) -> None:
    """A machine's CPUs are no threads: their time is unknown, not 0."""
    tables = {
        "cpu_samples": samples(user=0.3, system=0.1, idle=0.2, iowait=0.4),
        "disk_samples": disk(reads=100, read_bytes=1e6, wait_ns=MS, busy=0.9, depth=1),
    }
    found = agree(pasted(tmp_path / "x", tables, cpus=1))
    assert {ns for ns, _ in found.values()} == {None}
    elapsed = {name: ns for name, (_, ns) in found.items() if ns}
    assert elapsed == {
        "on-CPU user": 3_000_000_000,
        "on-CPU kernel": 1_000_000_000,
        "waiting to read": 4_000_000_000,
        "idle": 2_000_000_000,
    }
