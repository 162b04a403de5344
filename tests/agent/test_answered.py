"""What a trigger's recording says of what triggered: those calls, of that service, on that device, in that time; and who is judged."""

import pytest

from iowhy.agent.conditions import Scope, limited, read
from iowhy.agent.trigger_answer import answered, document, of_the_moment
from iowhy.agent.triggers import Event, Fired
from iowhy.recordings import Recording
from iowhy.sentences import worded
from iowhy.whys.phases import PhaseDone
from tests.reports.conftest import MS, T0, Make, S, call, filesystem, request, spent

EVERY_NS = S


def event(text: str, of: str, scope: Scope | None = None, before_s: float = 0) -> Event:
    condition = limited(read(text), scope or Scope(), None)
    found = Event.of(Fired("a", text, of, condition), EVERY_NS, before_s)
    assert found is not None
    return Event.read(found.as_json()) or found


def fsync(at_ns: int, tid: int, dur_ns: int, dev: int = 5) -> dict[str, object]:
    return call(at_ns, dur_ns, "fsync", tid, tgid=tid, dev=dev)


@pytest.fixture
def machine(make: Make) -> Recording:
    """db has three slow fsyncs of four; the writer has many quick ones on another disk, and most of the CPU time."""
    return make(
        {
            "threads": [
                {"tid": 10, "tgid": 10, "comm": "db", "start_ns": T0, "container": "c1"},
                {"tid": 20, "tgid": 20, "comm": "writer", "start_ns": T0, "container": "c2"},
            ],
            "containers": [
                {"id": "c1", "name": "store", "cgroup": "/a"},
                {"id": "c2", "name": "bulk", "cgroup": "/b"},
            ],
            "devices": [{"dev": 7, "name": "vda"}, {"dev": 8, "name": "vdb"}],
            "filesystems": [
                filesystem(7, 5) | {"mount": "/data"},
                filesystem(8, 6) | {"mount": "/bulk"},
            ],
            "thread_time": [
                spent(0, S, tid=10, blocked=400 * MS) | {"tgid": 10},
                spent(0, S, tid=20, user=900 * MS) | {"tgid": 20},
            ],
            "syscalls": [
                *(fsync(at * 200 * MS, 10, 100 * MS) for at in range(3)),
                fsync(700 * MS, 10, MS),
                *(fsync(at * 20 * MS, 20, MS, dev=6) for at in range(40)),
                fsync(900 * MS, 20, 60 * MS, dev=6),
            ],
            "block_requests": [request(at * 100 * MS, MS, dev=7) for at in range(5)],
        }
    )


def test_what_triggered_comes_first_and_only_who_suffered_it_is_judged(machine: Recording) -> None:
    found = answered(machine, event("fsync p99 > 50 ms", "store"))
    assert found.pids == (10,)
    for part in ("db (10) of store", "4 fsync calls on /data", "3 above 50 ms"):
        assert part in found.text
    made = document(machine, event("fsync p99 > 50 ms", "store"))
    assert made["answer"].startswith(found.text) and made["event"] == found.text
    assert "cpu-saturated" not in [one["cause"] for one in made["findings"][:1]]
    assert "event" not in document(machine, None)


def test_the_scope_of_a_trigger_is_that_of_its_answer(machine: Recording) -> None:
    of_disk = answered(machine, event("fsync p99 > 50 ms", "bulk", Scope(device="vdb")))
    assert of_disk.pids == (20,) and "41 fsync calls on /bulk" in of_disk.text
    nothing = answered(machine, event("fsync p99 > 50 ms", "store", Scope(device="vdb")))
    assert nothing.pids == () and "No fsync calls of store on vdb" in nothing.text
    requests = answered(machine, event("request p50 > 1 ns", "vda"))
    assert requests.pids == (10,) and "on vda" in requests.text
    # Of the whole machine: no limit is a time.
    assert event("io pressure some > 20 %", "the machine").limit_ns is None
    assert event("threads in D > 8", "the machine").service is None


def test_what_was_long_before_a_trigger_is_not_its_event(machine: Recording) -> None:
    late = answered(machine, event("fsync p99 > 50 ms", "bulk", before_s=1.85))
    assert late.pids == (20,) and "1 fsync calls" in late.text


def phase(number: int, begin_s: float, end_s: float, waited_s: float) -> PhaseDone:
    waited_ns = round(waited_s * S)
    return PhaseDone(
        number, begin_s, end_s, worded("x", "x"), "idle", 1.0, None, waited_ns, None, None
    )


def test_what_is_judged_is_the_phase_while_the_condition_held() -> None:
    phases = [phase(1, 0, 40, 5), phase(2, 40, 42, 2), phase(3, 42, 60, 1), phase(4, 60, 90, 60)]
    stalled = "any device stalled > 2 s for 10 s"
    assert of_the_moment(phases, event(stalled, "vda", before_s=45)) == 2
    assert of_the_moment(phases, event(stalled, "vda", before_s=59)) == 3
    assert of_the_moment(phases, event(stalled, "vda", before_s=0)) is None
    assert of_the_moment((), event(stalled, "vda", before_s=45)) is None
