"""The agent as it runs: a trigger's recording, metrics, what it keeps, and what is left when it is killed."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.agent import keeping
from iowhy.recording import open_recording

pytestmark = pytest.mark.usefixtures("live")

#: A condition that always holds: the machine's CPU pressure is known, and above no pressure at all only at times; threads in D may be
#: none. So the tests ask by hand, and a condition is tried by reads that wait.
FILE = """
[agent]
directory = "{root}"
every = "1 s"
record = "1 s"
cool-down = "{cool_down}"
per-hour = 3

[triggers]
reads = "wait p1 > 1 ns"
"""


def within(seconds: float, holds: Callable[[], object]) -> None:
    """Waits until it holds; fails where it does not for so long that something is broken."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.1)


@contextmanager
def agent(root: Path, cool_down: str = "1h") -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """An agent that runs, and its log."""
    file, log = root.with_suffix(".toml"), root.with_suffix(".log")
    file.write_text(FILE.format(root=root, cool_down=cool_down))
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [sys.executable, "-m", "iowhy.cli.main", "agent", "run", "-c", file],
            stdout=out,
            stderr=out,
        ) as running,
    ):
        try:
            yield running, log
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iowhy.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_trigger_records_fully_and_is_judged_and_the_next_one_is_bounded(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    with agent(root) as (running, log):
        within(
            60,
            lambda: "recordings in" in log.read_text() and list(root.glob(".open/*/agent_counts")),
        )
        done = command("agent", "trigger", root)
        assert done.returncode == 0, done.stderr
        assert "asked for a recording" in done.stdout
        within(120, lambda: re.search(r"trigger [a-z-]+: .*kept in", log.read_text()))
        assert command("agent", "trigger", root).returncode == 0
        within(
            30, lambda: "not recorded: the last recording was a short time ago" in log.read_text()
        )
        second = command("agent", "run", "-c", root.with_suffix(".toml"))
        assert second.returncode == 2 and "another agent works here" in second.stderr
    assert running.returncode == 0, log.read_text()
    (made,) = root.glob("date=*/host=*/*-trigger-*.iowhy")
    full = open_recording(made)
    assert full.manifest.complete and full.manifest.tables["threads"].kept > 0
    (kept,) = root.glob("date=*/host=*/*-agent.iowhy")
    assert open_recording(kept).manifest.complete
    assert not any((root / keeping.OPEN).iterdir())
    asked = command("agent", "trigger", root)
    assert asked.returncode == 2 and "no agent works here" in asked.stderr


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_any_moment_nothing_is_half_and_triggers_count_once(
    tmp_path: Path, seed: int
) -> None:
    moments = random.Random(seed)
    root = tmp_path / "agent"
    with agent(root) as (running, log):
        within(60, lambda: list(root.glob(".open/*/manifest.json")))
        os.kill(running.pid, signal.SIGUSR1)
        time.sleep(moments.random() * 3)
        running.kill()
    # Its recorders end by themselves when it is gone.
    within(30, lambda: not list(_workers(root)))
    for path in root.glob("date=*/host=*/*.iowhy"):
        open_recording(path)
    with agent(root) as (running, log):
        within(
            60,
            lambda: (
                log.read_text().count("recordings in") == 2
                and list(root.glob(".open/*/manifest.json"))
            ),
        )
        time.sleep(1)
    assert running.returncode == 0, log.read_text()
    state = (
        json.loads((root / ".state.json").read_text()) if (root / ".state.json").exists() else None
    )
    started = 0 if state is None else sum(state["started"].values())
    assert started <= 1 + log.read_text().count("; recording\n") and started <= 2
    assert not any((root / keeping.OPEN).iterdir()) and not (root / keeping.GONE).exists()
    for path in root.glob("date=*/host=*/*.iowhy"):
        open_recording(path)


def _workers(root: Path) -> Iterator[str]:
    """Processes that still write below the folder."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"iowhy-record") and any(bytes(root) in word for word in words):
            yield folder.name
