"""A container is recorded whole, and nothing else: with a real runtime (runc), on whichever control groups the machine has."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program
from machine import ask, python, record

pytestmark = pytest.mark.usefixtures("live")

COPIES = 12
BLOCK, BLOCKS = 65_536, 16
LOOP = (
    "while [ ! -e /data/go ]; do sleep 0.05; done; "
    f"i=0; while [ $i -lt {COPIES} ]; do i=$((i+1)); "
    f"dd if=/dev/zero of=/data/$i bs={BLOCK} count={BLOCKS} conv=fsync; done"
)


def bundle(folder: Path, script: str) -> Path:
    """A container of busybox alone that runs `script`."""
    (folder / "rootfs/bin").mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None, "tools/setup test installs busybox-static"
    shutil.copy(busybox, folder / "rootfs/bin/busybox")
    for applet in ("sh", "dd", "sleep", "cat"):
        (folder / "rootfs/bin" / applet).symlink_to("busybox")
    for name in ("data", "proc", "sys", "dev"):
        (folder / "rootfs" / name).mkdir()
    subprocess.run(["runc", "spec"], cwd=folder, check=True)
    config = json.loads((folder / "config.json").read_text())
    config["process"] |= {"terminal": False, "args": ["sh", "-c", script]}
    config["root"]["readonly"] = False
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@contextmanager
def running(folder: Path, name: str) -> Iterator[None]:
    """The container runs, and is gone afterwards."""
    with subprocess.Popen(
        ["runc", "run", "-b", folder, name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as container:
        try:
            for _ in range(1200):
                state = subprocess.run(["runc", "state", name], capture_output=True, check=False)
                if state.returncode == 0 and json.loads(state.stdout)["status"] == "running":
                    break
                assert container.poll() is None, container.stderr and container.stderr.read()
                time.sleep(0.05)
            yield
        finally:
            subprocess.run(["runc", "delete", "-f", name], capture_output=True, check=False)


def watched(out: Path, *options: str, target: str = "group") -> subprocess.Popen[bytes]:
    """The recorder, once it takes records."""
    recorder = subprocess.Popen([program(RECORDER), target, "-o", out, *options])
    for _ in range(1200):
        manifest = out / "manifest.json"
        if manifest.exists() and json.loads(manifest.read_text())["command"]["start_ns"]:
            break
        assert recorder.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    return recorder


def written(recording: Recording) -> list[tuple[object, ...]]:
    """Per container and program: files, calls of write to regular files, bytes."""
    return ask(
        recording,
        "SELECT t.container, t.comm, count(DISTINCT s.ino), count(*), sum(s.ret) FROM syscalls s "
        "JOIN threads t ON t.tid = s.tid AND t.tgid = s.tgid JOIN files f ON f.dev = s.dev AND f.ino = s.ino "
        "WHERE s.name = 'write' AND f.path LIKE '%/data/%' GROUP BY ALL",
    )


def test_all_that_a_container_starts_is_recorded_and_nothing_else(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "bundle", LOOP)
    with running(folder, "iowhy-test-1"):
        outside = subprocess.Popen(["sh", "-c", "while :; do cat /etc/passwd >/dev/null; done"])
        recorder = watched(tmp_path / "r.iowhy", "--container", "iowhy-test-1")
        (folder / "rootfs/data/go").touch()
        # The recording ends with the container.
        assert recorder.wait(60) == 0
        outside.kill()
        outside.wait()
    recording = open_recording(tmp_path / "r.iowhy")
    assert written(recording) == [
        ("iowhy-test-1", "dd", COPIES, COPIES * BLOCKS, COPIES * BLOCKS * BLOCK)
    ]
    # Under the host's /data they are not, which does not tell that they are gone.
    gone = "SELECT count(*) FROM files WHERE path LIKE '%/data/%' AND deleted"
    assert ask(recording, gone) == [(0,)]
    others = "SELECT count(*) FROM threads WHERE container IS DISTINCT FROM 'iowhy-test-1'"
    assert ask(recording, others) == [(0,)]
    assert ask(recording, "SELECT id, name, runtime FROM containers") == [
        ("iowhy-test-1", "iowhy-test-1", "runc")
    ]


def test_what_comes_into_a_control_group_later_is_recorded(tmp_path: Path) -> None:
    group = own_group("iowhy-test-later")
    code = (
        "import os, sys\nopen(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "for n in range(50):\n os.pread(os.open('/etc/passwd', 0), 7, 0)\n"
    )
    try:
        recorder = watched(tmp_path / "r.iowhy", "--cgroup", str(group), "--duration", "20")
        subprocess.run(
            [str(word) for word in python(code, group / "cgroup.procs")], check=True, timeout=60
        )
        recorder.terminate()
        assert recorder.wait(60) == 0
    finally:
        group.rmdir()
    recording = open_recording(tmp_path / "r.iowhy")
    query = "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64'"
    assert ask(recording, query) == [(50, 350)]
    assert ask(recording, "SELECT count(DISTINCT tgid) FROM threads") == [(1,)]


def own_group(name: str) -> Path:
    """A new control group on the hierarchy that containers are on."""
    kinds = Path("/proc/self/mountinfo").read_text().splitlines()
    mounts = [(line.split(" - ")[1].split(), line.split()[4]) for line in kinds]
    old = [
        point for kind, point in mounts if kind[0] == "cgroup" and "memory" in kind[2].split(",")
    ]
    new = [point for kind, point in mounts if kind[0] == "cgroup2"]
    group = Path((old or new)[0]) / name
    group.mkdir()
    return group


def test_in_a_pid_namespace_of_its_own_numbers_are_those_of_its_proc(tmp_path: Path) -> None:
    code = "import os\nprint(os.getpid())\nfor n in range(30):\n os.pread(os.open('/etc/passwd', 0), 5, 0)"
    inside = [program(RECORDER), "run", "-o", tmp_path / "r.iowhy", "--", *python(code)]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", *inside],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    recording = open_recording(tmp_path / "r.iowhy")
    assert ask(recording, "SELECT tgid FROM threads") == [(int(done.stdout),)]
    query = "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64' AND ret = 5"
    assert ask(recording, query) == [(30, 150)]


def test_a_container_with_two_capabilities_records_itself(tmp_path: Path) -> None:
    """CAP_BPF and CAP_PERFMON suffice for all sensors; others only name more."""
    folder = bundle(tmp_path / "bundle", "")
    config = json.loads((folder / "config.json").read_text())
    names = ["CAP_BPF", "CAP_PERFMON"]
    config["process"]["capabilities"] = dict.fromkeys(("bounding", "effective", "permitted"), names)
    config["process"]["args"] = [
        str(program(RECORDER)), "run", "--mode", "bpf", "-o", "/data/r.iowhy", "--",
        "/bin/busybox", "dd", "if=/dev/zero", "of=/data/z", f"bs={BLOCK}", f"count={BLOCKS}",
    ]  # fmt: skip
    for place in ("/usr", "/lib", "/lib64", str(program(RECORDER).parent)):
        if Path(place).exists():
            config["mounts"].append(
                {"destination": place, "type": "bind", "source": place, "options": ["rbind", "ro"]}
            )
    config["process"]["rlimits"] = []
    (folder / "config.json").write_text(json.dumps(config))
    done = subprocess.run(
        ["runc", "run", "-b", folder, "iowhy-test-2"], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    recording = open_recording(folder / "rootfs/data/r.iowhy")
    query = "SELECT count(*), sum(ret) FROM syscalls s JOIN files f USING (dev, ino) WHERE name = 'write' AND path LIKE '%/data/z'"
    assert ask(recording, query) == [(BLOCKS, BLOCKS * BLOCK)]


def test_a_command_in_no_container_says_so(tmp_path: Path) -> None:
    recording = record(["true"], tmp_path / "r.iowhy")
    group = Path("/proc/self/cgroup").read_text()
    if any(word in group for word in (".service", ".scope", "docker", "lxc", "libpod", "kubepods")):
        return  # the tests run in one
    found = {container for (container,) in ask(recording, "SELECT container FROM threads")}
    assert found <= {"", None}
