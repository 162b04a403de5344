"""Terminals for what draws on one: tmux, which knows what stands on its screen, and one that is read once a second."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 120.0
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-9;?=>]*[ -/]*[@-~]|[()][A-Z0-9]|[=>])")


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

    def resize(self, columns: int, lines: int) -> None:
        """Makes it another size."""
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def until(self, holds: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            seen = self.tmux("capture-pane", "-p")
            if holds(seen):
                return seen
            time.sleep(0.2)
        raise AssertionError(f"it never stood there:\n{self.tmux('capture-pane', '-p')}")


class SlowTerminal:
    """A terminal that shows one picture a second: what runs in it is read then, and only then."""

    FRAME_S = 1.0

    def __init__(self, *words: str, lines: int = 30, columns: int = 100) -> None:
        self._main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "iowhy.cli.main", *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        os.close(terminal)
        os.set_blocking(self._main, False)

    def close(self) -> None:
        """Ends it, with what runs in it."""
        self.process.kill()
        self.process.wait()
        os.close(self._main)

    def press(self, keys: bytes) -> None:
        """Types keys."""
        os.write(self._main, keys)

    def frame(self) -> str:
        """The text of the next picture, as far as it is another."""
        return self.frame_while_typing(b"")

    def frame_while_typing(self, keys: bytes) -> str:
        """The next picture, while these keys come one by one."""
        end = time.monotonic() + self.FRAME_S
        for key in keys:
            self.press(bytes((key,)))
            time.sleep(self.FRAME_S / len(keys))
        time.sleep(max(end - time.monotonic(), 0))
        drawn = b""
        try:
            while more := os.read(self._main, 1 << 16):
                drawn += more
        except OSError:  # nothing more is there, or its process has ended
            pass
        return _SEQUENCES.sub(b"", drawn).decode("utf-8", "replace")

    def frames_until(self, holds: Callable[[str], bool]) -> int:
        """How many pictures pass until one says this."""
        for count in range(1, int(PATIENCE_S)):
            if holds(self.frame()):
                return count
        raise AssertionError("it never stood there")

    def resident_kib(self) -> int:
        """The memory that the process has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1])
