"""The agent as systemd runs it: capabilities, what it is told, reload, and a full disk."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.agent import shipped
from iowhy.recordings import open_recording
from running_agent import agent, counts, within

pytestmark = pytest.mark.usefixtures("live")


def setting(key: str) -> str:
    """What the unit says of a key."""
    found = re.search(rf"^{key}=(.*)$", shipped.text("unit"), re.M)
    assert found is not None, key
    return found[1]


def test_systemd_takes_the_unit(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        cannot_run(request, "needs systemd-analyze")
        return
    unit = tmp_path / "iowhy-agent.service"
    unit.write_text(shipped.text("unit").replace(setting("ExecStart").split()[0], sys.executable))
    done = subprocess.run(
        [analyze, "--man=no", "verify", unit], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if "iowhy" in line]
    assert done.returncode == 0 and said == [], done.stderr


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """systemd's end of what a service tells it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(path))
        told.settimeout(60)
        yield told


def hear(told: socket.socket, wanted: str) -> None:
    """Waits until it has been told that."""
    while wanted not in told.recv(4096).decode().split("\n"):
        pass


def test_with_the_units_capabilities_it_counts_tells_that_it_lives_and_reads_its_file_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if shutil.which("setpriv") is None:
        cannot_run(request, "needs setpriv")
    root = tmp_path / "agent"
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in setting("CapabilityBoundingSet").split())  # fmt: skip
    bounded = ["setpriv", f"--bounding-set=-all,{kept}", "--no-new-privs", "--inh-caps=-all"]
    asked = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1500000"}
    with (
        listening(tmp_path / "notify") as told,
        agent(root, before=bounded, environment=asked, triggers="") as (running, log),
    ):
        hear(told, "READY=1")
        for _ in range(3):
            hear(told, "WATCHDOG=1")
        within(60, lambda: counts(root))
        before = list(root.glob(".open/*"))
        root.with_suffix(".toml").write_text(
            f'[agent]\ndirectory = "{root}"\nevery = "2 s"\n[triggers]\nstuck = "threads in D > 99"\n'
        )
        running.send_signal(signal.SIGHUP)
        hear(told, "RELOADING=1")
        hear(told, "READY=1")
        within(60, lambda: "settings reloaded; triggers: stuck" in log.read_text())
        assert "restart of the agent: every" in log.read_text()
        # The same recording goes on.
        assert list(root.glob(".open/*")) == before
        root.with_suffix(".toml").write_text("[agent]\nno-such-key = 1\n")
        running.send_signal(signal.SIGHUP)
        within(60, lambda: "not applied, the old settings stay" in log.read_text())
        running.send_signal(signal.SIGTERM)
        hear(told, "STOPPING=1")
    assert running.returncode == 0, log.read_text()
    (made,) = root.glob("date=*/host=*/*-agent.iowhy")
    recording = open_recording(made)
    assert recording.manifest.complete and recording.ran("agent_waits"), log.read_text()


@contextmanager
def small(path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def test_on_a_full_disk_it_goes_on_counting_and_writes_again_when_there_is_room(
    tmp_path: Path,
) -> None:
    with small(tmp_path / "small") as disk:
        root = disk / "agent"
        root.mkdir()
        (tmp_path / "agent").symlink_to(root)
        with agent(tmp_path / "agent", triggers="") as (running, log):
            within(60, lambda: counts(root))
            fill = disk / "fill"
            with fill.open("wb") as file:
                try:
                    while True:
                        os.write(file.fileno(), bytes(4096))
                except OSError:
                    pass
            within(60, lambda: "not saved: " in log.read_text())
            assert running.poll() is None
            # A trigger that cannot be written down does not start.
            running.send_signal(signal.SIGUSR1)
            within(
                60,
                lambda: re.search("trigger by-hand: .*(not recorded|no verdict)", log.read_text()),
            )
            fill.unlink()
            within(60, lambda: counts(root))
        assert running.returncode == 0, log.read_text()
        found = [open_recording(path) for path in root.glob("date=*/host=*/*-agent*.iowhy")]
        assert len(found) >= 2 and any(one.manifest.complete for one in found)
        assert not list(root.glob(".open/*"))
        assert "Traceback" not in log.read_text()
