"""The live view on a real terminal: a command is watched, the terminal is closed, and what is recorded goes on."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import open_recording
from machine import ask
from running_agent import within
from test_pods import container
from tests.terminals import Terminal

pytestmark = pytest.mark.usefixtures("live")

#: Works until a file is there.
WORK = "until [ -e end ]; do dd if=/dev/zero of=f bs=4k count=50 oflag=dsync 2>&1; sleep 0.3; done; echo last round; exit 7"


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


def views(folder: Path) -> list[Path]:
    """Processes of the command line that work in a folder; the recorder is none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if (process / "cwd").readlink() == folder and b"iowhy.cli.main" in words:
                found.append(process)
    return found


def test_a_closed_terminal_ends_nothing_and_one_comes_back(
    terminal: Terminal, tmp_path: Path
) -> None:
    rec = tmp_path / "a.iowhy"
    terminal.start("run", "--live", "-o", "a.iowhy", "--", "sh", "-c", WORK)
    terminal.until(lambda seen: "recording" in seen and "dd" in seen and "sync" in seen)
    terminal.close()
    within(60, lambda: not views(tmp_path))
    assert manifest(rec)["complete"] is False
    (tmp_path / "end").touch()
    again = terminal.another()
    again.start("top", "a.iowhy", columns=40)
    seen = again.until(lambda seen: "finished" in seen)
    assert all(len(line) <= 40 for line in seen.splitlines())
    again.tmux("send-keys", "6")
    again.until(lambda seen: "last round" in seen)
    again.tmux("send-keys", "q")
    again.until(lambda seen: "status 0" in seen)
    whole = manifest(rec)
    assert whole["complete"] is True and whole["command"]["exit_status"] == 7  # type: ignore[index]


def test_the_status_and_the_verdict_come_when_it_is_left_at_the_end(terminal: Terminal) -> None:
    short = "dd if=/dev/zero of=f bs=4k count=200 oflag=dsync 2>&1; sleep 1; exit 5"
    terminal.start("run", "--live", "-o", "a.iowhy", "--", "sh", "-c", short)
    terminal.until(lambda seen: "finished" in seen)
    terminal.tmux("send-keys", "5")
    terminal.until(lambda seen: "Cause" in seen or "cause" in seen)
    terminal.tmux("send-keys", "q")
    seen = terminal.until(lambda seen: "status 5" in seen)
    assert "iowhy why a.iowhy" in seen


def test_a_machine_that_is_watched_is_recorded_until_the_view_is_left(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.start("top", "-a", "-o", "all.iowhy")
    terminal.until(lambda seen: "recording" in seen and "Processes" in seen and "█" in seen)
    terminal.tmux("send-keys", "q")
    terminal.until(lambda seen: "status 0" in seen)
    whole = manifest(tmp_path / "all.iowhy")
    assert whole["complete"] is True and whole["command"]["mode"] == "machine"  # type: ignore[index]


def test_what_is_left_by_d_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    rec = tmp_path / "all.iowhy"
    terminal.start("top", "-a", "-o", "all.iowhy")
    terminal.until(lambda seen: "recording" in seen and "Processes" in seen)
    terminal.tmux("send-keys", "d")
    terminal.until(lambda seen: "status 0" in seen)
    terminal.close()
    recorder = manifest(rec)["recorder"]["pid"]  # type: ignore[index]
    closed = (rec / "manifest.json").stat().st_mtime_ns
    within(60, lambda: (rec / "manifest.json").stat().st_mtime_ns > closed)
    assert manifest(rec)["complete"] is False
    os.kill(recorder, signal.SIGTERM)
    within(60, lambda: manifest(rec)["complete"])


def test_processes_that_run_already_are_watched_and_run_on(
    terminal: Terminal, tmp_path: Path
) -> None:
    """Those that they start live for a moment only: one that has ended since it was found is no reason to watch none."""
    loop = "while :; do dd if=/dev/zero of=f bs=4k count=50 oflag=dsync; done"
    with subprocess.Popen(["sh", "-c", loop], stderr=subprocess.DEVNULL, cwd=tmp_path) as work:
        try:
            terminal.start("top", "-p", str(work.pid), "-o", "p.iowhy")
            terminal.until(lambda seen: "recording" in seen and "dd" in seen and "sync" in seen)
            terminal.tmux("send-keys", "q")
            terminal.until(lambda seen: "status 0" in seen)
            assert work.poll() is None
        finally:
            work.kill()
    whole = manifest(tmp_path / "p.iowhy")
    assert whole["complete"] is True and whole["command"]["mode"] == "attach"  # type: ignore[index]


def test_a_pod_is_watched_and_what_began_with_the_view_ends_with_it(
    terminal: Terminal, tmp_path: Path
) -> None:
    with container(("prod", "db")) as group:
        script = f'echo $$ > {group}/cgroup.procs; cd "$0"; {WORK}'
        work = subprocess.Popen(["sh", "-c", script, tmp_path], stdout=subprocess.DEVNULL)
        try:
            terminal.start("top", "--pod", "prod/db", "-o", "pod.iowhy")
            terminal.until(lambda seen: "recording" in seen and "dd" in seen)
            terminal.tmux("send-keys", "q")
            terminal.until(lambda seen: "status 0" in seen)
        finally:
            (tmp_path / "end").touch()
            assert work.wait(60) == 7
    made = open_recording(tmp_path / "pod.iowhy")
    assert made.manifest.complete
    others = "SELECT count(*) FROM threads WHERE comm NOT IN ('dd', 'sleep', 'sh')"
    assert ask(made, others) == [(0,)]
    pods = (
        "SELECT DISTINCT pod_namespace, pod FROM threads t JOIN containers c ON c.id = t.container"
    )
    assert ask(made, pods) == [("prod", "db")]
