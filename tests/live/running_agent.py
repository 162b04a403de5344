"""An agent that runs meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

FILE = """
[agent]
directory = "{root}"
every = "1 s"
record = "{record}"
cool-down = "{cool_down}"
per-hour = 3
{more}

[triggers]
{triggers}
"""
#: Holds as soon as anybody waits for a disk.
READS = 'reads = "wait p1 > 1 ns"'


def within(seconds: float, holds: Callable[[], object]) -> None:
    """Waits until it holds; fails where it does not for so long that something is broken."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.1)


@contextmanager
def agent(
    root: Path,
    cool_down: str = "1h",
    more: str = "",
    triggers: str = READS,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    record: str = "1 s",
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """An agent that runs, and its log. `more`: lines of its file; `before`: what it is started by."""
    file, log = root.with_suffix(".toml"), root.with_suffix(".log")
    file.write_text(
        FILE.format(root=root, cool_down=cool_down, more=more, triggers=triggers, record=record)
    )
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [*before, sys.executable, "-m", "iowhy.cli.main", "agent", "run", "-c", file],
            stdout=out,
            stderr=out,
            env=os.environ | dict(environment or {}),
        ) as running,
    ):
        try:
            yield running, log
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)


def counts(root: Path) -> bool:
    """Whether there is a recording of counts that can be read."""
    return bool(list(root.glob(".open/agent.*/agent_counts")))


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What a command of iowhy's says."""
    return subprocess.run(
        [sys.executable, "-m", "iowhy.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
