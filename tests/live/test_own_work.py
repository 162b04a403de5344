"""What iowhy does itself in a recorded process is not in the recording: a block's calls are those that strace sees in it."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import iowhy
from iowhy.sources import aside

pytestmark = pytest.mark.usefixtures("live")

# The recorder of the outer block is waited for until it has asked filesystems, in a child of its own.
BLOCKS = """
import os, subprocess, sys, time
import iowhy
from iowhy.sources.aside import aside
folder = sys.argv[1]
def syncs(number):
    fd = os.open(folder + "/log", os.O_CREAT | os.O_WRONLY)
    for _ in range(number):
        os.write(fd, b"x" * 4096)
        os.fsync(fd)
    os.close(fd)
with iowhy.recording(folder + "/outer.iowhy") as outer:
    syncs(1)
    with aside():
        time.sleep(1)
    with iowhy.recording(folder + "/inner.iowhy") as inner:
        syncs(2)
    assert inner.measures["sync_calls"] == 2 and str(inner)
    syncs(3)
"""


def calls_of(path: Path) -> Counter[str]:
    rows = iowhy.open(path).report("syscalls").rows()
    return Counter({row["name"]: row["calls"] for row in rows})


def traced(log: Path, thread: int) -> list[list[str]]:
    """Names of the thread's calls, in stretches that marks divide."""
    stretches: list[list[str]] = [[]]
    for line in log.read_text().splitlines():
        who, said = line.split(maxsplit=1)
        if int(who) != thread:
            continue
        if is_mark(said):
            stretches.append([])
        elif called := re.match(r"([a-z_0-9]+)\(", said):
            stretches[-1].append(called[1])
    return stretches


def is_mark(said: str) -> bool:
    found = re.match(r"fadvise64\(-1, (0x[0-9a-f]+|[0-9]+)", said)
    return found is not None and int(found[1], 0) >> 8 == aside._WORD >> 8


def test_a_block_has_the_calls_that_strace_sees_in_it(tmp_path: Path) -> None:
    log = tmp_path / "strace"
    done = subprocess.run(
        ["strace", "-f", "-q", "-o", log, sys.executable, "-c", BLOCKS, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first = int(log.read_text().split(" ", 1)[0])
    stretches = traced(log, first)
    of_program = [Counter(one) for one in stretches if "fsync" in one]
    assert [one["fsync"] for one in of_program] == [1, 2, 3]
    assert of_program[0].total() == 4
    assert calls_of(tmp_path / "inner.iowhy") == of_program[1]
    # Between its parts there is python's own work too, which is a call now and then.
    outer = calls_of(tmp_path / "outer.iowhy")
    assert outer["fsync"] == outer["write"] == 6 and outer["openat"] == 3
    assert outer.total() <= 20
    manifest = json.loads((tmp_path / "outer.iowhy" / "manifest.json").read_bytes())
    assert manifest["command"]["mode"] == "block"
    assert iowhy.open(tmp_path / "outer.iowhy").verdict.budget.left_out > 0.5


def test_a_block_does_not_wait_for_its_own_begin_and_end(tmp_path: Path) -> None:
    """Without strace, which stops it at each call."""
    words = [sys.executable, "-c", BLOCKS.replace("range(number)", "range(100 * number)"), tmp_path]
    words[2] = words[2].replace('["sync_calls"] == 2', '["sync_calls"] == 200')
    subprocess.run(words, check=True, timeout=300)
    verdict = iowhy.open(tmp_path / "outer.iowhy").verdict
    assert not verdict.too_short and "not-io" not in [f.cause for f in verdict.findings]
