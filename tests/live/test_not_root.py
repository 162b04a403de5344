"""Who is not root gets what /proc tells, and is told what root would see."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask

pytestmark = pytest.mark.usefixtures("live")

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that anybody may enter and write, with the recorder in it."""
    folder = Path(tempfile.mkdtemp(prefix="iowhy-test-", dir="/var/tmp"))
    folder.chmod(0o777)
    shutil.copy(program(RECORDER), folder / "iowhy-record")
    (folder / "iowhy-record").chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    def become() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return subprocess.run(
        [str(place / "iowhy-record"), *arguments],
        cwd=place,
        preexec_fn=become,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_from_proc_alone(place: Path) -> None:
    done = as_nobody(place, "run", "-o", "a.iowhy", "--", "sleep", "0.5")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((place / "a.iowhy/manifest.json").read_text())
    assert manifest["source"] == "proc" and manifest["complete"]
    # The command itself has ended: it is not what "ran on after it".
    assert not manifest.get("notes"), manifest["notes"]
    refused = {s["why"] for s in manifest["sensors"] if s["name"] in ("syscalls", "waits")}
    assert any("only root" in why for why in refused), refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--user", "root"), "only root can run a command as another user"),
        (("--mode", "bpf"), "only root may load eBPF programs"),
        (("-o", "/proc/no.iowhy"), "choose another place"),
    ],
)
def test_what_only_root_can_is_said_and_leaves_nothing(
    place: Path, options: tuple[str, ...], message: str
) -> None:
    where = () if "-o" in options else ("-o", "b.iowhy")
    done = as_nobody(place, "run", *where, *options, "--", "true")
    assert done.returncode == 125 and message in done.stderr
    assert not (place / "b.iowhy").exists()


def test_who_may_run_a_recorder_with_file_capabilities_sees_all(place: Path) -> None:
    """As docs/install.md says: four capabilities on the file, which one group may run."""
    recorder = place / "iowhy-record"
    os.chown(recorder, 0, NOBODY)
    recorder.chmod(0o750)
    rights = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search=ep"
    setcap = shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin")
    assert setcap is not None, "tools/setup test installs libcap2-bin"
    subprocess.run([setcap, rights, recorder], check=True)
    script = "grep CapEff /proc/self/status; for i in 1 2 3 4 5; do dd if=/etc/passwd of=/dev/null bs=1M status=none; done"
    done = as_nobody(place, "run", "--mode", "bpf", "-o", "c.iowhy", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    # The command has none of them.
    assert int(done.stdout.split()[1], 16) == 0
    recording = open_recording(place / "c.iowhy")
    assert recording.manifest.complete and recording.manifest.source == "live"
    size = Path("/etc/passwd").stat().st_size
    read = f"SELECT count(*), sum(ret) FROM syscalls s JOIN files f USING (dev, ino) WHERE name = 'read' AND ret > 0 AND path = '/etc/passwd' AND s.ret = {size}"
    assert ask(recording, read) == [(5, 5 * size)]
    assert {path.stat().st_uid for path in (place / "c.iowhy").rglob("*")} == {NOBODY}


UNITS = Path(__file__).parents[2] / "recorder/systemd"


def unit(name: str, recorder: Path) -> str:
    return (UNITS / name).read_text().replace("/usr/bin/iowhy-record", str(recorder))


def test_systemd_and_sudo_take_what_the_administrator_is_asked_for(
    place: Path, request: pytest.FixtureRequest
) -> None:
    analyze, visudo = shutil.which("systemd-analyze"), shutil.which("visudo", path="/usr/sbin")
    if analyze is None or visudo is None:
        cannot_run(request, "needs systemd-analyze and visudo")
        return
    for name in ("iowhy-record.socket", "iowhy-record@.service"):
        (place / name).write_text(unit(name, place / "iowhy-record"))
    for words in (("verify", "--man=no"), ("security", "--offline=yes", "--threshold=20")):
        units = [place / "iowhy-record@.service"]
        done = subprocess.run([analyze, *words, *units], capture_output=True, text=True, check=False)  # fmt: skip
        said = [line for line in done.stderr.splitlines() if "iowhy" in line]
        assert done.returncode == 0 and said == [], done.stdout + done.stderr
    page = (UNITS.parents[1] / "docs/install.md").read_text()
    (line,) = re.findall(r"%iowhy ALL=.*", page)
    (place / "sudoers").write_text(line.rstrip("'") + "\n")
    subprocess.run([visudo, "-cf", place / "sudoers"], check=True, capture_output=True)


def test_who_may_use_the_socket_gets_a_recording_of_the_machine(
    place: Path, request: pytest.FixtureRequest
) -> None:
    """The unit's command with its capabilities and no others, for each connection, as systemd starts it."""
    activate = shutil.which("systemd-socket-activate")
    if activate is None:
        cannot_run(request, "needs systemd-socket-activate")
        return
    text = unit("iowhy-record@.service", place / "iowhy-record")
    command = shlex.split(re.findall(r"^ExecStart=(.*)$", text, re.M)[0])
    names = re.findall(r"^AmbientCapabilities=(.*)$", text, re.M)[0].split()
    rights = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in names)
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    become += [f"--inh-caps=-all,{rights}", f"--ambient-caps=-all,{rights}", f"--bounding-set=-all,{rights}"]  # fmt: skip
    listener = subprocess.Popen(
        [activate, "--accept", "--inetd", "-E", "IOWHY_SECONDS=1", "-l", place / "socket", *become, *command],
        cwd=place, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert listener.stderr is not None and "Listening" in listener.stderr.readline()
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(str(place / "socket"))
            with end.makefile("rb") as sent, tarfile.open(fileobj=sent, mode="r|") as archive:
                archive.extractall(place / "mine", filter="data")
    finally:
        listener.terminate()
        listener.communicate()
    manifest = open_recording(place / "mine/machine.iowhy").manifest
    assert manifest.complete and manifest.source == "live" and manifest.command.mode == "machine"
