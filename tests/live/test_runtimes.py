"""Docker, Podman, containerd and LXC: what docs/containers.md says to type gives all sensors inside, and by its name a container is recorded from the host.

Each daemon is the test's own and keeps its data in a folder of the test's, where only its command line leads.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask
from test_containers import watched
from test_podman import BLOCK, BLOCKS, LIMITS, PODMAN, WAITS

pytestmark = pytest.mark.usefixtures("live")

PAGE = Path(__file__).parents[2] / "docs/containers.md"
IMAGE = f"localhost/iowhy-runtimes-{os.getpid()}:1"
#: What the container sees of this machine: the recorder and its libraries.
SEEN = [Path(path) for path in ("/usr", "/lib", "/lib64") if Path(path).exists()]
RECORDS = [
    str(program(RECORDER)), "run", "--mode", "bpf", "--stacks", "-o", "/data/r.iowhy", "--",
    "/bin/busybox", "dd", "if=/dev/zero", "of=/data/z", f"bs={BLOCK}", f"count={BLOCKS}",
]  # fmt: skip
WITHIN_S = 120


def call(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.strip()


def documented(line: str) -> list[str]:
    """The options of a line that the page has; the line ends with …"""
    assert f"`{line} …`" in PAGE.read_text("utf-8")
    return line.split()[2:]


@contextmanager
def daemon(log: Path, words: list[str | Path], answers: Callable[[], bool]) -> Iterator[None]:
    """A daemon that runs meanwhile."""
    with log.open("wb") as out, subprocess.Popen(words, stdout=out, stderr=out) as running:
        try:
            for _ in range(600):
                if answers():
                    break
                assert running.poll() is None, log.read_text()[-2000:]
                time.sleep(0.1)
            yield
        finally:
            running.terminate()
            running.wait(60)


class Docker:
    """Its daemon has a data root of its own, and no network."""

    NEEDS, IMAGE = "dockerd", IMAGE

    def __init__(self, folder: Path, rootfs: Path) -> None:
        self.folder, self.rootfs = folder, rootfs
        self.docker = ["docker", "-H", f"unix://{folder}/d.sock"]

    @contextmanager
    def running(self) -> Iterator[None]:
        folder = self.folder
        words = ["dockerd", "--data-root", folder / "root", "--exec-root", folder / "exec"]
        words += ["--pidfile", folder / "pid", "-H", self.docker[2]]
        with daemon(folder / "log", [*words, "--iptables=false", "--bridge=none"], self._answers):
            call("tar", "-C", self.rootfs, "-cf", folder / "image.tar", ".")
            call(*self.docker, "import", folder / "image.tar", IMAGE)
            yield

    def _answers(self) -> bool:
        return (
            subprocess.run([*self.docker, "info"], capture_output=True, check=False).returncode == 0
        )

    def options(self) -> list[str]:
        version = call(*self.docker, "version", "--format", "{{.Server.Version}}")
        if int(version.split(".")[0]) < 23:
            return documented("docker run --cap-add SYS_ADMIN")
        return documented("docker run --cap-add BPF --cap-add PERFMON")

    def start(self, name: str, data: Path) -> None:
        words = ["run", "-d", "--network", "none", "--name", name, "-v", f"{data}:/data"]
        call(*self.docker, *words, IMAGE, "/bin/sh", "-c", WAITS)

    def inside(self, data: Path) -> None:
        seen = [word for path in _seen() for word in ("-v", f"{path}:{path}:ro")]
        words = ["run", "--rm", "--network", "none", *self.options(), *seen]
        call(*self.docker, *words, "-v", f"{data}:/data", IMAGE, *RECORDS)

    def remove(self, name: str) -> None:
        call(*self.docker, "rm", "-f", name)


class Podman(Docker):
    """It has no daemon."""

    NEEDS = "podman"

    def __init__(self, folder: Path, rootfs: Path) -> None:
        super().__init__(folder, rootfs)
        self.docker = PODMAN

    @contextmanager
    def running(self) -> Iterator[None]:
        call("tar", "-C", self.rootfs, "-cf", self.folder / "image.tar", ".")
        call(*self.docker, "import", self.folder / "image.tar", IMAGE)
        try:
            yield
        finally:
            call(*self.docker, "image", "rm", "-f", IMAGE)

    def options(self) -> list[str]:
        version = call("podman", "version", "--format", "{{.Client.Version}}")
        if int(version.split(".")[0]) < 5:
            return [*LIMITS[:4], *documented("podman run --cap-add SYS_ADMIN")]
        return [*LIMITS[:4], *documented("podman run --cap-add BPF --cap-add PERFMON")]


class Containerd:
    """By its own client; root and state are where its configuration says."""

    NEEDS, IMAGE = "containerd", None

    def __init__(self, folder: Path, rootfs: Path) -> None:
        self.folder, self.rootfs = folder, rootfs
        self.ctr = ["ctr", "-a", f"{folder}/c.sock"]

    @contextmanager
    def running(self) -> Iterator[None]:
        folder, file = self.folder, self.folder / "config.toml"
        file.write_text(
            f'version = 2\nroot = "{folder}/root"\nstate = "{folder}/state"\n'
            'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\n  address = "{folder}/c.sock"\n[ttrpc]\n  address = "{folder}/t.sock"\n'
        )
        with daemon(folder / "log", ["containerd", "--config", file], self._answers):
            yield

    def _answers(self) -> bool:
        done = subprocess.run([*self.ctr, "version"], capture_output=True, check=False)
        return done.returncode == 0

    def start(self, name: str, data: Path, *options: str) -> None:
        words = ["run", "-d", *options, "--mount", _bind(data, Path("/data"), "rw"), "--rootfs"]
        call(*self.ctr, *words, self.rootfs, name, "/bin/sh", "-c", WAITS)

    def inside(self, data: Path) -> None:
        given = documented("ctr run --cap-add CAP_BPF --cap-add CAP_PERFMON")
        seen = [word for path in _seen() for word in ("--mount", _bind(path, path, "ro"))]
        words = ["run", "--rm", *given, *seen, "--mount", _bind(data, Path("/data"), "rw")]
        call(*self.ctr, *words, "--rootfs", self.rootfs, "iowhy-inside", *RECORDS)

    def remove(self, name: str) -> None:
        for _ in range(100):
            done = subprocess.run([*self.ctr, "task", "rm", name], capture_output=True, check=False)
            if done.returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run([*self.ctr, "task", "rm", "-f", name], check=False)
        subprocess.run([*self.ctr, "container", "rm", name], capture_output=True, check=False)


class Lxc:
    """A container of root's, with what the distribution includes in each."""

    NEEDS, IMAGE = "lxc-start", None

    def __init__(self, folder: Path, rootfs: Path) -> None:
        self.folder, self.rootfs = folder, rootfs

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def _started(self, name: str, data: Path, *words: str) -> list[str | Path]:
        file = self.folder / f"{name}.conf"
        mounts = [(path, path, "ro") for path in _seen()] + [(data, Path("/data"), "rw")]
        file.write_text(
            "lxc.include = /usr/share/lxc/config/common.conf\n"
            f"lxc.rootfs.path = dir:{self.rootfs}\nlxc.uts.name = {name}\nlxc.net.0.type = empty\n"
            + "".join(f"lxc.mount.entry = {a} {str(b)[1:]} none rbind,{how} 0 0\n" for a, b, how in mounts)
        )  # fmt: skip
        return ["lxc-start", "-P", self.folder, "-n", name, "-f", file, *words]

    def start(self, name: str, data: Path) -> None:
        call(*self._started(name, data, "-d", "--", "/bin/sh", "-c", WAITS))

    def inside(self, data: Path) -> None:
        call(*self._started("iowhy-inside", data, "-F", "--", *RECORDS))

    def remove(self, name: str) -> None:
        stop = ["lxc-stop", "-k", "-P", self.folder, "-n", name]
        subprocess.run(stop, capture_output=True, check=False)


Runtime = Docker | Containerd | Lxc
NAMED: dict[str, Callable[[Path, Path], Runtime]] = {
    "docker": Docker,
    "podman": Podman,
    "containerd": Containerd,
    "lxc": Lxc,
}


def _seen() -> list[Path]:
    return [*SEEN, program(RECORDER).parent]


def _bind(source: Path, target: Path, how: str) -> str:
    return f"type=bind,src={source},dst={target},options=rbind:{how}"


@pytest.fixture(scope="module")
def rootfs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """busybox, and where the machine's folders are put."""
    root = tmp_path_factory.mktemp("rootfs")
    for place in ("bin", "data", "proc", "sys", "dev", "etc", "run", "tmp"):
        (root / place).mkdir()
    for place in _seen():
        (root / str(place)[1:]).mkdir(parents=True, exist_ok=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", root / "bin/busybox")
    for applet in ("sh", "dd", "sleep"):
        (root / "bin" / applet).symlink_to("busybox")
    return root


@pytest.fixture(scope="module")
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, rootfs: Path
) -> Iterator[Runtime]:
    """The runtime of this name, for all tests of it."""
    made = NAMED[request.param](tmp_path_factory.mktemp(request.param), rootfs)
    if shutil.which(made.NEEDS) is None:
        cannot_run(request, f"{made.NEEDS} is missing (tools/setup test)")
    with made.running():
        yield made


def recorded(
    runtime: Runtime, name: str, tmp_path: Path, *asked: str, pod: str | None = None
) -> list[tuple[object, ...]]:
    """Of a container that writes while it is asked for: its name, image and runtime, its calls of write and their bytes."""
    try:
        recorder = watched(tmp_path / "r.iowhy", *asked)
        (tmp_path / name / "go").touch()
        written = tmp_path / name / "z"
        for _ in range(1200):
            if written.exists() and written.stat().st_size == BLOCK * BLOCKS:
                break
            time.sleep(0.05)
        (tmp_path / name / "end").touch()
    finally:
        # Not every runtime removes the group of a container that has ended, nor that of its pod.
        runtime.remove(name)
        if pod is not None:
            _without_groups(pod)
    assert recorder.wait(60) == 0
    return ask(
        open_recording(tmp_path / "r.iowhy"),
        "SELECT c.name, c.image, c.runtime, count(*), sum(s.ret) FROM syscalls s "
        "JOIN threads t ON t.tid = s.tid AND t.tgid = s.tgid JOIN containers c ON c.id = t.container "
        "JOIN files f ON f.dev = s.dev AND f.ino = s.ino "
        "WHERE s.name = 'write' AND f.path = '/data/z' GROUP BY ALL",
    )


def _without_groups(pod: str) -> None:
    for place in (pod, *map(str, Path(pod).parents[:2])):
        for made in Path("/sys/fs/cgroup").glob(f"*/{place}"):
            with suppress(OSError):  # of a node that runs other pods
                made.rmdir()


@pytest.mark.parametrize("runtime", ["docker", "containerd", "lxc"], indirect=True)
def test_a_container_by_its_name_wherever_its_daemon_keeps_that(
    runtime: Runtime, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = "iowhy-test-web"
    data = tmp_path / name
    data.mkdir()
    runtime.start(name, data)
    found = recorded(runtime, name, tmp_path, "--container", name)
    kind = re.split("[][]", request.node.name)[1]
    assert found == [(name, runtime.IMAGE, kind, BLOCKS, BLOCK * BLOCKS)]


@pytest.mark.parametrize("runtime", list(NAMED), indirect=True)
def test_what_the_page_says_to_type_gives_all_sensors_inside(
    runtime: Runtime, tmp_path: Path
) -> None:
    runtime.inside(tmp_path)
    recording = open_recording(tmp_path / "r.iowhy")
    here = json.loads(call(program(RECORDER), "probe"))["sensors"]
    # Not every runtime shows its containers the control groups and the kernel's log; statements are not asked for.
    missing = {one["name"] for one in here if one["ran"] and not recording.ran(one["name"])}
    assert missing <= {"cgroup_samples", "kernel_log", "statement_calls"}
    query = "SELECT count(*), sum(ret) FROM syscalls s JOIN files f USING (dev, ino) WHERE name = 'write' AND path = '/data/z'"
    assert ask(recording, query) == [(BLOCKS, BLOCK * BLOCKS)]


@pytest.mark.parametrize("runtime", ["containerd"], indirect=True)
def test_a_static_pod_without_its_nodes_name(runtime: Containerd, tmp_path: Path) -> None:
    """As kubelet has it made: by annotations of the container, in a group of its pod's."""
    id_, pod = os.urandom(32).hex(), f"db-{os.uname().nodename.lower()}"
    (tmp_path / id_).mkdir()
    said = {
        "sandbox-name": pod, "sandbox-namespace": "prod", "container-name": "db",
        "image-name": "registry/db:1",
    }  # fmt: skip
    options = [word for key, value in said.items() for word in ("--annotation", f"io.kubernetes.cri.{key}={value}")]  # fmt: skip
    group = f"kubepods/burstable/pod{os.urandom(16).hex()}"
    runtime.start(id_, tmp_path / id_, "--cgroup", f"/{group}/{id_}", *options)
    found = recorded(runtime, id_, tmp_path, "--pod", "prod/db", pod=group)
    assert found == [("db", "registry/db:1", "containerd", BLOCKS, BLOCK * BLOCKS)]
    pods = "SELECT DISTINCT pod, pod_namespace FROM containers"
    assert ask(open_recording(tmp_path / "r.iowhy"), pods) == [(pod, "prod")]
