"""Whatever way an experiment ends, the machine is as before: killed at random moments, interrupted, hung.

Needs root and control groups, not eBPF. Only what this test's own processes could have left is looked
for (others may use the machine at the same time): they carry the state directory in their environment.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.experiments import groups
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from iowhy.undo import process, recover
from machine import control_groups

KILLS = 5


@pytest.fixture
def work(tmp_path, monkeypatch, request):
    """A work directory with a name of its own, and a state directory of its own."""
    why = None if os.geteuid() == 0 else "needs root"
    if why is None and isinstance(groups.find("cpu"), str):
        why = f"needs control groups: {groups.find('cpu')}"
    if why is not None:
        cannot_run(request, why)
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    path = tmp_path / f"work-{os.getpid()}-{random.getrandbits(32):x}"
    path.mkdir()
    (path / "input").write_bytes(os.urandom(4 << 20))
    return path


PROGRAM = """
import sys
from pathlib import Path
from iowhy.errors import Problem
from iowhy.experiments.experiment import Request, experiment
from iowhy.experiments.job import Job
try:
    experiment(Request(
        job=Job(command=tuple(sys.argv[2:]), directory=Path(sys.argv[1]), timeout_s=20.0),
        levers=("cpu-quota", "cpu-pin", "io-contention", "fast-device", "sync-free", "preallocate",
                "memory-limit", "cache-warm", "io-throttle"),
        allow_unsafe=True, cache="cold", runs=40, seed=1,
    ))
except Problem as problem:
    sys.exit(str(problem))
"""


def started(work, *command):
    """An experiment under way: its first trial has begun when the journal is there."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(work), *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not list((work.parent / "state").glob("*.jsonl")):
        assert child.poll() is None and time.monotonic() < end, "the experiment did not start"
        time.sleep(0.01)
    return child


def left_by(child, work):
    """Everything that this experiment could have left on the machine."""
    mounts = Path("/proc/self/mountinfo").read_text()
    found = [line for line in mounts.splitlines() if str(work.parent) in line]
    found += map(str, control_groups(f"iowhy-{child.pid}-"))
    found += [str(p) for p in Path("/dev/shm").glob(f".iowhy-*/{work.name}")]
    found += [str(p) for p in work.parent.rglob(".iowhy-*")]
    found += [
        f"process {pid}"
        for pid in process.marked("IOWHY_STATE", str(work.parent / "state")).found
        if pid != os.getpid() and not process.is_zombie(pid)
    ]
    found += [str(p) for p in (work.parent / "state").iterdir()]
    return found


def content(work):
    return {p.name: p.read_bytes() for p in work.iterdir()}


def settled(child, work):
    """What is left once the kernel has taken away the dead (a moment, not a wait for work)."""
    end = time.monotonic() + 60
    while (left := left_by(child, work)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


# Leaves a detached process behind in every run, and writes nothing.
BUSY = ("sh", "-c", "setsid sleep 30 >/dev/null 2>&1 & dd if=input of=/dev/null bs=64k status=none")


def test_killed_at_random_moments(work):
    before = content(work)
    affinity = os.sched_getaffinity(0)
    random_moment = random.Random(5)
    something_was_left = 0
    for _ in range(KILLS):
        child = started(work, *BUSY)
        time.sleep(random_moment.uniform(0.0, 2.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
        something_was_left += bool(list((work.parent / "state").glob("*.jsonl")))
        recover()
        assert settled(child, work) == []
        assert content(work) == before
    assert something_was_left > 0, "no kill hit an experiment at work: the test tested nothing"
    assert os.sched_getaffinity(0) == affinity


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_twice_it_undoes_everything_itself(work, number):
    before = content(work)
    child = started(work, *BUSY)
    time.sleep(1.0)
    child.send_signal(number)
    time.sleep(0.05)
    child.send_signal(number)
    child.wait(60)
    assert child.returncode != 0
    assert settled(child, work) == []
    assert content(work) == before


def test_a_command_that_hangs_is_killed_with_all_that_it_started(work):
    hanging = "setsid sleep 60 & trap '' TERM INT HUP; while :; do sleep 1; done"
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("20.0", "0.3"), str(work), "sh", "-c", hanging],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "did not end within 0.3 s (--timeout)" in child.stderr
    left = process.marked("IOWHY_STATE", str(work.parent / "state")).found
    assert [pid for pid in left if pid != os.getpid() and not process.is_zombie(pid)] == []
    assert list((work.parent / "state").iterdir()) == []


def gone(mark, out, patience_s=60.0):
    """Waits until no process carries the mark any more, and opens the recording."""
    end = time.monotonic() + patience_s
    while left := process.marked("IOWHY_TEST", mark).found:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.05)
    return open_recording(out)


def recorded(out):
    """Waits until the command is under way: its process is the recorder's."""
    end = time.monotonic() + 60
    while not (out.parent / "runs").exists():
        assert time.monotonic() < end, "the command did not start"
        time.sleep(0.02)


@pytest.mark.usefixtures("live")
def test_a_recorder_started_by_hand_outlives_its_shell(tmp_path):
    mark, out = f"{random.getrandbits(64):x}", tmp_path / "alone.iowhy"
    command = f"{program(RECORDER)} run -o {out} -- sh -c 'touch {tmp_path}/runs; sleep 1' &"
    subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "IOWHY_TEST": mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    recorded(out)
    manifest = gone(mark, out).manifest
    assert manifest.complete and manifest.command.exit_status == 0
