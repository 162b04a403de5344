"""A shell to type in, as a user does who pastes what a page says."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from iowhy.experiments.device import device_of


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to type in, where `iowhy` is found."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "iowhy").write_text(f'#!/bin/sh\nexec {sys.executable} -m iowhy.cli.main "$@"\n')
    (place / "iowhy").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "400")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def typed(command: str, within: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """What it prints, run by a shell; asserts that it ends well. `within`: words before the shell, which enter a control group, say."""
    done = subprocess.run(
        [*within, "sh", "-c", command], capture_output=True, text=True, check=False
    )
    # In a container's own layers there is no disk to take away or to leave out.
    nowhere = device_of(Path.cwd()) is None and "is not on a block device" in done.stderr
    assert done.returncode == 0 or nowhere, (command, done.stdout, done.stderr)
    return done
