"""Settings act on a scratch disk, and are as they were on every way out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.experiments import groups
from iowhy.experiments.condition import BASELINE, Condition
from iowhy.experiments.executor import LiveExecutor
from iowhy.experiments.job import Job
from iowhy.experiments.setting import Profile, Setting
from iowhy.lab.stage import Choice, stage
from iowhy.tuning.knob import Clues
from iowhy.tuning.knobs import knobs
from iowhy.tuning.search import Request, tune
from iowhy.undo import Undo, recover
from iowhy.whys import classes
from tests.torture.tune_kills import state

DISK = ("read_ahead_kb", "scheduler", "nr_requests", "wbt_lat_usec", "noatime", "commit")


@pytest.fixture
def disk(tmp_path, monkeypatch, request):
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        cannot_run(request, "needs root and loop devices")
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    with stage(Choice(fs="ext4", device="file"), tmp_path) as made:
        yield made.scratch_filesystem(64).path


def test_each_setting_of_the_disk_is_there_for_its_trial_and_gone_after_it(disk):
    with Undo.session("test") as undo:
        setting = Setting(("true",), disk, undo, Profile(1.0, 1.0))
        before = state(setting)
        changed = set()
        for name in DISK:
            knob = knobs()[name]
            for value in knob.values(setting, Clues(allow_unsafe=True)):
                with knob.apply(knob.level(value), setting):
                    changed |= {name} if state(setting) != before else set()
                assert state(setting) == before, (name, value)
        assert changed >= {"read_ahead_kb", "scheduler", "noatime", "commit"}


HOLD = """
import sys, time
from pathlib import Path
from iowhy.experiments.setting import Profile, Setting
from iowhy.tuning.knob import Clues
from iowhy.tuning.knobs import knobs
from iowhy.undo import Undo
with Undo.session("tune") as undo:
    setting = Setting(("true",), Path(sys.argv[1]), undo, Profile(1.0, 1.0))
    knob = knobs()[sys.argv[2]]
    with knob.apply(knob.level(knob.values(setting, Clues(allow_unsafe=True))[0]), setting):
        print("held", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("name", ["scheduler", "noatime"])
def test_a_kill_leaves_nothing_changed(disk, name):
    with Undo.session("test") as undo:
        setting = Setting(("true",), disk, undo, Profile(1.0, 1.0))
        before = state(setting)
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, disk, name], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "held\n" and state(setting) != before
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The session's guard undoes it; whoever starts first does so, too.
        recover()
        end = time.monotonic() + 10
        while state(setting) != before and time.monotonic() < end:
            time.sleep(0.05)
        assert state(setting) == before


def test_a_program_that_is_bound_to_one_cpu_is_given_all(disk, request):
    if (os.cpu_count() or 1) < 2:
        cannot_run(request, "needs two CPUs")
    all_cpus = os.sched_getaffinity(0)
    code = "import os,sys; open('seen','a').write(f'{len(os.sched_getaffinity(0))} ')"
    job = Job((sys.executable, "-I", "-S", "-c", code), disk)
    os.sched_setaffinity(0, {min(all_cpus)})
    try:
        shares = {classes.RUNNABLE: 0.6}
        found = tune(Request(job, Clues(shares, known=True), most_tries=2, runs=3, seed=1))
    finally:
        os.sched_setaffinity(0, all_cpus)
    assert "cpus" in " ".join(one.name for one in found.tried)
    # Warming up, profiling, three alone and three each.
    seen = (disk / "seen").read_text().split()
    assert seen.count(str(os.cpu_count())) == 3 and len(seen) >= 8


def test_more_weight_is_heeded_next_to_another_session(tmp_path, request):
    if os.geteuid() != 0 or isinstance(groups.find("cpu"), str):
        cannot_run(request, "needs root and a cpu controller")
    spin = "import sys,time; e=time.process_time; s=e()\nwhile e() - s < float(sys.argv[1]): pass"
    spinning = [sys.executable, "-I", "-S", "-c", spin]
    others = [subprocess.Popen([*spinning, "60"], start_new_session=True) for _ in range(2)]
    knob = knobs()["cpu-weight"]
    try:
        with Undo.session("test") as undo:
            setting = Setting((*spinning, "0.3"), tmp_path, undo, Profile(1.0, 1.0))
            job = Job(setting.argv, tmp_path)
            executor = LiveExecutor(job, setting, undo, known={"cpu-weight": knob})
            # On the CPU of both others a third of it is left, and with ten times the share most of it.
            for one in (*others, None):
                os.sched_setaffinity(0 if one is None else one.pid, {0})
            level = knob.level(knob.values(setting, Clues())[0])
            alone = executor.run(BASELINE).wall_s
            assert executor.run(Condition("cpu-weight", level)).wall_s < 0.7 * alone
    finally:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        for one in others:
            one.kill()
            one.wait()
