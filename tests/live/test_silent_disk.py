"""A disk that answers nobody: who waits for it ends when it answers, the recorder before, and the verdict names it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.whys.verdict import judge
from machine import emulated, run

# A sync of anybody, of all filesystems, waits for such a disk.
pytestmark = [pytest.mark.usefixtures("live"), pytest.mark.alone]

#: Far longer than all deadlines together: what takes so long hangs.
HANGS_S = 60


@pytest.fixture
def silenced(tmp_path: Path) -> Iterator[Path]:
    """Where ext4 is mounted, on a disk that has just stopped answering."""
    with emulated(tmp_path, "--unpaced") as made:
        (made.mount / "file").write_bytes(bytes(8 << 20))
        run("sync", "-f", str(made.mount))
        (tmp_path / "server").write_text(str(made.server.pid))
        made.server.send_signal(signal.SIGSTOP)
        yield made.mount


def ended(words: list[str | Path], said: Path, *, status: int, interrupted: bool = False) -> None:
    """iowhy ends so in time; Ctrl-C is pressed after a while. A command that waits on keeps its streams: it speaks to a file."""
    argv = [sys.executable, "-m", "iowhy.cli.main", *words]
    with (
        said.open("w") as out,
        subprocess.Popen(argv, stderr=out, process_group=0) as iowhy,
    ):
        try:
            if interrupted:
                time.sleep(6)
                os.killpg(iowhy.pid, signal.SIGINT)
            iowhy.wait(HANGS_S)
        except BaseException:
            iowhy.kill()
            raise
    assert iowhy.returncode == status, said.read_text()


def test_who_waits_for_it_is_recorded(tmp_path: Path, silenced: Path) -> None:
    out, said = tmp_path / "a.iowhy", tmp_path / "said"
    read = ["dd", f"if={silenced}/file", "iflag=direct", "of=/dev/null", "status=none"]
    with subprocess.Popen(read, start_new_session=True) as reader:
        try:
            for words in (["-p", str(reader.pid)], ["-a"], ["-a", "--mode", "proc"]):
                ended(["run", "-q", "--duration", "3", "-o", out, *words], said, status=0)
                named(out, silenced)
            ended(["run", "-q", "-o", out, "--", *read], said, status=130, interrupted=True)
            named(out, silenced)
        finally:
            os.kill(int((tmp_path / "server").read_text()), signal.SIGCONT)


def named(out: Path, mount: Path) -> None:
    """The verdict says which disk does not answer."""
    recording = open_recording(out)
    assert recording.manifest.complete
    first = judge(recording).findings[0]
    assert first.cause == "device-slow" and first.comes_first and f"on {mount}" in first.summary
    shutil.rmtree(out)
