"""However the program ends that started a recorder, the recorder ends with it and closes its recording."""

import fcntl
import os
import pty
import random
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.sources.lifeline import VARIABLE
from iowhy.sources.live import RECORDER
from iowhy.undo import process
from machine import ask
from running_agent import within

pytestmark = pytest.mark.usefixtures("live")

CLOSED = "closed"
KILLED, ENDED = signal.SIGKILL, signal.SIGTERM
COMMAND = ["--on-death", "end", "--", "sh", "-c", "env > runs; sleep 300; true"]
IN_BLOCK = "import iowhy, os, time\nwith iowhy.recording('a.iowhy'):\n {}open('runs', 'w'); time.sleep(300)"
IN_THREAD = (
    "import iowhy, threading\n"
    "threading.Thread(target=iowhy.record, args=[[], 'a.iowhy'], kwargs={'all': True}).start()"
)
PYTEST = [
    "pytest",
    "-q",
    "-p",
    "iowhy.pytest_plugin",
    "--iowhy",
    "--iowhy-keep",
    ".",
    "test_runs.py",
]

#: What is typed behind `python`, what is seen on the terminal once it is under way, and how it
#: ends. Who makes the file `runs` is under way then. `PID` is a process that sleeps.
CASES = {
    "top -a, terminal closed": (["-m", "iowhy", "top", "-a"], "Processes", CLOSED),
    "top -a, SIGTERM": (["-m", "iowhy", "top", "-a"], "Processes", ENDED),
    "top -a, SIGKILL": (["-m", "iowhy", "top", "-a"], "Processes", KILLED),
    "top -p, terminal closed": (["-m", "iowhy", "top", "-p", "PID"], "Processes", CLOSED),
    "run -a, terminal closed": (["-m", "iowhy", "run", "-a"], "", CLOSED),
    "run -a, SIGKILL": (["-m", "iowhy", "run", "-a"], "", KILLED),
    "run, SIGKILL": (["-m", "iowhy", "run", *COMMAND], "", KILLED),
    "run unrecorded, SIGKILL": (["-m", "iowhy", "run", "--max-time", "1s", *COMMAND], "--max-time", KILLED),
    "run --live, terminal closed": (["-m", "iowhy", "run", "--live", *COMMAND], "Processes", CLOSED),
    "recording(), SIGKILL": (["-c", IN_BLOCK.format("")], "", KILLED),
    "recording(), forked, SIGKILL": (["-c", IN_BLOCK.format("os.fork(); ")], "", KILLED),
    "record() in a thread, SIGTERM": (["-c", IN_THREAD], "", ENDED),
    "pytest, SIGKILL": (["-m", *PYTEST], "", KILLED),
}  # fmt: skip


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What all that a test starts carries in its environment; of that, nothing runs on."""
    made = f"{random.getrandbits(64):x}"
    monkeypatch.setenv("IOWHY_TEST", made)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    yield made
    for pid in process.marked("IOWHY_TEST", made).found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def recorders(mark: str) -> list[int]:
    """Those that run; a thread that ends is none."""
    found = process.marked("IOWHY_TEST", mark).found
    names = {pid: Path(f"/proc/{pid}/comm") for pid in found}
    return [pid for pid, name in names.items() if _text(name).strip() == RECORDER]


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""


class Terminal:
    """A terminal that a program runs on, and which can be closed; `seen` is what it drew."""

    def __init__(self, folder: Path, words: list[str], *, controls: bool) -> None:
        """`controls`: the kernel says when it is closed, and when the program ends."""
        self.main, terminal = pty.openpty()
        os.set_blocking(self.main, False)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, b"\x1e\0\x64\0\0\0\0\0")
        self.seen = b""
        self.program = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=_controlled if controls else None,
        )
        os.close(terminal)

    def shows(self, text: str) -> bool:
        with suppress(OSError):
            while more := os.read(self.main, 1 << 16):
                self.seen += more
        return text.encode() in self.seen


def _controlled() -> None:
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize("name", CASES)
def test_a_recorder_ends_with_who_started_it(tmp_path: Path, mark: str, name: str) -> None:
    words, shown, way = CASES[name]
    test = "import time\ndef test_it(): open('runs', 'w'); time.sleep(300)"
    (tmp_path / "test_runs.py").write_text(test)
    with subprocess.Popen(["sleep", "300"], env={}) as watched:
        typed = [str(watched.pid) if word == "PID" else word for word in words]
        terminal = Terminal(tmp_path, typed, controls=way == CLOSED)
        runs = tmp_path / "runs"

        def under_way() -> bool:
            assert terminal.program.poll() is None, terminal.seen[-2000:]
            begun = any(tmp_path.glob("*.iowhy/manifest.json"))
            return terminal.shows(shown) and begun and (runs.exists() or "runs" not in str(words))

        try:
            within(60, under_way)
            assert recorders(mark)
            if way == CLOSED:
                os.close(terminal.main)
            else:
                terminal.program.send_signal(way)
            terminal.program.wait(60)
            within(60, lambda: not recorders(mark))
        finally:
            watched.kill()
    (folder,) = tmp_path.glob("*.iowhy")
    made = open_recording(folder)
    assert made.manifest.complete
    assert ask(made, "SELECT count(*) > 0 FROM threads") == [(True,)]
    if words[-3:] == COMMAND[-3:]:
        assert not process.marked("IOWHY_TEST", mark).found
        assert VARIABLE not in runs.read_text()
        unrecorded = "--max-time" in words
        assert made.manifest.command.signal == (None if unrecorded else signal.SIGINT)


SLEEPS = "touch runs; sleep 300; true"
#: Programs that run commands, or a recorder with one, by themselves.
RUNNERS = {
    "experiment": ["experiment", "-w", "0", "cpu-quota=0.5", "--", "sh", "-c", SLEEPS],
    "compare": ["compare", "-w", "0", f"sh -c '{SLEEPS}'", "--vs", "true"],
    "lab": ["lab", "run", "idle-server", "--scale", "100"],
}


@pytest.mark.parametrize("way", [KILLED, ENDED], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("name", RUNNERS)
def test_what_a_trial_runs_ends_with_it(
    tmp_path: Path, mark: str, name: str, way: signal.Signals
) -> None:
    words = [sys.executable, "-m", "iowhy", *RUNNERS[name]]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as iowhy:

        def under_way() -> bool:
            assert iowhy.poll() is None, iowhy.stderr.read()
            return bool(recorders(mark)) if name == "lab" else (tmp_path / "runs").exists()

        within(60, under_way)
        iowhy.send_signal(way)
        iowhy.wait(30)
        within(20, lambda: not process.marked("IOWHY_TEST", mark).found)
