"""Levers act on this machine as they say, and only on the command.

Asserted is what a lever does to the command's resource (bytes at the device, CPU time against wall
time by large factors), not how fast this machine is. Needs root, control groups and loop devices.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.experiments import device, groups
from iowhy.experiments.command import Place
from iowhy.experiments.command import run as run_command
from iowhy.experiments.experiment import Request, experiment
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.job import Job
from iowhy.experiments.lever_answer import Verdict
from iowhy.experiments.metric import parse
from iowhy.lab.scenarios import scenario
from iowhy.lab.stage import Choice, stage
from iowhy.sources.live import program
from iowhy.undo import Undo
from machine import control_groups
from tests.problems import wrong


@pytest.fixture
def scratch(tmp_path, monkeypatch, request):
    why = None if os.geteuid() == 0 else "needs root"
    if why is None and isinstance(groups.find("cpu"), str):
        why = f"needs control groups: {groups.find('cpu')}"
    if why is None and not Path("/dev/loop-control").exists():
        why = "needs loop devices"
    if why is not None:
        cannot_run(request, why)
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    # Other live tests run next to this one; what is said then is in tests/experiment/test_trials.py.
    monkeypatch.setattr("iowhy.experiments.experiment.loud", lambda *_: None)
    return tmp_path


@pytest.fixture
def disk(scratch):
    """An ext4 filesystem on a loop device of its own, so that nobody else's bytes count."""
    with stage(Choice(fs="ext4", device="file"), scratch) as made:
        yield made.scratch_filesystem(256).path


def python(code):
    return (sys.executable, "-I", "-S", "-c", code)


def run(directory, command, *levers, **more):
    more = {"runs": 5, "seed": 1, **more}
    job = Job(command=command, directory=directory, **more.pop("job", {}))
    return experiment(Request(job=job, levers=levers, **more))


def by_lever(found):
    return {one.lever: one for one in found.answers}


def mean_bytes(found, lever=None):
    condition = next(c for c in found.conditions if c.lever == lever)
    values = sorted(trial.device_bytes for trial in found.kept(condition))
    return values[len(values) // 2]


def test_a_spinning_command_gets_the_share_of_cpu_that_the_quota_leaves(scratch):
    found = run(scratch, python("sum(range(1_000_000))"), "cpu-quota=0.05", job={"timeout_s": 60.0})
    assert found.answers[0].responses[0].slower.value > 1, found.sentence
    for trial in found.trials:
        if trial.condition.lever is not None:
            # However busy the machine is: never more than a 20th of a CPU (and the first period).
            assert trial.wall_s > 0.8 * (trial.user_s + trial.system_s - 0.01) / 0.05


def test_groups_of_both_versions_are_made_entered_and_taken_away(scratch):
    # Whatever this machine has: where version 1 holds all others, hugetlb is often left to version 2.
    knobs = {1: ("cgroup.clone_children", "1"), 2: ("cgroup.max.depth", "7")}
    tried = set()
    for controller in ("cpu", "memory", "io", "pids", "hugetlb"):
        found = groups.find(controller)
        if isinstance(found, str):
            continue
        tried.add(found.version)
        control = found.parent / "cgroup.subtree_control"
        before = control.read_text() if found.version == 2 else None
        with Undo.session("test") as undo:
            made = groups.make(controller, "t", undo)
            assert made.path.parent == found.parent
            knob, value = knobs[found.version]
            made.write(knob, value)
            assert made.read(knob) == f"{value}\n"
            if found.version == 2:
                assert controller in (made.path / "cgroup.controllers").read_text().split()
            place = Place(scratch, (enter_group(made.procs),))
            done = run_command(["cat", "/proc/self/cgroup"], place, undo, capture=True)
            assert f"/{made.path.name}\n" in done.output
            made.held()
        assert not made.path.exists()
        assert before is None or control.read_text() == before
    assert tried


def test_a_sleep_is_bound_by_nothing(disk):
    found = run(disk, ("sleep", "0.3"), "cpu-quota=0.5", "io-contention=0.3", runs=4)
    for answer in found.answers:
        assert answer.verdict is not Verdict.BOUND, found.sentence
        assert answer.responses[0].slower.value < 1.5, found.sentence


READ_TWICE = """
import os
for _ in range(3):
    file = os.open("data", os.O_RDONLY)
    while os.read(file, 1 << 20):
        pass
"""


def test_memory_limit_makes_passes_read_the_device_again(disk):
    (disk / "data").write_bytes(os.urandom(48 << 20))
    found = run(disk, python(READ_TWICE), "memory-limit=0.5", runs=3)
    assert mean_bytes(found) == pytest.approx(48 << 20, rel=0.1)
    assert mean_bytes(found, "memory-limit") > 2.5 * (48 << 20)


def test_a_warm_cache_and_a_copy_in_memory_leave_the_device_alone(disk):
    (disk / "data").write_bytes(os.urandom(32 << 20))
    code = f"import os; os.chdir({str(disk)!r})\n{READ_TWICE}"
    found = run(disk, python(code), "cache-warm", "fast-device", cache="cold", runs=3)
    assert mean_bytes(found) == pytest.approx(32 << 20, rel=0.1)
    # By absolute path too: the copy is mounted over the original.
    assert mean_bytes(found, "cache-warm") < 1 << 20
    assert mean_bytes(found, "fast-device") < 1 << 20


SYNCING = """
import os
file = os.open("log", os.O_RDWR | os.O_CREAT)
for _ in range(100):
    os.write(file, bytes(4096))
    os.fdatasync(file)
"""


def test_sync_free_acts_on_a_copy_and_only_with_leave(disk):
    (disk / "log").write_bytes(b"precious")
    command = python(SYNCING.replace("os.O_RDWR", "os.O_APPEND | os.O_RDWR"))
    with wrong("no-lever-can-act"):
        run(disk, command, "sync-free")
    found = run(disk, command, "sync-free", allow_unsafe=True, runs=3)
    assert mean_bytes(found) > 100 * 4096
    assert mean_bytes(found, "sync-free") < mean_bytes(found) / 4
    # Written by the runs without the lever alone: two profiles and the baseline's trials.
    runs = 2 + sum(trial.condition.lever is None for trial in found.trials)
    assert (disk / "log").stat().st_size == 8 + runs * 100 * 4096
    assert (disk / "log").read_bytes().startswith(b"precious")
    assert not list(disk.glob(".iowhy-*"))


def test_contention_is_measured_and_stops(disk):
    found = run(disk, ("sleep", "0.2"), "io-contention=0.3", runs=3)
    trials = [trial for trial in found.trials if trial.condition.lever == "io-contention"]
    assert all(trial.reached["contention_bytes_per_s"] > 0 for trial in trials)
    assert all(0 < trial.factor < 1 for trial in trials)
    before = device.device_of(disk).transferred_bytes()
    assert not list(disk.glob(".iowhy-*"))
    os.sync()
    after = device.device_of(disk).transferred_bytes()
    assert after - before < 8 << 20


def test_a_throttle_holds_the_command_and_not_the_neighbours(disk):
    (disk / "data").write_bytes(os.urandom(64 << 20))
    found = run(disk, python(READ_TWICE), "io-throttle=0.1", cache="cold", runs=3)
    throttled = next(one for one in found.answers if one.lever == "io-throttle")
    assert throttled.responses, found.sentence
    assert throttled.responses[0].slower.value > 1, found.sentence


def test_a_mount_option_is_changed_and_put_back(disk):
    def options():
        return device.mount_of(disk).options

    assert "nobarrier" not in options()
    command = ("sh", "-c", "echo flag: $(grep -c 'nobarrier' /proc/self/mounts)1")
    job = {"metric": parse(r"flag: (\d+)", False, "")}
    found = run(disk, command, "mount-option=nobarrier", runs=3, job=job)
    under = [t.measure for t in found.trials if t.condition.lever == "mount-option"]
    without = [t.measure for t in found.trials if t.condition.lever is None]
    assert set(without) == {1.0} and set(under) == {11.0}
    assert "nobarrier" not in options()


def test_a_lever_that_fails_half_way_leaves_nothing(scratch, monkeypatch):
    monkeypatch.setattr("iowhy.experiments.levers.cpu_quota.PERIOD_US", 10_000_000)
    before = control_groups(f"iowhy-{os.getpid()}-")
    with wrong("knob-refused"):
        run(scratch, ("true",), "cpu-quota")
    assert control_groups(f"iowhy-{os.getpid()}-") == before
    assert list((scratch / "state").iterdir()) == []


# The cases on emulated disks: their times are the disk's own, so that even a busy machine shows them.

TRANSACTIONS = """
import os, sqlite3
for name in ("t.db", "t.db-wal", "t.db-shm"):
    if os.path.exists(name):
        os.unlink(name)
base = sqlite3.connect("t.db", isolation_level=None)
base.execute("PRAGMA journal_mode=WAL")
base.execute("PRAGMA synchronous=FULL")
base.execute("CREATE TABLE t(a, b)")
for number in range(15):
    base.execute("INSERT INTO t VALUES(?, ?)", (number, "x" * 50))
"""


def test_transactions_on_a_disk_that_is_slow_to_flush_are_sync_bound(scratch):
    with stage(Choice(fs="ext4", device="flush-slow"), scratch) as made:
        where = made.scratch_filesystem(256).path
        made.start_clock()
        levers = ("sync-free", "cpu-quota=0.5")
        found = run(where, python(TRANSACTIONS), *levers, allow_unsafe=True, runs=4)
    answers = by_lever(found)
    assert answers["sync-free"].verdict is Verdict.BOUND, found.sentence
    assert found.sentence.startswith("Sync-bound"), found.sentence
    assert answers["cpu-quota"].verdict is not Verdict.BOUND, found.sentence


@pytest.fixture
def first():
    """Words that put a command before others: by its nice value, and by that of this session (sched(7))."""
    session = Path("/proc/self/autogroup")
    # The file is empty for a process that belongs to no session's group, as what init itself started.
    pids = session.read_text().split() if session.exists() else []
    if pids:
        session.write_text("-20")
    yield "nice", "-n", "-20"
    if pids:
        session.write_text(pids[-1])


def test_transactions_in_memory_are_cpu_bound(scratch, first):
    # The published trap: most of the time is inside fdatasync, and nearly all of that on a CPU.
    with stage(Choice(fs="ext4", device="zram", scale=0.05), scratch) as made:
        plan = scenario("sqlite-cpu").broken.prepare(made)
        where = made.filesystems[0].path
        job = {"prepare": ("rm -f items.db*",)}
        # A tenth of a CPU, of a command that goes before the others on this machine: what they take of a
        # CPU, a quota could not take.
        command, more = (*first, *plan.argv), {"runs": None, "least": 4, "most": 12}
        found = run(where, command, "cpu-quota=0.1", job=job, **more)
    assert found.answers[0].verdict is Verdict.BOUND, found.sentence
    assert found.sentence.startswith("CPU-bound: "), found.sentence


def test_passes_answer_to_memory(scratch):
    with stage(Choice(fs="ext4", device="hdd"), scratch) as made:
        where = made.scratch_filesystem(256).path
        (where / "data").write_bytes(os.urandom(32 << 20))
        made.start_clock()
        levers = ("memory-limit=0.5", "cpu-quota=0.5")
        more = {"runs": None, "least": 4, "most": 8}
        found = run(where, python(READ_TWICE), *levers, **more)
    answers = by_lever(found)
    assert answers["memory-limit"].verdict is Verdict.BOUND, found.sentence
    assert found.sentence.startswith("Memory-bound: "), found.sentence
    assert answers["cpu-quota"].verdict is not Verdict.BOUND, found.sentence


def test_a_scattered_database_answers_to_its_layout(scratch):
    def regions(file, *more):
        size, seed = ("--size", str(16 << 20)), ("--seed", "1")
        return (str(program("iowhy-work")), "regions", "--file", str(file), *size, *seed, *more)

    with stage(Choice(fs="xfs", device="hdd"), scratch) as made:
        where = made.scratch_filesystem(512).path
        # Eight threads that sync page by page allocate in turns.
        scatter = regions(where / "table", "--threads", "8", "--truncate", "--sync-bytes", "4096")
        subprocess.run(scatter, stdout=subprocess.DEVNULL, check=True)
        made.start_clock()
        found = run(where, regions(where / "table", "--threads", "8"), "preallocate", runs=4)
    assert by_lever(found)["preallocate"].responses[0].slower.value < 0.8, found.sentence


def test_the_database_of_case_1_answers_to_its_layout(scratch):
    # Its filesystem has free space in single pages only: another one takes the copy.
    with stage(Choice(fs="ext4", device="hdd", scale=0.125), scratch) as made:
        plan = scenario("imdb").broken.prepare(made)
        elsewhere = made.filesystem(made.disk(128)).path
        where = made.filesystems[0].path / "database"
        subprocess.run(plan.argv, stdout=subprocess.DEVNULL, check=True)
        beside = run(where, plan.argv, "preallocate", "cpu-pin=shared", runs=3)
        made.start_clock()
        more = {"runs": None, "least": 4, "most": 10}
        found = run(where, plan.argv, f"preallocate={elsewhere}", **more)
    assert "free space is scattered itself" in dict(beside.failed)["preallocate in one piece"]
    assert by_lever(found)["preallocate"].verdict is Verdict.BOUND, found.sentence
    assert found.sentence.startswith("Layout-bound: "), found.sentence
    trial = next(one for one in found.trials if one.condition.lever == "preallocate")
    assert trial.reached["pieces_before"] > 1000 and trial.reached["pieces"] < 10
