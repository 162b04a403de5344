"""A thousand control groups that come and go in a minute are counted, each under its own number, and a trigger that holds while it is recorded starts no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iowhy.lab.stage import Choice, stage
from iowhy.recordings import open_recording
from machine import ask, number, one, python
from running_agent import agent, counts, within
from test_agent_counts import aggregating, opened

pytestmark = pytest.mark.usefixtures("live")

GROUPS, BLOCK = 1000, 4096
#: Each group has one process, which waits for one read, and is gone.
WORK = f"""
import mmap, os, sys
root, file = sys.argv[1:]
fd = os.open(file, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, {BLOCK})
for number in range({GROUPS}):
    group = root + "/iowhy-come-and-go-%d" % number
    os.mkdir(group)
    child = os.fork()
    if child == 0:
        with open(group + "/cgroup.procs", "w") as procs: procs.write("0")
        os.preadv(fd, [page], number * {BLOCK})
        os._exit(0)
    os.waitpid(child, 0)
    os.rmdir(group)
"""


def root() -> Path:
    """Where runtimes put containers: version 1 where that is mounted, else version 2."""
    old = Path("/sys/fs/cgroup/memory")
    return old if (old / "cgroup.procs").exists() else Path("/sys/fs/cgroup")


def test_a_thousand_groups_are_counted_each_for_itself(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    # What a quick disk has read before the reader looks is not waited for: this one takes its time.
    with stage(Choice(fs="ext4", device="ssd"), tmp_path) as on:
        made = on.filesystem(on.disk(256, changes=("--access-us=500",)))
        file = made.path / "blocks"
        file.write_bytes(bytes(GROUPS * BLOCK))
        subprocess.run(["sync", file], check=True)
        on.start_clock()
        with aggregating(folder) as lines:
            subprocess.run(python(WORK, root(), file), check=True)
        on.stop_clock()
        dev = number(made.path)
    kept = opened(folder)
    waits = "FROM agent_latencies WHERE measure = 'io_wait' AND name LIKE 'preadv%' AND dev = ?"
    ((count, groups),) = ask(kept, f"SELECT sum(count), count(DISTINCT cgroup) {waits}", dev)
    lost = sum(int(str(line["lost"])) for line in lines)
    assert lost == kept.manifest.tables["agent_latencies"].lost
    assert count + lost >= GROUPS, (count, groups, lost)
    assert groups + lost >= GROUPS
    # One is gone before it can be asked for its name: its number stays.
    assert one(kept, f"SELECT count(*) {waits} AND cgroup IS NULL", dev) == 0
    assert sum(one_.stat().st_size for one_ in folder.rglob("*.parquet")) < GROUPS * 2048


def test_a_trigger_that_holds_while_it_is_recorded_starts_no_other(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    always = 'always = "cpu pressure some > 0 %"\nalso = "threads in D > 0"'
    busy = "import os\nos.fork()\nos.fork()\nwhile True: pass"
    with (
        subprocess.Popen([sys.executable, "-c", busy], start_new_session=True) as work,
        agent(root, triggers=always) as (running, log),
    ):
        try:
            within(60, lambda: counts(root))
            said = r"trigger always: .*; not recorded: a recording is under way"
            within(120, lambda: re.search(said, log.read_text()))
            within(180, lambda: "kept in" in log.read_text())
        finally:
            subprocess.run(["kill", "--", f"-{work.pid}"], check=True)
    assert running.returncode == 0, log.read_text()
    (full,) = root.glob("date=*/host=*/*-trigger-*.iowhy")
    assert open_recording(full).manifest.complete
    assert len(re.findall(said, log.read_text())) == 1
