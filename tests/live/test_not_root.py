"""Who is not root gets what /proc tells, and is told what root would see."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy.sources.live import RECORDER, program

pytestmark = pytest.mark.usefixtures("live")

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that anybody may enter and write, with the recorder in it."""
    folder = Path(tempfile.mkdtemp(prefix="iowhy-test-", dir="/var/tmp"))
    folder.chmod(0o777)
    shutil.copy(program(RECORDER), folder / "iowhy-record")
    (folder / "iowhy-record").chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    def become() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return subprocess.run(
        [str(place / "iowhy-record"), *arguments],
        cwd=place,
        preexec_fn=become,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_from_proc_alone(place: Path) -> None:
    done = as_nobody(place, "run", "-o", "a.iowhy", "--", "sleep", "0.5")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((place / "a.iowhy/manifest.json").read_text())
    assert manifest["source"] == "proc" and manifest["complete"]
    # The command itself has ended: it is not what "ran on after it".
    assert not manifest.get("notes"), manifest["notes"]
    refused = {s["why"] for s in manifest["sensors"] if s["name"] in ("syscalls", "waits")}
    assert any("only root" in why for why in refused), refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--user", "root"), "only root can run a command as another user"),
        (("--mode", "bpf"), "only root may load eBPF programs"),
        (("-o", "/proc/no.iowhy"), "-o chooses another place"),
    ],
)
def test_what_only_root_can_is_said_and_leaves_nothing(
    place: Path, options: tuple[str, ...], message: str
) -> None:
    where = () if "-o" in options else ("-o", "b.iowhy")
    done = as_nobody(place, "run", *where, *options, "--", "true")
    assert done.returncode == 125 and message in done.stderr
    assert not (place / "b.iowhy").exists()
