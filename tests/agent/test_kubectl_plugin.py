"""`kubectl iowhy` leaves nothing behind, however it ends: with a kubectl that notes what is there. tools/cluster tries it on a real cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "wheel/scripts/kubectl-iowhy"
#: Of a cluster: one pod on one node, and Jobs, which are files. An exec ends with its input, or where a file says so never.
KUBECTL = """#!{python}
import io, json, pathlib, sys, tarfile, time
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
jobs, what = here / "jobs", words[0]
if what == "get":
    kind = words[1]
    name = next(iter(jobs.iterdir()), pathlib.Path("none")).name
    status = {{"phase": "Running", "nodeInfo": {{"containerRuntimeVersion": "containerd://2", "kubeletVersion": "v1.34.4"}}}}
    one = {{"metadata": {{"name": name if kind == "pods" else words[2]}}, "spec": {{"nodeName": "blue"}}, "status": status}}
    print(json.dumps({{"items": []}} if kind == "daemonsets" else {{"items": [one]}} if kind == "pods" else one))
elif what == "create":
    made = json.load(sys.stdin)
    (jobs / made["metadata"]["name"]).touch()
elif what == "delete":
    if words[1] == "job":
        (jobs / words[2]).unlink(missing_ok=True)
elif what == "exec":
    asked = words[words.index("--") + 1 :]
    if asked[0] == "iowhy-record":
        print("iowhy: recording; Ctrl-C ends it", file=sys.stderr, flush=True)
        if (here / "dead").exists():
            time.sleep(100)
        sys.stdin.read()
    elif "tarfile" in asked[-1]:
        with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
            for path in ("r.iowhy", "r.iowhy/manifest.json"):
                member = tarfile.TarInfo(path)
                member.type = tarfile.REGTYPE if path.endswith("json") else tarfile.DIRTYPE
                archive.addfile(member)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "kubectl").write_text(KUBECTL.format(python=sys.executable))
    (tmp_path / "kubectl").chmod(0o755)
    return tmp_path


@pytest.fixture
def recording(cluster: Path, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    """A recording of a pod for ten minutes, which has begun."""
    if getattr(request, "param", "") == "dead":
        (cluster / "dead").touch()
    words = [sys.executable, PLUGIN, "run", "db", "-n", "prod", "--duration", "10m"]
    env = {**os.environ, "PATH": str(cluster)}
    with subprocess.Popen(words, env=env, cwd=cluster, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:  # fmt: skip
        try:
            assert running.stderr is not None and any("recording" in x for x in running.stderr)
            assert list((cluster / "jobs").iterdir())
            yield running
        finally:
            running.kill()


def test_at_ctrl_c_the_recording_comes_and_the_job_goes(
    cluster: Path, recording: "subprocess.Popen[str]"
) -> None:
    recording.send_signal(signal.SIGINT)
    assert recording.wait(30) == 0
    assert (cluster / "db.iowhy/manifest.json").exists() and not list((cluster / "jobs").iterdir())


def test_told_to_end_it_removes_the_job(cluster: Path, recording: "subprocess.Popen[str]") -> None:
    recording.send_signal(signal.SIGTERM)
    assert recording.wait(30) == 143
    assert not (cluster / "db.iowhy").exists() and not list((cluster / "jobs").iterdir())


@pytest.mark.parametrize("recording", ["dead"], indirect=True)
def test_of_a_dead_node_a_second_ctrl_c_removes_the_job(
    cluster: Path, recording: "subprocess.Popen[str]"
) -> None:
    for _ in range(60):  # the first ends the recording, which never comes
        recording.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            recording.wait(0.5)
            break
    assert recording.returncode == 130
    assert not (cluster / "db.iowhy").exists() and not list((cluster / "jobs").iterdir())
