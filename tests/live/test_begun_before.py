"""Calls that began before the recording and do not end in it: no event shows them, and they have their names."""

import subprocess
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from iowhy.whys.verdict import judge
from machine import ask, filesystem, run
from running_agent import within

pytestmark = pytest.mark.usefixtures("live")


def test_a_writer_that_meets_a_freeze_waits_for_that_in_its_call(tmp_path: Path) -> None:
    out = tmp_path / "a.iowhy"
    with filesystem("ext4", tmp_path) as scratch:
        run("fsfreeze", "--freeze", str(scratch.mount))
        try:
            with subprocess.Popen(["sh", "-c", f"echo a >{scratch.mount}/a"]) as writer:
                stat = Path(f"/proc/{writer.pid}/stat")
                within(10, lambda: ") D " in stat.read_text())
                words = ["attach", "--pid", str(writer.pid), "--duration", "1.5", "-o", out]
                subprocess.run([program(RECORDER), *words], check=True, timeout=60)
                run("fsfreeze", "--unfreeze", str(scratch.mount))
                assert writer.wait(10) == 0
        finally:
            subprocess.run(
                ["fsfreeze", "--unfreeze", scratch.mount], check=False, stderr=subprocess.DEVNULL
            )
        recording = open_recording(out)
        assert ask(recording, "SELECT DISTINCT reason, syscall, dev FROM waits") == [
            ("frozen", "openat", scratch.dev)
        ]
    first = judge(recording).findings[0]
    assert first.cause == "filesystem-frozen" and str(scratch.mount) in first.summary
