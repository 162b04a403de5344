"""`--sudo` starts the same again as root."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy.cli import _sudo as _rise
from iowhy.cli.main import main


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """What takes the place of this process, of a user who has a program of their own on the path."""
    for name in ("sudo", "iowhy", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(_rise, "own_program", lambda: tmp_path / "iowhy")
    monkeypatch.setenv("IOWHY_IGNORED", f"{int(signal.SIGXFSZ)}")
    before = signal.getsignal(signal.SIGPIPE)
    words: list[list[str]] = []

    def execv(path: str, argv: list[str]) -> None:
        assert path == str(tmp_path / "sudo")
        words.append(argv)
        # What Python ignores is not ignored by what comes after it, unless the caller did.
        assert signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.chdir(tmp_path)
    yield words
    signal.signal(signal.SIGPIPE, before)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["iowhy", "run", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_with_the_whole_path_of_what_sudo_would_not_find(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sudo, iowhy = str(tmp_path / "sudo"), str(tmp_path / "iowhy")
    assert run(monkeypatch, "--sudo", "-q", "--", "mine", "--sudo", "a b") == 0
    assert run(monkeypatch, "--sudo", "ls", "-l") == 0
    assert run(monkeypatch, "--sudo", "-a", "--duration", "1s") == 0
    assert started == [
        [sudo, "--", iowhy, "run", "--sudo", "-q", "--", f"{tmp_path}/mine", "--sudo", "a b"],
        [sudo, "--", iowhy, "run", "--sudo", "ls", "-l"],
        [sudo, "--", iowhy, "run", "--sudo", "-a", "--duration", "1s"],
    ]


def test_without_sudo_it_says_so(
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "sudo").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(monkeypatch, "--sudo", "-a") == 2
    assert "there is no sudo here" in capsys.readouterr().err and not started
