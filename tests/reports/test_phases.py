"""Phases of made recordings: known ends, what each did, and a verdict of one alone."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iowhy as api
from iowhy.commands.overview import overview, overview_of
from iowhy.comparisons.comparison import compare
from iowhy.comparisons.sides import open_side
from iowhy.comparisons.stages import slowest
from iowhy.errors import Problem
from iowhy.recordings import Recording
from iowhy.recordings.writer import write_recording
from iowhy.reports import Filters, run
from iowhy.views.verdict_page import LINES, WORDS, as_document, show
from iowhy.whys import classes
from iowhy.whys.phases import in_words
from tests.command_line import invoke
from tests.one_screen import drawn
from tests.page.test_recording_page import page_of
from tests.problems import wrong
from tests.reports.conftest import MS, T0, Make, S, call, file, filesystem, maker, spent, wait

Step = tuple[float, str]
STEP = 100 * MS
READING, COMPUTING = "reading", "computing"


def intervals(steps: list[Step]) -> Iterator[tuple[int, dict[str, int]]]:
    """Each tenth of a second, and what of it goes into which state."""
    end = round(sum(seconds for seconds, _ in steps) * S)
    edges, at = [], 0
    for seconds, does in steps:
        edges.append((at, at + round(seconds * S), does))
        at += round(seconds * S)
    for begin in range(0, end, STEP):
        states: dict[str, int] = {}
        for first, last, does in edges:
            part = min(begin + STEP, last) - max(begin, first)
            if part > 0:
                states[does] = states.get(does, 0) + part
        yield begin, states


def made(make: Make, steps: list[Step], **tables: Any) -> Recording:
    """One thread that does one thing after the other; reads are single calls of 10 ms."""
    times, waits, calls = [], [], []
    for begin, states in intervals(steps):
        reads = states.get(READING, 0)
        times.append(spent(begin, STEP, user=states.get(COMPUTING, 0), blocked=reads))
        for at in range(begin, begin + reads, 10 * MS):
            waits.append(wait(at, min(10 * MS, begin + reads - at), "page_read", syscall="read"))
            calls.append(call(at, 10 * MS, "read", bytes=4096, ret=4096))
    rows = {
        "thread_time": times,
        "waits": waits,
        "syscalls": calls,
        "files": [file(2, "/srv/data")],
        "filesystems": [filesystem()],
        "devices": [{"dev": 80, "name": "vda"}],
        "threads": [{"tid": 10, "tgid": 10, "comm": "job", "start_ns": T0}],
    }
    return make(rows | tables, end_s=sum(seconds for seconds, _ in steps))


def cuts(rec: Recording) -> list[float]:
    return [float(str(one)) for one in run(rec, "phases").column("begin_s")][1:]


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ([(3.0, READING), (3.0, COMPUTING)], [3.0]),
        ([(2.95, READING), (3.05, COMPUTING)], [2.95]),
        ([(2.0, READING), (1.53, "rest"), (2.0, COMPUTING)], [2.0, 3.53]),
        ([(6.0, READING)], []),
        ([(0.25, COMPUTING), (6.0, READING)], []),
        # Cells of two seconds, and finer ones around a cut.
        ([(301.37, COMPUTING), (2.0, READING), (296.63, COMPUTING)], [301.37, 303.37]),
    ],
)
def test_phases_end_where_the_work_changes(
    make: Make, steps: list[Step], known: list[float]
) -> None:
    assert cuts(made(make, steps)) == pytest.approx(known, abs=0.1)


def disk(at: int, requests: int, in_flight: int = 1) -> dict[str, object]:
    return {
        "ts_ns": T0 + at,
        "dev": 80,
        "reads": requests,
        "read_bytes": requests * 4096,
        "writes": 0,
        "written_bytes": 0,
        "in_flight": in_flight,
        "busy_ns": at,
        "queue_ns": at,
    }


def test_a_device_that_is_waited_for_and_becomes_slower_begins_a_phase(make: Make) -> None:
    counts = [at * 100 if at < 30 else 3000 + (at - 30) * 5 for at in range(61)]
    samples = [disk(at * STEP, counts[at]) for at in range(61)]
    rec = made(make, [(6.0, READING)], disk_samples=samples)
    assert cuts(rec) == pytest.approx([3.0], abs=0.1)
    # Nobody waits for it: what it does for others is no phase of the command's.
    assert cuts(made(make, [(6.0, COMPUTING)], disk_samples=samples)) == []


def test_a_phase_says_what_was_done(make: Make) -> None:
    samples = [disk(at * STEP, 100 * min(at, 20)) for at in range(61)]
    first, second = run(
        made(make, [(2.0, READING), (4.0, COMPUTING)], disk_samples=samples), "phases"
    ).to_pylist()
    assert (first["class"], second["class"]) == ("waiting to read", "on-CPU user")
    assert first["class_share"] == pytest.approx(1, abs=0.05)
    assert first["waited_ns"] == pytest.approx(2 * S, rel=0.05)
    assert (first["call"], first["calls"], first["file"]) == ("read", 200, "/srv/data")
    assert first["requests_per_s"] == pytest.approx(1000, rel=0.05)
    assert second["call"] is None and second["end_s"] == pytest.approx(6.0)


def test_a_phase_counts_what_it_waits_for(make: Make) -> None:
    syncs = [(at, 20 * MS) for at in range(2000 * MS, 4000 * MS, 20 * MS)]
    rec = made(
        make,
        [(4.0, READING), (2.0, COMPUTING)],
        disk_samples=[disk(at * STEP, 100 * min(at, 40)) for at in range(61)],
        syscalls=[call(at, ns, "fsync", ret=0) for at, ns in syncs],
        waits=[
            *(wait(at, 10 * MS, "page_read", syscall="read") for at in range(0, 2 * S, 10 * MS)),
            *(wait(at, ns, "sync", syscall="fsync") for at, ns in syncs),
        ],
    )
    first, second, third = overview(rec).verdict.phases
    assert (first.cls, second.cls, third.cls) == (classes.READ, classes.SYNC, classes.USER)
    assert first.requests == pytest.approx(2000, rel=0.02)
    assert f", {first.requests:,.0f} requests of 4 KiB" in first.said
    assert (second.requests, second.syncs) == (None, 100) and " 100 syncs" in second.said
    assert (third.requests, third.bytes, third.syncs) == (None, None, None)


def test_a_device_that_becomes_slower_is_said(make: Make) -> None:
    """100 requests a tenth of a second for three seconds, then 5, each as long as there are fewer."""
    counts = [at * 100 if at < 30 else 3000 + (at - 30) * 5 for at in range(61)]
    samples = [
        disk(at * STEP, counts[at]) | {"read_ns": at * STEP, "write_ns": 0} for at in range(61)
    ]
    found = overview(made(make, [(6.0, READING)], disk_samples=samples)).verdict.phases
    first, second = in_words(found)
    assert "3,000 requests of 4 KiB, 1 ms each" in first
    assert "150 requests of 4 KiB, 20 ms each" in second


def test_a_phase_says_with_which_files(make: Make) -> None:
    """Forty headers and a source that took little, then one database, then a compiler of two."""
    paths = {10 + at: f"/usr/include/x{at}.h" for at in range(40)} | {60: "/srv/db/table.db"}
    waits = [
        *(
            wait(at * 50 * MS, 49 * MS, "page_read", syscall="read", ino=10 + at)
            for at in range(40)
        ),
        *(
            wait(at, 20 * MS, "sync", syscall="fsync", ino=60)
            for at in range(2 * S, 4 * S, 20 * MS)
        ),
    ]
    syncs = [call(at, 20 * MS, "fsync", ino=60) for at in range(2 * S, 4 * S, 20 * MS)]
    times = [
        *(spent(at, STEP, blocked=STEP) for at in range(0, 4 * S, STEP)),
        *(spent(at, STEP, tid=11, user=STEP) | {"tgid": 11} for at in range(4 * S, 6 * S, STEP)),
        *(spent(at, STEP, user=STEP) for at in range(6 * S, 8 * S, STEP)),
        *(spent(at, STEP, tid=11, user=STEP) | {"tgid": 11} for at in range(6 * S, 8 * S, STEP)),
    ]
    rec = make(
        {
            "thread_time": times, "waits": waits, "syscalls": syncs,
            "files": [file(ino, path) for ino, path in paths.items()],
            "filesystems": [filesystem()],
            "threads": [
                {"tid": 10, "tgid": 10, "comm": "make", "start_ns": T0},
                {"tid": 11, "tgid": 11, "comm": "cc1", "start_ns": T0},
            ],
        },
        end_s=8.0,
    )  # fmt: skip
    verdict = overview(rec).verdict
    first, second, third, fourth = verdict.phases
    assert (first.work.files, first.work.suffix, first.work.folder) == (40, ".h", "/usr/include")
    assert " 40 .h files" in first.said
    assert (second.work.path, second.syncs) == ("/srv/db/table.db", 100)
    assert " 100 syncs of table.db" in second.said
    assert third.work.program == "cc1" and " cc1 computes" in third.said
    assert fourth.work.path is None
    rows = as_document(overview(rec))["phases"]
    assert [one["files"] for one in rows] == [40, None, None, None]
    assert rows[1]["file"] == "/srv/db/table.db" and rows[2]["program"] == "cc1"


STALL = [(300.0, COMPUTING), (2.0, READING), (298.0, COMPUTING)]


def test_a_stall_of_a_moment_is_found_and_judged_alone(make: Make) -> None:
    # One wait, which begins a little before the cut.
    waits = [wait(299_990 * MS, 2010 * MS, "page_read", syscall="read")]
    samples = [
        disk(at * STEP, 5 * at if at < 3000 else 15_000 + max(0, at - 3020)) for at in range(6001)
    ]
    rec = made(make, STALL, waits=waits, disk_samples=samples)
    found = overview(rec).verdict
    assert [one.cls for one in found.phases] == [classes.USER, classes.READ, classes.USER]
    stall = found.phases[1]
    assert stall.silent_share is not None and stall.silent_share > 0.9
    assert stall.waited_ns == pytest.approx(2 * S, rel=0.05) and stall.device == "vda"
    assert stall.cause is None and stall.does.values["device"] == "vda"
    for alone in (
        overview_of(rec, phase=2),
        overview_of(rec, at="301s"),
        overview_of(rec, at="5m1s"),
    ):
        assert alone.verdict.budget.elapsed(classes.READ) > 0.9
        assert alone.verdict.elapsed_s == pytest.approx(2.0, abs=0.2)
        assert alone.verdict.phases == ()
        # What was asked before is in no request of that time: the counters say that the device had some.
        assert alone.verdict.findings[0].cause == "device-slow"
    (row,) = [one for one in as_document(overview(rec))["phases"] if one["phase"] == 2]
    assert row["waited_s"] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    "given", [{"phase": 9}, {"at": "7h"}, {"at": "soon"}, {"phase": 1, "at": "1s"}]
)
def test_a_phase_that_is_not_there(make: Make, given: dict[str, Any]) -> None:
    with pytest.raises(Problem):
        overview_of(made(make, STALL), **given)


def test_without_the_time_of_threads_there_are_none(make: Make) -> None:
    rec = make({"syscalls": [call(0, MS, "read")]})
    assert run(rec, "phases").to_pylist() == []
    with wrong("no-phases"):
        overview_of(rec, phase=1)


def test_seven_phases_fit_on_a_screen(make: Make) -> None:
    steps = [(2.0, READING), (2.0, COMPUTING), (2.0, "rest")] * 2 + [(2.0, READING)]
    samples = [disk(at * STEP, 123 * at) for at in range(141)]
    found = overview(made(make, steps, disk_samples=samples))
    assert len(found.verdict.phases) == 7
    for columns in ("80", "100"):
        printed = drawn(columns, lambda out: show(found, out))
        lines = printed.rstrip("\n").split("\n")
        assert len(lines) <= LINES and len(printed.split()) <= WORDS, printed
        assert sum(line.startswith("When ") for line in lines) == 1


def test_the_command_and_what_it_refuses(tmp_path: Path) -> None:
    rec = made(maker(tmp_path, write_recording), [(3.0, READING), (3.0, COMPUTING)])
    found = json.loads(invoke(["why", str(rec.path), "--phase", "2", "--json"]).stdout)
    assert found["elapsed_s"] == pytest.approx(3.0, abs=0.05)
    printed = invoke(["report", "phases", str(rec.path), "--format", "csv"]).stdout
    causes = [row["cause"] for row in csv.DictReader(io.StringIO(printed))]
    by_api = [row["cause"] or "" for row in api.open(rec.path).report("phases").rows()]
    assert by_api == causes and any(causes)
    assert len(causes) == 2 and causes[1] in ("cpu-serial", "cpu-saturated", "not-io")
    refused = invoke(["why", str(rec.path), "--at", "1s", "--expect", "calls <= 1"])
    assert isinstance(refused.exception, Problem)
    with pytest.raises(Problem):
        run(rec, "phases", Filters(since="1s"))


def reads(number: int, seconds: float) -> list[dict[str, object]]:
    """So many, one after the other, in that time."""
    each = round(seconds * S / number)
    return [call(at * each, each, "read", bytes=4096, ret=4096) for at in range(number)]


@pytest.mark.parametrize(
    ("after", "number", "slower_s", "each_ns"),
    [
        # As many reads take longer.
        ([(5.0, READING), (3.0, COMPUTING)], 300, 2.0, None),
        # What takes longer because it does more is no slower, nor is what ends at a given time and does the rest later.
        ([(5.0, READING), (3.0, COMPUTING)], 500, 0.0, None),
        ([(5.0, READING), (1.0, COMPUTING)], 500, 0.0, None),
        # A run of a given length does less.
        ([(3.0, READING), (3.0, COMPUTING)], 150, 1.5, (10 * MS, 20 * MS)),
        # Less to do, in less time.
        ([(2.0, READING), (3.0, COMPUTING)], 150, 0.0, None),
    ],
)
def test_the_phase_that_became_slower(
    tmp_path: Path,
    after: list[Step],
    number: int,
    slower_s: float,
    each_ns: tuple[int, int] | None,
) -> None:
    make = maker(tmp_path, write_recording)
    first = made(make, [(3.0, READING), (3.0, COMPUTING)], syscalls=reads(300, 3.0))
    second = made(make, after, syscalls=reads(number, after[0][0]))
    found = compare(open_side(str(first.path)), open_side(str(second.path))).stages
    assert [one.cls for one in found] == [classes.READ, classes.USER]
    worst = slowest(found)
    assert (worst is not None) == (slower_s > 0)
    assert found[0].slower_s == pytest.approx(slower_s, abs=0.1)
    if worst is not None:
        assert (None if worst.each is None else worst.each[1:]) == (
            None if each_ns is None else pytest.approx(each_ns, rel=0.05)
        )


def test_a_phase_of_unknown_work_is_slower_if_the_whole_is(tmp_path: Path) -> None:
    make = maker(tmp_path, write_recording)
    first = made(make, [(3.0, COMPUTING), (3.0, READING), (2.0, "rest")], syscalls=[])
    for steps, slower in (
        ([(4.0, COMPUTING), (3.0, READING), (1.0, "rest")], None),
        ([(4.0, COMPUTING), (3.0, READING), (2.0, "rest")], classes.USER),
    ):
        second = made(make, steps, syscalls=[])
        found = compare(open_side(str(first.path)), open_side(str(second.path))).stages
        assert len(found) == 3 and found[0].difference_s == pytest.approx(1.0, abs=0.1)
        worst = slowest(found)
        assert (None if worst is None else worst.cls) == slower


def test_the_page_has_what_marks_charts(tmp_path: Path) -> None:
    rec = made(maker(tmp_path, write_recording), [(3.0, READING), (3.0, COMPUTING)])
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page_of(rec.path), re.DOTALL)
    assert found is not None
    phases = json.loads(found[1])["phases"]
    assert [begin for begin, _, _ in phases] == pytest.approx([0.0, 3.0], abs=0.05)
