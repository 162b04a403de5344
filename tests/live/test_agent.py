"""The agent as it runs: each kind of trigger, a trigger's recording, what it keeps, and what is left when it is killed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.agent import retention
from iowhy.lab.stage import Choice, stage
from iowhy.recordings import open_recording
from running_agent import agent, command, within

pytestmark = pytest.mark.usefixtures("live")


def test_a_trigger_records_fully_and_is_judged_and_the_next_one_is_bounded(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    with agent(root, triggers="") as (running, log):
        within(
            60,
            lambda: "recordings in" in log.read_text() and list(root.glob(".open/*/agent_counts")),
        )
        done = command("agent", "trigger", root)
        assert done.returncode == 0, done.stderr
        assert "asked for a recording" in done.stdout
        within(120, lambda: re.search(r"trigger [a-z-]+: .*kept in", log.read_text()))
        assert command("agent", "trigger", root).returncode == 0
        within(
            60, lambda: "not recorded: its last recording was a short time ago" in log.read_text()
        )
        second = command("agent", "run", "-c", root.with_suffix(".toml"))
        assert second.returncode == 2 and "another agent works here" in second.stderr
    assert running.returncode == 0, log.read_text()
    (made,) = root.glob("date=*/host=*/*-trigger-*.iowhy")
    full = open_recording(made)
    assert full.manifest.complete and full.manifest.tables["threads"].kept > 0
    (kept,) = root.glob("date=*/host=*/*-agent.iowhy")
    assert open_recording(kept).manifest.complete
    assert not any((root / retention.OPEN).iterdir())
    asked = command("agent", "trigger", root)
    assert asked.returncode == 2 and "no agent works here" in asked.stderr


#: One of each form, and what it must say of a disk that takes 20 ms to flush.
FORMS = {
    "slow-fsync": ("fsync p99 > 5 ms for 2 s", r"at least [0-9.]+ m?s of "),
    "slow-flush": ("request flush p50 > 5 ms", r"at least [0-9.]+ m?s of {disk}"),
    # Not the median: of the waits that the journal's thread has per commit, only the one for the flush is long for sure.
    "waits": ("wait p90 > 1 ms for 2 s", r"at least [0-9.]+ m?s of "),
    "stalled": ("io pressure some > 20 %", r"[0-9]+ % of the machine"),
    "full-disk": ("device {disk} utilisation > 30 % for 2 s", r"[0-9]+ % of {disk}"),
    "stuck": ("threads in D > 1", r"[0-9]+ of the machine"),
}
#: Four threads, so that some wait at an interval's end.
SYNCS = """
import os, sys, threading
def work(path):
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    while True:
        os.pwrite(fd, bytes(4096), 0)
        os.fsync(fd)
for number in range(4): threading.Thread(target=work, args=(f"{sys.argv[1]}/{number}",)).start()
"""


def test_each_kind_of_trigger_holds_where_a_disk_is_slow(tmp_path: Path) -> None:
    """And what no machine tells is said, where it would never hold."""
    root = tmp_path / "agent"
    with stage(Choice(fs="ext4", device="flush-slow"), tmp_path) as on:
        made = on.scratch_filesystem(256)
        disk = made.disk.name
        on.start_clock()
        lines = [f'{name} = "{text.format(disk=disk)}"' for name, (text, _) in FORMS.items()]
        lines.append('no-disk = "device nosuch utilisation > 95 % for 30 s"')
        with (
            subprocess.Popen([sys.executable, "-c", SYNCS, made.path]) as work,
            agent(root, triggers="\n".join(lines)) as (running, log),
        ):
            try:
                for name, (text, value) in FORMS.items():
                    said = rf"trigger {name}: {re.escape(text.format(disk=disk))}: {value.format(disk=disk)}"
                    within(60, lambda said=said: re.search(said, log.read_text()))
                assert re.search(
                    r"trigger no-disk: there is no disk nosuch here: ", log.read_text()
                )
                within(180, lambda: re.search(r"trigger [a-z-]+: .*kept in", log.read_text()))
            finally:
                work.kill()
        on.stop_clock()
    assert running.returncode == 0, log.read_text()
