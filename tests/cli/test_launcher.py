"""The program `iowhy` becomes Python's script beside it, and leaves everything else as the caller had it."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from iowhy.sources.live import program

#: Stands for the script: shows its words, what it was told of signals, and which streams are open.
SHOWS = """#!/bin/sh
printf '<%s>' "$@"
echo " ${IOWHY_IGNORED-unset}"
grep SigIgn /proc/self/status
for stream in 0 1 2; do test -e /proc/$$/fd/$stream && echo "$stream is open"; done
exit 7
"""


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """A copy of the program beside a script of the test's own."""
    script = tmp_path / "iowhy-cli"
    script.write_text(SHOWS)
    script.chmod(0o755)
    return Path(shutil.copy(program("iowhy"), tmp_path / "iowhy"))


def test_words_status_and_streams_are_passed_on(launcher: Path) -> None:
    link = launcher.with_name("elsewhere") / "iowhy"
    link.parent.mkdir()
    link.symlink_to(launcher)  # as pipx and uv install it
    for start in (launcher, link):
        words = [b"run", b"", b"-x", b"\xff \n"]
        done = subprocess.run(
            ["sh", "-c", '"$@" <&- 2>&-', "sh", start, *words], stdout=subprocess.PIPE, check=False
        )
        assert done.returncode == 7
        assert done.stdout.startswith(b"<run><><-x><\xff \n> ")
        assert done.stdout.endswith(b"\n1 is open\n")


@pytest.mark.parametrize(
    ("ignored", "said"),
    [
        ((), "unset"),
        ((signal.SIGINT,), "unset"),
        ((signal.SIGPIPE,), "13"),
        ((signal.SIGXFSZ, signal.SIGPIPE), "13,25"),
    ],
)
def test_what_python_would_hide_is_said(
    launcher: Path, ignored: tuple[signal.Signals, ...], said: str
) -> None:
    def caller() -> None:
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    shown = subprocess.run(
        [launcher],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=caller,
        env=os.environ | {"IOWHY_IGNORED": "25"},  # what an iowhy around this one was told
    ).stdout.splitlines()
    assert shown[0] == f"<> {said}"
    mask = int(shown[1].split()[1], 16)
    assert all(mask >> (number - 1) & 1 for number in ignored)


def test_without_its_script_it_says_so(launcher: Path) -> None:
    launcher.with_name("iowhy-cli").unlink()
    done = subprocess.run([launcher], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"iowhy: {launcher.parent}/iowhy-cli cannot be run: No such file")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("locked", ["iowhy-cli", "python"])
def test_what_the_user_may_not_run_is_named(launcher: Path, locked: str) -> None:
    """To install it again would not help: as where root's Python is in a folder of root's own."""
    python, script = launcher.with_name("python"), launcher.with_name("iowhy-cli")
    python.write_text("#!/bin/sh\n")
    script.write_text(f"#!{python}\n")
    for file in (python, script):
        file.chmod(0o644 if file.name == locked else 0o755)  # not even root runs the one
    done = subprocess.run([launcher], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(
        f"iowhy: this user may not run {script}, or its Python ({python}); install"
    )
    assert "reinstall" not in done.stderr and len(done.stderr.splitlines()) == 1
