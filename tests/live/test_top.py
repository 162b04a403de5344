"""The live view on a real terminal: a command is watched, the terminal is closed, and what is recorded goes on."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import cannot_run

pytestmark = pytest.mark.usefixtures("live")

PATIENCE_S = 120.0
WORK = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=f bs=4k count=50 oflag=dsync 2>&1; echo round $i; sleep 1; done; exit 7"


class Terminal:
    """A terminal of tmux's, in a server of its own: one that is told to end still answers for a moment."""

    def __init__(self, folder: Path) -> None:
        self._server = tempfile.TemporaryDirectory(dir=folder)
        self._socket, self._folder = f"{self._server.name}/tmux", folder
        self._later: list[Terminal] = []

    def another(self) -> "Terminal":
        """One that is opened later, and ends with this one's test."""
        self._later.append(Terminal(self._folder))
        return self._later[-1]

    def close(self) -> None:
        """Ends it, with what runs in it."""
        for one in (*self._later, self):
            one.tmux("kill-server")

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def start(self, *words: str, columns: int = 100) -> None:
        script = self._folder / "typed.sh"
        paths = os.pathsep.join(sys.path)
        typed = " ".join(f"'{word}'" for word in (sys.executable, "-m", "iowhy.cli.main", *words))
        script.write_text(f"export PYTHONPATH='{paths}'\n{typed}\necho status $?\nsleep 600\n")
        size = ("-x", str(columns), "-y", "24")
        self.tmux("new-session", "-d", *size, "-c", str(self._folder), f"sh {script}")

    def until(self, holds: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            seen = self.tmux("capture-pane", "-p")
            if holds(seen):
                return seen
            time.sleep(0.2)
        raise AssertionError(f"it never stood there:\n{self.tmux('capture-pane', '-p')}")


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        cannot_run(request, "tmux is not installed: tools/setup test brings it")
    made = Terminal(tmp_path)
    yield made
    made.close()


def manifest(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "manifest.json").read_text())
    assert isinstance(found, dict)
    return found


def test_a_closed_terminal_ends_nothing_and_one_comes_back(
    terminal: Terminal, tmp_path: Path
) -> None:
    rec = tmp_path / "a.iowhy"
    terminal.start("run", "--live", "-o", "a.iowhy", "--", "sh", "-c", WORK)
    terminal.until(lambda seen: "recording" in seen and "dd" in seen and "sync" in seen)
    terminal.close()
    assert manifest(rec)["complete"] is False
    again = terminal.another()
    again.start("top", "a.iowhy", columns=40)
    seen = again.until(lambda seen: "finished" in seen)
    assert all(len(line) <= 40 for line in seen.splitlines())
    again.tmux("send-keys", "6")
    again.until(lambda seen: "round 8" in seen)
    again.tmux("send-keys", "q")
    again.until(lambda seen: "status 0" in seen)
    whole = manifest(rec)
    assert whole["complete"] is True and whole["command"]["exit_status"] == 7  # type: ignore[index]


def test_the_status_and_the_verdict_come_when_it_is_left_at_the_end(terminal: Terminal) -> None:
    terminal.start("run", "--live", "-o", "a.iowhy", "--", "sh", "-c", "sleep 1; exit 5")
    terminal.until(lambda seen: "finished" in seen)
    terminal.tmux("send-keys", "q")
    seen = terminal.until(lambda seen: "status" in seen)
    assert "status 5" in seen and "kept in a.iowhy" in seen


def test_a_machine_that_is_watched_is_recorded_until_the_view_is_left(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.start("top", "-a", "-o", "all.iowhy")
    terminal.until(lambda seen: "recording" in seen and "Processes" in seen and "█" in seen)
    terminal.tmux("send-keys", "q")
    terminal.until(lambda seen: "status 0" in seen)
    whole = manifest(tmp_path / "all.iowhy")
    assert whole["complete"] is True and whole["command"]["mode"] == "machine"  # type: ignore[index]
