"""User stacks tell nobody more than they may see: who may not trace has none, who records as root keeps them, and nothing of a program's
memory but addresses of its code."""

import json
import os
import shutil
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.recordings.schema import tables
from machine import ask, filesystem, record, run
from test_not_root import as_nobody, place

__all__ = ["place"]
STACKS = ("stack_samples", "user_stacks", "modules")
SOURCES = Path(__file__).parent / "paths"
#: As in secrets.c.
WORD = 0x5EC2E75EC2E75EC2


def test_who_may_not_trace_has_no_stacks_of_a_setuid_program(place: Path) -> None:
    """Its user starts it, and may not see what it does: neither its addresses nor what it has mapped."""
    program = place / "sleep"
    shutil.copy("/bin/sleep", program)
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    done = as_nobody(place, "run", "--stacks", "-o", "s.iowhy", "--", "./sleep", "0.5")
    assert done.returncode == 0, done.stderr
    recording = open_recording(place / "s.iowhy")
    for table in STACKS:
        assert ask(recording, f"SELECT count(*) FROM {table}") == [(0,)]
    (sensor,) = (one for one in recording.manifest.sensors if one.name == "user_stacks")
    assert not sensor.ran and "only root" in str(sensor.why)


@pytest.mark.usefixtures("live")
def test_stacks_of_roots_are_roots_alone_and_hold_nothing_of_memory(tmp_path: Path) -> None:
    run("gcc", "-O2", "-g", "-o", str(tmp_path / "secrets"), str(SOURCES / "secrets.c"))
    with filesystem("ext4", tmp_path) as scratch:
        command = [tmp_path / "secrets", scratch.mount / "file"]
        recording = record(command, tmp_path / "r.iowhy", "--stacks")
    whole = "SELECT count(*) FROM stack_samples WHERE syscall = 'fsync' AND whole"
    assert ask(recording, whole)[0][0] > 10
    for table in STACKS:
        found = [recording.path / table, *(recording.path / table).iterdir()]
        assert len(found) > 1
        assert {(one.stat().st_uid, one.stat().st_mode & 0o077) for one in found} == {(0, 0)}
        names = [column.name for column in tables()[table].columns]
        rows = ask(recording, f"SELECT {', '.join(names)} FROM {table}")
        # Two of its bytes would be a coincidence, eight are not; an address that was taken from it differs in the last ones.
        words = [one for row in rows for one in row if isinstance(one, int)]
        assert rows and all(abs(one - WORD) > 2**32 for one in words)
        assert "5ec2e75e" not in json.dumps(rows).lower()
