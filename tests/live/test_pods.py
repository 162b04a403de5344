"""Two pods with a container of the same name are two containers: to the recorder, its reports, and the agent's metrics."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.agent.counted import read
from iowhy.agent.totals import Totals
from iowhy.recordings import open_recording
from iowhy.reports import Filters, run
from machine import Filesystem, ask, filesystem, number
from test_agent_containers import root
from test_agent_counts import aggregating, opened
from test_containers import watched

pytestmark = pytest.mark.usefixtures("live")

BLOCK = 65_536
#: Blocks that the container `app` of each pod reads.
PODS = {("prod", "db"): 48, ("ops", "backup"): 160}
#: Where CRI-O keeps what it knows of a container; no daemon looks here for others' than its own.
STATE = Path("/run/containers/storage/overlay-containers")


def id_of(pod: tuple[str, str]) -> str:
    return hashlib.sha256(f"iowhy test {pod} {os.getpid()}".encode()).hexdigest()


@contextmanager
def made(folder: Path) -> Iterator[Path]:
    """A folder, and those above it that are not there, gone again afterwards."""
    above = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        for one in above:
            with suppress(OSError):  # somebody else's is in it by now
                one.rmdir()


@contextmanager
def container(pod: tuple[str, str]) -> Iterator[Path]:
    """The control group of a pod's container `app`, with the state that CRI-O writes of it."""
    namespace, name = pod
    annotations = {
        "io.kubernetes.cri-o.ContainerID": id_of(pod),
        "io.kubernetes.container.name": "app",
        "io.kubernetes.pod.name": name,
        "io.kubernetes.pod.namespace": namespace,
    }
    with ExitStack() as stack:
        group = stack.enter_context(
            made(root() / f"iowhy-test-kubepods-{os.getpid()}" / f"crio-{id_of(pod)}.scope")
        )
        userdata = stack.enter_context(made(STATE / id_of(pod) / "userdata"))
        (userdata / "config.json").write_text(json.dumps({"annotations": annotations}))
        stack.callback((userdata / "config.json").unlink)
        yield group


@contextmanager
def pods() -> Iterator[dict[tuple[str, str], Path]]:
    with ExitStack() as stack:
        yield {pod: stack.enter_context(container(pod)) for pod in PODS}


def reading(scratch: Filesystem, groups: dict[tuple[str, str], Path]) -> None:
    """Each container reads its blocks, past the page cache."""
    script = 'echo $$ > "$0/cgroup.procs"; exec dd if="$1" of=/dev/null iflag=direct bs="$2"'
    for pod, group in groups.items():
        file = Path(scratch.mount) / f"of-{pod[1]}"
        file.write_bytes(bytes(PODS[pod] * BLOCK))
        subprocess.run(["sync", file], check=True)
        words = ["sh", "-c", script, group, file, str(BLOCK)]
        subprocess.run(words, check=True, capture_output=True, timeout=60)


def test_two_pods_with_a_container_of_one_name_are_two(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch, pods() as groups:
        recorder = watched(tmp_path / "r.iowhy", "--duration", "120", target="machine")
        reading(scratch, groups)
        recorder.terminate()
        assert recorder.wait(60) == 0
        dev = number(Path(scratch.mount))
    recording = open_recording(tmp_path / "r.iowhy")
    read_by = (
        "SELECT t.container, sum(s.ret) FROM syscalls s JOIN threads t USING (tgid, tid) "
        "WHERE s.name = 'read' AND s.dev = ? GROUP BY 1"
    )
    expected = {id_of(pod): blocks * BLOCK for pod, blocks in PODS.items()}
    assert dict(ask(recording, read_by, dev)) == expected
    rows = {row["container"]: row for row in run(recording, "containers").to_pylist()}
    for (namespace, name), blocks in PODS.items():
        row = rows[f"{namespace}/{name}/app"]
        assert (row["pod"], row["container_id"]) == (
            f"{namespace}/{name}",
            id_of((namespace, name)),
        )
        # Beside its blocks it reads where they are, and its program.
        assert blocks * BLOCK <= row["read_bytes"] < (blocks + 16) * BLOCK
    assert "app" not in rows
    chosen = run(recording, "threads", Filters(container="ops/backup/app")).to_pylist()
    assert {row["container"] for row in chosen} == {"ops/backup/app"}


def test_the_agent_counts_each_of_them(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "agent"
    with filesystem("ext4", tmp_path) as scratch, pods() as groups:
        with aggregating(folder, "--calls") as lines:
            reading(scratch, groups)
        dev = number(Path(scratch.mount))
    kept = opened(folder)
    if not kept.ran("agent_calls"):
        cannot_run(request, "this kernel does not take the programs of calls")
    counted = "SELECT container, sum(bytes) FROM agent_latencies WHERE measure = 'call' AND name = 'read' AND dev = ? GROUP BY 1"
    assert dict(ask(kept, counted, dev)) == {id_of(pod): n * BLOCK for pod, n in PODS.items()}
    totals = Totals()
    for line in lines:
        totals.add(read(json.dumps(line)))
    bytes_ = {
        key[2:6]: histogram.bytes
        for key, histogram in totals.histograms.items()
        if key[:2] == ("call", "read") and key[-1] == str(scratch.mount)
    }
    assert bytes_ == {
        (f"{space}/{pod}/app", space, pod, "app"): blocks * BLOCK
        for (space, pod), blocks in PODS.items()
    }
    reported = {
        row["service"]: row["bytes"]
        for row in run(kept, "agent-latencies").to_pylist()
        if (row["measure"], row["name"], row["device"]) == ("call", "read", str(scratch.mount))
    }
    assert reported == {key[0]: value for key, value in bytes_.items()}
