"""A live recording has one budget too: the report, the verdict, its JSON and the comparison are equal."""

from pathlib import Path

import pytest

from iowhy.comparisons import layers
from iowhy.reports import run
from iowhy.whys.verdict import judge
from iowhy.whys.verdict_json import as_json
from machine import ask, filesystem, python, record

pytestmark = pytest.mark.usefixtures("live")

WORK = """
import os, sys, threading, time
def write(path):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    for _ in range(20):
        os.write(fd, bytes(4096))
        os.fsync(fd)
threads = [threading.Thread(target=write, args=(f"{sys.argv[1]}/{n}",)) for n in range(3)]
for one in threads: one.start()
# Of CPU time, as on a busy machine the clock on the wall runs faster; mostly not in the call that asks for it.
while time.thread_time() < 0.4: sum(range(20000))
for one in threads: one.join()
time.sleep(0.2)
"""


def test_one_budget(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(WORK, scratch.mount), tmp_path / "a.iowhy")
    report = {row["class"]: row for row in run(recording, "budget").to_pylist()}
    verdict = judge(recording)
    printed = {row["class"]: row for row in as_json(verdict)["budget"]}
    for line in verdict.budget.lines:
        for given in (report[line.cls], printed[line.cls]):
            assert (given["thread_ns"], given["elapsed_ns"]) == (line.thread_ns, line.elapsed_ns)
    compared = {part.name: part.before_s for part in layers.parts(verdict, verdict)}
    assert compared == {x.cls: x.elapsed_ns / 1e9 for x in verdict.budget.lines if x.elapsed_ns}
    total = ask(recording, "SELECT sum(interval_ns) FROM thread_time")[0][0]
    assert sum(row["thread_ns"] for row in report.values()) == total
    command = recording.manifest.command
    elapsed = sum(row["elapsed_ns"] for row in report.values())
    assert elapsed == command.end_ns - command.start_ns
    assert report["waiting for sync"]["thread_ns"] > 0
    assert report["on-CPU user"]["thread_ns"] > 100_000_000
