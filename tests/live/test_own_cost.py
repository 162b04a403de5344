"""What the recorder takes to record calls is neither user nor kernel time of the command."""

import json
import subprocess
from pathlib import Path

import pytest

from iowhy.whys.verdict import judge
from machine import ask, python, record

#: CPU times of two runs are compared.
pytestmark = [
    pytest.mark.usefixtures("live", "before_others"),
    pytest.mark.alone,
    pytest.mark.disturbed_by("cpu"),
]

# The kernel counts user and kernel time by ticks of some ms: of so many calls the recorder takes a hundred of them.
CALLS = 3_000_000

# One byte a call, as `dd bs=1` and readers without a buffer do: from one file into another, which the recorder
# has to tell apart at every call.
BYTES = f"""
import json, os, resource, sys
source, target = os.open("/dev/zero", os.O_RDONLY), os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range({CALLS // 2}):
    os.write(target, os.read(source, 1))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime, used.ru_stime]))
"""


def test_the_rest_is_what_the_command_takes_alone(tmp_path: Path) -> None:
    alone = subprocess.run(
        python(BYTES, tmp_path / "alone"), capture_output=True, check=True, timeout=120
    )
    user_alone, kernel_alone = json.loads(alone.stdout)
    shell = ["sh", "-c", '"$@" >"$0"', tmp_path / "printed", *python(BYTES, tmp_path / "f")]
    recording = record(shell, tmp_path / "a.iowhy")
    user_told, kernel_told = json.loads((tmp_path / "printed").read_text())
    tgid = ask(recording, "SELECT tgid FROM syscall_totals GROUP BY tgid ORDER BY sum(calls)")[-1][
        0
    ]
    user, kernel, recorder = ask(
        recording,
        "SELECT sum(cpu_user_ns)/1e9, sum(cpu_kernel_ns)/1e9, sum(cpu_recorder_ns)/1e9"
        f" FROM thread_time WHERE tgid = {tgid}",
    )[0]
    # All of it is in what the kernel itself accounts; it reads its clock a little before the command's end.
    assert user + kernel == pytest.approx(user_told + kernel_told, rel=0.03, abs=0.03)
    assert kernel == pytest.approx(kernel_told, rel=0.05, abs=0.05)
    cost = recording.manifest.recorder
    assert cost.call_ns is not None and cost.call_passing_ns is not None
    assert 0 < cost.call_passing_ns <= cost.call_ns
    assert recorder > CALLS * cost.call_passing_ns / 1e9
    # Most of what the recorded run took more in the kernel is the recorder's line, and none of it is user time.
    assert abs(kernel - recorder - kernel_alone) < 0.5 * (kernel - kernel_alone)
    assert abs(user - user_alone) < 0.5 * (kernel - kernel_alone)
    line = judge(recording).budget.line("the recorder itself")
    assert line.thread_s == pytest.approx(
        ask(recording, "SELECT sum(cpu_recorder_ns)/1e9 FROM thread_time")[0][0], rel=1e-6
    )
    assert any("the recorder itself" in note for note in judge(recording).notes)
