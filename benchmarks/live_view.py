"""What `iowhy top` costs: the time to its first frame, and CPU time while nothing changes. `python -m benchmarks.live_view`."""

import fcntl
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generated import generate

ROUNDS = 9
CALLS = 2_000
REST_S = 20.0
SETTLE_S = 3.0
PATIENCE_S = 60.0
#: What the issue of the view set as aims.
FIRST_FRAME_S, REST_SHARE = 0.3, 0.01
_SEQUENCES = re.compile(rb"\x1b(?:\[[0-9;?=>]*[ -/]*[@-~]|[()][A-Z0-9]|[=>])")


@dataclass(frozen=True)
class Seen:
    """Of one start: seconds and CPU seconds until text stood on the terminal, and the part of a CPU while it rested."""

    first_s: float
    first_cpu_s: float
    rest_share: float | None


def table() -> str:
    """Markdown: medians, lowest and highest, beside the aims."""
    with tempfile.TemporaryDirectory() as folder:
        path = generate(Path(folder) / "small.iowhy", CALLS).path
        started(path, rest=False)  # fills the page cache and Python's own
        seen = [started(path, rest=number == 0) for number in range(ROUNDS)]
    rest = next(one.rest_share for one in seen if one.rest_share is not None)
    return "\n".join(
        (
            "| what | aim | measured |",
            "|---|---|---|",
            f"| to the first frame, s | {FIRST_FRAME_S:g} | {_shown([one.first_s for one in seen])} |",
            f"| CPU time until then, s |  | {_shown([one.first_cpu_s for one in seen])} |",
            f"| CPU while nothing changes, {REST_S:g} s | {REST_SHARE:.0%} | {rest:.2%} |",
        )
    )


def started(path: Path, rest: bool) -> Seen:
    """Starts the view on a terminal of its own, and ends it."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    begun = time.perf_counter()
    view = subprocess.Popen(
        [sys.executable, "-m", "iowhy.cli.main", "top", str(path)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(terminal)
    try:
        _until(main, path.name.encode())
        first_s, first_cpu_s = time.perf_counter() - begun, cpu_s(view.pid)
        share = None
        if rest:
            _until(main, b"finished")
            _settle(main, view.pid)
            before, at = cpu_s(view.pid), time.perf_counter()
            _drain(main, REST_S)
            share = (cpu_s(view.pid) - before) / (time.perf_counter() - at)
        return Seen(first_s, first_cpu_s, share)
    finally:
        view.kill()
        view.wait()
        os.close(main)


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _until(main: int, wanted: bytes) -> None:
    """Reads what is drawn until this text stands there."""
    drawn = b""
    end = time.monotonic() + PATIENCE_S
    while wanted not in _SEQUENCES.sub(b"", drawn):
        assert time.monotonic() < end, drawn[-2000:]
        if select.select([main], [], [], 0.1)[0]:
            drawn += os.read(main, 1 << 16)


def _settle(main: int, pid: int) -> None:
    """Until it has judged as well: it rests when it takes next to nothing for a while."""
    while True:
        before = cpu_s(pid)
        _drain(main, SETTLE_S)
        if cpu_s(pid) - before < 0.05 * SETTLE_S:
            return


def _drain(main: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([main], [], [], left)[0]:
            os.read(main, 1 << 16)


def _shown(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    print(table())
