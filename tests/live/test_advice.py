"""What a verdict prints can be pasted: each command of it is run by a shell, as it stands there."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.lab.stage import Choice, stage
from iowhy.recordings import open_recording
from iowhy.whys.verdict import judge
from shells import shell, typed
from tests.whys.advice import commands_of

pytestmark = pytest.mark.usefixtures("live")
__all__ = ["shell"]

#: Also on the page, beside what findings say: `Devices  iowhy report devices x.iowhy`.
_REPORTS = re.compile(r"(?:^|[\s`])(iowhy report [a-z-]+ \S+\.iowhy)")
_SYNCS = (
    f'{sys.executable} -S -c \'import os; log = os.open("{{data}}/log", os.O_CREAT | os.O_WRONLY);'
    ' [(os.write(log, b"x" * 512), os.fsync(log)) for _ in range(400)]\''
)
#: No lever takes the durability of a write itself away.
_DURABLE_WRITES = "dd if=/dev/zero of={data}/log bs=512 count=400 oflag=dsync"
_COMPUTES = f"{sys.executable} -S -c 'n = sum(range(12_000_000))'"


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory on a disk that is slow to sync, whatever the machine's own is like."""
    if os.geteuid() != 0:
        cannot_run(request, "needs root")
    with stage(Choice(fs="ext4", device="ssd"), tmp_path) as made:
        slow = made.scratch_filesystem(64).path / "data"
        slow.mkdir()
        # No experiment is printed about what lies in a lab's own directory, which is gone when somebody reads that.
        place = tmp_path / "data"
        place.mkdir()
        subprocess.run(["mount", "--bind", slow, place], check=True)
        made.start_clock()
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize(
    ("command", "provable"),
    [
        pytest.param(_SYNCS, True, id="syncs"),
        pytest.param(_DURABLE_WRITES, False, id="durable-writes"),
        # Where others leave it no CPU, that is the cause, which no experiment proves.
        pytest.param(_COMPUTES, True, id="computes", marks=pytest.mark.alone),
    ],
)
def test_each_command_that_is_printed_runs(
    command: str, provable: bool, shell: Path, disk: Path
) -> None:
    """Those of reports, and the experiments: also of a command whose file lies elsewhere than where it runs."""
    data = disk
    run = typed(f"iowhy run -o made.iowhy -- {command.format(data=data)}")
    verdict = judge(open_recording(shell / "made.iowhy"))
    page = run.stdout + run.stderr + typed("iowhy why made.iowhy --all").stdout
    found = {*commands_of(verdict), *_REPORTS.findall(page)}
    assert any(one.startswith("iowhy report") for one in found)
    proofs = [one.proof for one in verdict.findings if one.proof is not None]
    assert bool(proofs) == provable, verdict.answer
    for proof in proofs:
        assert "sync-free" not in proof or f" --data-directory {data} " in proof
    before = {path: path.read_bytes() for path in data.iterdir()}
    for one in sorted(found):
        # Three trials of each instead of as many as it takes: what is typed is what is tried.
        done = typed(one.replace(" --recording ", " --runs 3 --recording "))
        if one in proofs and done.returncode == 0:
            findings = json.loads(typed("iowhy why --json made.iowhy").stdout)["findings"]
            assert any(finding["tested"] for finding in findings), one
    assert {path: path.read_bytes() for path in data.iterdir()} == before
