"""`iowhy run --on HOST`: over a real sshd on this machine."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts import HOST, children_of, far, server, ssh_to_here
from iowhy.recordings import open_recording
from iowhy.sources.descendants import name_of, with_descendants
from iowhy.undo import process
from machine import ask

pytestmark = pytest.mark.usefixtures("live")


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """The words that reach this machine over ssh."""
    with ssh_to_here(tmp_path) as words:
        yield words


def iowhy(folder: Path, ssh: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "iowhy", "run", "--on", HOST, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "IOWHY_SSH": ssh, **more},
        input="3 lines\nof\ninput\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_command_there_is_recorded_and_its_recording_comes_back(tmp_path: Path, ssh: str) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    script = f"wc -l; echo 'an error' >&2; dd if=/dev/zero of={there}/z bs=64k count=9 conv=fsync 2>/dev/null; exit 7"
    done = iowhy(here, ssh, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (7, "3\n"), done.stderr
    assert "an error" in done.stderr and "recorded on root@127.0.0.1" in done.stderr
    # The verdict is of that command, and names what can be typed here.
    assert "iowhy why sh.iowhy" in done.stderr
    recording = open_recording(here / "sh.iowhy")
    assert recording.manifest.complete
    query = f"SELECT count(*), sum(ret) FROM syscalls s JOIN files f USING (dev, ino) WHERE name = 'write' AND path = '{there}/z'"
    assert ask(recording, query) == [(9, 9 * 65536)]
    assert {path.stat().st_mode & 0o077 for path in (here / "sh.iowhy").rglob("*")} == {0}
    assert not list(far(tmp_path).glob("iowhy.??????"))


def test_processes_there_are_recorded_with_what_they_had_started(tmp_path: Path, ssh: str) -> None:
    """A shell that waits for another, which was there before and writes: the other is recorded as well."""
    script = f"(while :; do echo x > {tmp_path}/written; sleep 0.02; done) & wait"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as server:
        try:
            words = ["-p", str(server.pid), "--duration", "1s"]
            done = iowhy(tmp_path, ssh, *words)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
    assert done.returncode == 0, done.stderr
    recording = open_recording(tmp_path / f"pid-{server.pid}.iowhy")
    query = f"SELECT count(*) > 0 FROM syscalls s JOIN files f USING (dev, ino) WHERE path = '{tmp_path}/written'"
    assert ask(recording, query) == [(True,)]


def test_what_cannot_be_is_said_and_leaves_nothing(tmp_path: Path, ssh: str) -> None:
    done = iowhy(tmp_path, ssh, "--", "no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr
    unreachable = iowhy(tmp_path, "ssh -F /dev/null -oBatchMode=yes -p 1", "--", "true")
    assert unreachable.returncode == 2
    assert "iowhy: --on root@127.0.0.1: ssh: connect to host" in unreachable.stderr
    foreign = tmp_path / "iowhy-record"
    machine = 183 if os.uname().machine == "x86_64" else 62
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + machine.to_bytes(2, "little"))
    foreign.chmod(0o755)
    other = iowhy(tmp_path, ssh, "--", "true", IOWHY_RECORD=str(foreign))
    assert other.returncode == 2 and "and the recorder here is for" in other.stderr
    fails = tmp_path / "fails/iowhy-record"
    fails.parent.mkdir()
    shutil.copy("/bin/false", fails)
    broken = iowhy(tmp_path, ssh, "--", "true", IOWHY_RECORD=str(fails))
    assert broken.returncode == 2 and "the recorder does not run there" in broken.stderr
    absent = iowhy(tmp_path, ssh, "--container", "no-such-container")
    assert absent.returncode == 2 and "no container or service" in absent.stderr
    assert "recording container" not in absent.stderr
    assert not list(tmp_path.glob("*.iowhy"))
    assert not list(far(tmp_path).glob("iowhy.??????"))


def test_what_a_killed_iowhy_left_there_is_named(tmp_path: Path, ssh: str) -> None:
    """The command there runs on, and so does its recording, which nobody fetches."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "IOWHY_SSH": ssh}
    words = [sys.executable, "-m", "iowhy", "run", "-q", "--on", HOST, "--", "sleep", "3"]
    with subprocess.Popen(words, cwd=tmp_path, env=here, stderr=subprocess.DEVNULL) as killed:
        left = _within(60, lambda: list(far(tmp_path).glob("iowhy.??????/sleep.iowhy")))
        killed.kill()
    manifest = left[0] / "manifest.json"
    try:
        _within(60, lambda: json.loads(manifest.read_text())["complete"])
        later = iowhy(tmp_path, ssh, "-q", "-o", "later.iowhy", "--", "true")
        assert later.returncode == 0 and "never fetched" not in later.stderr
        os.utime(manifest, (0, 0))
        again = iowhy(tmp_path, ssh, "-q", "-o", "again.iowhy", "--", "true")
        assert f"has a recording that was never fetched: {left[0]}\n" in again.stderr
    finally:
        shutil.rmtree(left[0].parent)


@pytest.mark.parametrize("lost", [False, True], ids=["killed", "connection lost"])
@pytest.mark.parametrize(
    "words", [["-a"], ["--on-death", "end", "--", "sleep", "300"]], ids=" ".join
)
def test_a_recorder_there_ends_with_who_started_it_here(
    tmp_path: Path, ssh: str, words: list[str], lost: bool
) -> None:
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "IOWHY_SSH": ssh}
    name = f"held-{os.getpid()}.iowhy"
    typed = [sys.executable, "-m", "iowhy", "run", "-q", "--on", HOST, "-o", name, *words]
    with subprocess.Popen(typed, cwd=tmp_path, env=here, stderr=subprocess.PIPE) as front:
        (left,) = _within(60, lambda: list(far(tmp_path).glob(f"iowhy.??????/{name}")))
        manifest = left / "manifest.json"
        try:
            _within(
                60, lambda: (manifest.exists() and not words[1:]) or "sleep" in _comms(tmp_path)
            )
            if lost:
                for pid in children_of(server(tmp_path)):
                    os.kill(pid, signal.SIGKILL)
            else:
                front.kill()
            front.communicate(timeout=60)
            kept = tmp_path / name if lost else left
            _within(60, lambda: json.loads((kept / "manifest.json").read_text())["complete"])
            made = open_recording(kept).manifest
            # Nobody may reap it once its parent, the server, is gone.
            _within(60, lambda: process.is_zombie(made.recorder.pid))
            assert made.command.signal == (signal.SIGINT if words[1:] else None)
            assert lost is not left.exists()
        finally:
            front.kill()
            shutil.rmtree(left.parent, ignore_errors=True)


def _comms(folder: Path) -> list[str]:
    """What runs below the server of the test."""
    return [name_of(pid) or "" for pid in with_descendants([server(folder)])]


def _within(seconds: float, found: Callable[[], Any]) -> Any:
    """What is there before so long."""
    end = time.monotonic() + seconds
    while not (it := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return it


@pytest.mark.parametrize(
    ("fewer", "said"), [("", "sensors run on"), ("-bpf,-sys_admin", "lacks CAP_BPF")]
)
def test_what_can_be_seen_there_is_said(tmp_path: Path, ssh: str, fewer: str, said: str) -> None:
    """Rights are those that one has there, whatever they are here."""
    if fewer:
        drop = f"exec setpriv --bounding-set={fewer} --inh-caps={fewer}"
        key = tmp_path / "user.pub"
        key.write_text(f'command="{drop} sh -c \\"$SSH_ORIGINAL_COMMAND\\"" {key.read_text()}')
    done = subprocess.run(
        [sys.executable, "-m", "iowhy", "doctor", "--on", HOST, "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "IOWHY_SSH": ssh},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == bool(fewer), done.stderr
    answer = json.loads(done.stdout)
    assert said in answer["answer"] and HOST in answer["answer"]
    kernel = next(one for one in answer["conditions"] if one["subject"] == "kernel")
    assert os.uname().release in kernel["found"] and "with BTF" in kernel["found"]
    assert not list(far(tmp_path).glob("iowhy.??????"))
