"""Of some processes of a machine, shares are of the time in which they were there."""

import pytest
from msgspec.structs import replace

from iowhy.commands.overview import overview_of
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.relations.lifetimes import as_if_alone
from iowhy.relations.narrowed import Narrowed
from iowhy.sentences import Sentence
from iowhy.whys import classes
from iowhy.whys.facts import facts_of
from tests.numbers_told import tells
from tests.problems import wrong
from tests.reports.conftest import MS, T0, Make, S, request, spent, wait

READS, LATER, THROUGHOUT, AROUND, FOUND, BRIEF = 10, 20, 30, 40, 50, 60
RAN = {
    READS: (1000, 1400),
    LATER: (3000, 3200),
    THROUGHOUT: (0, None),
    AROUND: (-2000, 9000),
    FOUND: (13, None),
    BRIEF: (2000, 2020),
}


@pytest.fixture
def machine(make: Make) -> Recording:
    """5 s of a machine. READS lives 400 ms: 300 of them it waits to read, then it computes."""
    threads = [
        {"tid": pid, "tgid": pid, "comm": f"p{pid}", "container": ""}
        | {"start_ns": T0 + start * MS, "end_ns": None if end is None else T0 + end * MS}
        for pid, (start, end) in RAN.items()
    ]
    busy = [
        spent(start * MS, ((5000 if end is None else end) - start) * MS, tid=pid, user=20 * MS) | {"tgid": pid}
        for pid, (start, end) in {**RAN, AROUND: (0, 5000)}.items()
        if pid != READS
    ]  # fmt: skip
    others = {"tgid": THROUGHOUT, "tid": THROUGHOUT, "owner_ino": 7}
    rec = make(
        {
            "threads": threads,
            "thread_time": [
                *busy,
                # A reading begins before the process does where it was made at that moment's start.
                spent(999 * MS, 401 * MS, tid=READS, blocked=300 * MS, user=101 * MS),
            ],
            "waits": [wait(1000 * MS, 300 * MS, "direct_io")],
            "syscalls": [],
            "block_requests": [
                request(1000 * MS, 300 * MS, "read"),
                *(request(at * MS, 10 * MS, **others) for at in (0, 900, 1100, 1390, 1400, 4000)),
            ],
            "cpu_samples": [
                {"ts_ns": T0 + at * MS, "cpu": -1, "user_ns": at * MS, "system_ns": 0, "idle_ns": at * MS}
                for at in range(0, 5001, 100)
            ],
        },
        end_s=5.0,
    )  # fmt: skip
    manifest = replace(
        rec.manifest,
        command=replace(rec.manifest.command, mode="machine"),
        recorder=replace(rec.manifest.recorder, cpu_ns=S // 10),
    )
    return replace(rec, manifest=manifest)


def test_shares_of_a_short_process_are_of_its_own_time(machine: Recording) -> None:
    verdict = overview_of(machine, (READS,)).verdict
    assert verdict.elapsed_s == 0.4
    assert verdict.budget.elapsed(classes.READ) == pytest.approx(0.75, abs=0.01)
    assert verdict.budget.elapsed(classes.IDLE) == pytest.approx(0, abs=0.01)
    assert tells(verdict.answer, "400 ms", "5 s")


def test_what_is_beside_it_is_of_the_same_time(machine: Recording) -> None:
    with Relations(machine) as whole:
        narrowed = as_if_alone(whole, (READS,))
    with facts_of(machine, narrowed=narrowed) as facts:
        beside = "SELECT (queue_ns - {0}) // {1} FROM block_requests WHERE tgid = {2} ORDER BY 1"
        rows = facts.relations.rows(beside.format(T0, MS, THROUGHOUT))
        assert rows == [(1100,), (1390,)]
        read = "SELECT min(ts_ns), max(ts_ns) FROM cpu_samples"
        assert facts.relations.rows(read) == [(T0 + 1000 * MS, T0 + 1300 * MS)]
        # Its own are all there, and the device was busy for 310 ms of 400.
        assert facts.relations.rows("SELECT interval_ns FROM thread_time") == [(401 * MS,)]
        busy = "SELECT utilisation FROM device_totals"
        assert facts.relations.rows(busy) == [(pytest.approx(0.775),)]
        # What the recorder took is known of the whole alone: 0.1 s of 5 s on two CPUs.
        assert facts.run.recorder_cpu_share == pytest.approx(0.01)


@pytest.mark.parametrize("pid", [THROUGHOUT, AROUND, FOUND])
def test_shares_of_what_is_there_all_the_time_are_of_all(machine: Recording, pid: int) -> None:
    verdict = overview_of(machine, (pid,)).verdict
    assert verdict.elapsed_s == 5.0
    assert "5 s" in verdict.answer and "recorded)" not in verdict.answer


def test_of_unknown_times_nothing_is_left_out(machine: Recording) -> None:
    with Relations(machine) as whole:
        assert as_if_alone(whole, (99,)) == Narrowed(pids=(99,))
    # In other tools' output a thread begins where it is first named.
    paste = replace(machine, manifest=replace(machine.manifest, source="diagnose"))
    with Relations(paste) as whole:
        assert as_if_alone(whole, (READS,)) == Narrowed(pids=(READS,))


@pytest.mark.parametrize(
    ("pids", "elapsed_s"),
    [((READS, LATER), 2.2), ((BRIEF, LATER, READS), 2.2), ((LATER, THROUGHOUT), 5.0)],
)
def test_several_are_there_from_the_first_to_the_last(
    machine: Recording, pids: tuple[int, ...], elapsed_s: float
) -> None:
    assert overview_of(machine, pids).verdict.elapsed_s == elapsed_s


def test_a_brief_one_is_not_told_to_be_recorded_for_longer(machine: Recording) -> None:
    answer = overview_of(machine, (BRIEF,)).verdict.answer
    assert isinstance(answer, Sentence) and answer.id == "too-short"
    assert tells(answer, "20 ms", "5 s")


def test_nothing_recorded_of_a_process_is_not_that_there_was_none(machine: Recording) -> None:
    with wrong("pid-did-nothing", pid=1):
        overview_of(machine, (1,))
