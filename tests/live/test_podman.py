"""Podman's containers and pods, of an image that is made on the spot."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording, open_recording
from machine import ask
from test_containers import watched

pytestmark = pytest.mark.usefixtures("live")

BLOCK, BLOCKS = 65_536, 8
WRITE = f"dd if=/dev/zero of=/data/z bs={BLOCK} count={BLOCKS} conv=fsync"
#: Works until somebody makes /data/go, ends when somebody makes /data/end.
WAITS = f"while [ ! -e /data/go ]; do sleep 0.05; done; {WRITE}; while [ ! -e /data/end ]; do sleep 0.05; done"
#: crun cannot be used where both versions of control groups are mounted; limits are those of the least machine.
PODMAN = ["podman", "--runtime", "runc"]
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none", "--pids-limit", "-1"]  # fmt: skip
IMAGE = f"localhost/iowhy-test-{os.getpid()}:1"

Run = Callable[..., str]


def podman(*words: str | Path) -> str:
    done = subprocess.run([*PODMAN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    why_no_recording: str | None,
) -> Iterator[str]:
    """busybox and nothing else, once Podman has run it."""
    if why_no_recording is not None:
        cannot_run(request, why_no_recording)
    if shutil.which("podman") is None:
        cannot_run(request, "podman is missing (tools/setup test)")
    root = tmp_path_factory.mktemp("image")
    (root / "bin").mkdir()
    (root / "data").mkdir()
    busybox = shutil.which("busybox")
    assert busybox is not None, "tools/setup test installs busybox-static"
    shutil.copy(busybox, root / "bin/busybox")
    for applet in ("sh", "dd", "sleep"):
        (root / "bin" / applet).symlink_to("busybox")
    subprocess.run(["tar", "-C", root, "-cf", root.with_suffix(".tar"), "."], check=True)
    podman("import", root.with_suffix(".tar"), IMAGE)
    try:
        tried = [*PODMAN, "run", "--rm", *LIMITS, IMAGE, "sh", "-c", "exit 0"]
        done = subprocess.run(tried, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            cannot_run(request, f"Podman runs nothing: {done.stderr}")
        yield IMAGE
    finally:
        podman("image", "rm", "-f", IMAGE)


@pytest.fixture
def start(image: str, tmp_path: Path) -> Iterator[Run]:
    """Starts a container of this name, whose /data is a folder of this name; all are removed afterwards."""
    names: list[str] = []

    def run(name: str, script: str = WAITS, *options: str) -> str:
        (tmp_path / name).mkdir()
        names.append(name)
        data = f"{tmp_path}/{name}:/data"
        words = ["run", "-d", "--name", name, "-v", data, *LIMITS, *options, image]
        return podman(*words, "sh", "-c", script)

    yield run
    for name in names:
        (tmp_path / name / "end").touch()
    subprocess.run([*PODMAN, "rm", "-f", "-t", "0", *names], capture_output=True, check=False)


def written(recording: Recording) -> list[tuple[object, ...]]:
    """Per container: its name, image and runtime, calls of write to its file, bytes."""
    return ask(
        recording,
        "SELECT c.name, c.image, c.runtime, count(*), sum(s.ret) FROM syscalls s "
        "JOIN threads t ON t.tid = s.tid AND t.tgid = s.tgid JOIN containers c ON c.id = t.container "
        "JOIN files f ON f.dev = s.dev AND f.ino = s.ino "
        "WHERE s.name = 'write' AND f.path = '/data/z' GROUP BY ALL ORDER BY 1",
    )


def one(name: str) -> tuple[object, ...]:
    return (name, IMAGE, "podman", BLOCKS, BLOCK * BLOCKS)


def end(recorder: subprocess.Popen[bytes], folder: Path, *names: str) -> None:
    """Lets the containers work and end; the recording ends with them."""
    for name in names:
        (folder / name / "go").touch()
    for name in names:
        for _ in range(1200):
            found = folder / name / "z"
            if found.exists() and found.stat().st_size == BLOCK * BLOCKS:
                break
            time.sleep(0.05)
        (folder / name / "end").touch()
    assert recorder.wait(60) == 0


def test_a_container_by_its_name_and_nothing_of_another(start: Run, tmp_path: Path) -> None:
    own = start("iowhy-test-a")
    start("iowhy-test-b")
    recorder = watched(tmp_path / "r.iowhy", "--container", "iowhy-test-a")
    (tmp_path / "iowhy-test-b/go").touch()
    end(recorder, tmp_path, "iowhy-test-a")
    recording = open_recording(tmp_path / "r.iowhy")
    assert written(recording) == [one("iowhy-test-a")]
    assert ask(recording, "SELECT DISTINCT container FROM threads") == [(own,)]
    assert recording.manifest.command.groups == ("--container", "iowhy-test-a")


def test_a_pod_by_its_id_is_all_its_containers(start: Run, tmp_path: Path) -> None:
    pod = podman("pod", "create", "--infra=false", "--name", "iowhy-test-pod")
    try:
        for name in ("iowhy-test-c", "iowhy-test-d"):
            start(name, WAITS, "--pod", pod)
        start("iowhy-test-e")
        (tmp_path / "iowhy-test-e/go").touch()
        recorder = watched(tmp_path / "r.iowhy", "--pod", pod[:12])
        end(recorder, tmp_path, "iowhy-test-c", "iowhy-test-d")
    finally:
        subprocess.run(
            [*PODMAN, "pod", "rm", "-f", "-t", "0", pod], capture_output=True, check=False
        )
    recording = open_recording(tmp_path / "r.iowhy")
    assert written(recording) == [one("iowhy-test-c"), one("iowhy-test-d")]
    assert ask(recording, "SELECT DISTINCT pod FROM containers") == [(pod[:12],)]


def test_a_container_that_starts_later_is_named_in_a_recording_of_the_machine(
    start: Run, tmp_path: Path
) -> None:
    recorder = watched(tmp_path / "r.iowhy", target="machine")
    start("iowhy-test-f", WRITE)
    podman("wait", "iowhy-test-f")
    recorder.terminate()
    assert recorder.wait(60) == 0
    assert written(open_recording(tmp_path / "r.iowhy")) == [one("iowhy-test-f")]


def test_a_file_of_the_image_s_overlay_is_one_file_under_the_containers_name(
    start: Run, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Not on a volume: the file is in the upper layer, where podman keeps it, and so are its requests."""
    driver = podman("info", "--format", "{{.Store.GraphDriverName}}")
    if driver != "overlay":
        cannot_run(request, f"Podman keeps its layers by {driver}")
    start("iowhy-test-g", WAITS.replace(WRITE, f"{WRITE.replace('/data/z', '/own')}; {WRITE}"))
    recorder = watched(tmp_path / "r.iowhy", "--container", "iowhy-test-g")
    end(recorder, tmp_path, "iowhy-test-g")
    recording = open_recording(tmp_path / "r.iowhy")
    of_file = """SELECT (SELECT sum(ret) FROM syscalls s WHERE s.dev = f.dev AND s.ino = f.ino AND s.name = 'write'),
        (SELECT sum(bytes) FROM block_requests b WHERE b.owner_dev = f.dev AND b.owner_ino = f.ino AND b.op = 'write')
        FROM files f WHERE f.path = ?"""
    assert ask(recording, of_file, "/own") == [(BLOCK * BLOCKS, BLOCK * BLOCKS)]
