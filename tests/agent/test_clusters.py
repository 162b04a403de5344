"""What runs in a cluster has four capabilities and no more, and what is copied there is what is shipped. tools/chart checks the chart with Helm,
tools/cluster all of it on a real one."""

import io
import json
import sys
import tarfile
from contextlib import nullcontext
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from iowhy.agent import settings, shipped
from iowhy.cli import top
from iowhy.options.control_groups import groups_of
from iowhy.options.parser import parse
from iowhy.version import VERSION

ROOT = Path(__file__).parents[2]
RIGHTS = {"drop": ["ALL"], "add": ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH"]}


def plain() -> dict[tuple[str, str], dict[str, Any]]:
    """The objects of the plain YAML by kind and name."""
    found = yaml.safe_load_all((ROOT / "charts/iowhy.yaml").read_text())
    return {(one["kind"], one["metadata"]["name"]): one for one in found if one}


@pytest.fixture(scope="module")
def plugin() -> ModuleType:
    loader = SourceFileLoader("kubectl_iowhy", str(ROOT / "wheel/scripts/kubectl-iowhy"))
    spec = spec_from_loader("kubectl_iowhy", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def job(plugin: ModuleType, runtime: str, kubelet: str = "v1.34.4") -> dict[str, Any]:
    options, _ = plugin.parsed(["run", "db"])
    info = {"containerRuntimeVersion": runtime, "kubeletVersion": kubelet}
    node = {"metadata": {"name": "blue"}, "status": {"nodeInfo": info}}
    made: dict[str, Any] = plugin.job("iowhy-1", options, node, "iowhy:1", 330)
    return made


def is_bound(pod: dict[str, Any]) -> None:
    """It sees the node's processes, and has of root's rights those that the recorder needs; of the node it writes nothing but recordings."""
    (container,) = pod["containers"]
    rights = container["securityContext"]
    assert pod["hostPID"] and not pod.get("hostNetwork") and "privileged" not in rights
    assert rights["capabilities"] == RIGHTS
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
    assert (
        pod["automountServiceAccountToken"] is False
        and {"operator": "Exists"} in pod["tolerations"]
    )
    assert container["resources"]["limits"]["memory"]
    hosts = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    written = {
        hosts[one["name"]]
        for one in container["volumeMounts"]
        if one["name"] in hosts and not one.get("readOnly")
    }
    assert written <= {"/var/lib/iowhy"} and "/sys/fs/cgroup" in hosts.values()


def test_the_agents_pod(tmp_path: Path) -> None:
    objects = plain()
    pod = objects["DaemonSet", "iowhy"]["spec"]["template"]["spec"]
    is_bound(pod)
    assert pod["containers"][0]["image"] == f"localhost/iowhy:{VERSION}"
    file = tmp_path / "agent.toml"
    file.write_text(objects["ConfigMap", "iowhy"]["data"]["agent.toml"])
    read = settings.read(file)
    assert (
        read.metrics == ("0.0.0.0", 9469) and read.triggers and read.directory == settings.DIRECTORY
    )


def test_alerts_and_board_are_those_that_are_shipped() -> None:
    objects = plain()
    assert objects["ConfigMap", "iowhy-alerts"]["data"]["iowhy.yml"] == shipped.text("alerts")
    board = objects["ConfigMap", "iowhy-board"]["data"]["iowhy.json"]
    assert json.loads(board) == json.loads(shipped.text("board"))
    # What Helm reads: no links, which a packed chart has not.
    files = ROOT / "charts/iowhy/files"
    assert (files / "alerts.yml").read_text() == shipped.text("alerts")
    assert (files / "board.json").read_text() == shipped.text("board")


@pytest.mark.parametrize(
    ("runtime", "kubelet", "state"),
    [
        ("containerd://2.1.4", "v1.34.4", {"/run/containerd"}),
        ("containerd://2.1.4", "v1.34.4+k3s1", {"/run/k3s/containerd"}),
        ("cri-o://1.33", "v1.33.1", {"/run/containers/storage", "/var/lib/containers/storage"}),
    ],
)
def test_the_plugins_pod_ends_by_itself(
    plugin: ModuleType, runtime: str, kubelet: str, state: set[str]
) -> None:
    spec = job(plugin, runtime, kubelet)["spec"]
    pod = spec["template"]["spec"]
    is_bound(pod)
    assert (spec["activeDeadlineSeconds"], spec["backoffLimit"]) == (330, 0)
    assert spec["ttlSecondsAfterFinished"] < 60 and pod["restartPolicy"] == "Never"
    assert pod["nodeName"] == "blue"
    paths = {one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    assert paths - {"/sys/fs/cgroup"} == state


def test_of_a_pods_archive_nothing_but_the_recordings_files_is_made(
    plugin: ModuleType, tmp_path: Path
) -> None:
    def archive(name: str, **more: Any) -> tarfile.TarFile:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            member = tarfile.TarInfo(name)
            for key, value in more.items():
                setattr(member, key, value)
            tar.addfile(member)
        packed.seek(0)
        return tarfile.open(fileobj=packed)

    link = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}
    for bad in (
        archive("../x"),
        archive("r.iowhy/../../x"),
        archive("/r.iowhy/x"),
        archive("r.iowhy/a", **link),
    ):
        with pytest.raises(tarfile.TarError):
            plugin.unpack(bad, bad.next(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    good = archive("r.iowhy/manifest.json")
    plugin.unpack(good, good.next(), tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("more", "group"),
    [([], ("--pod", "prod/db")), (["-c", "app"], ("--container", "prod/db/app"))],
)
def test_what_the_plugin_asks_of_top_in_its_pod_top_takes(
    plugin: ModuleType, monkeypatch: pytest.MonkeyPatch, more: list[str], group: tuple[str, str]
) -> None:
    options, _ = plugin.parsed(["top", "db", "-n", "prod", *more])
    asked: list[list[str]] = []

    def run(words: list[str], **_: object) -> SimpleNamespace:
        asked.append(words)
        return SimpleNamespace(returncode=0)

    there = ["kubectl", "exec", "-n", "iowhy", "iowhy-1", "-c", "iowhy"]
    monkeypatch.setattr(plugin, "helper", lambda *_: nullcontext(there))
    monkeypatch.setattr(plugin, "node_of", lambda *_: "blue")
    monkeypatch.setattr(plugin.subprocess, "run", run)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda: True))
    assert plugin.top(None, options) == 0
    (said,) = asked
    at = said.index("--")
    assert (
        "-it" in said[:at] and "iowhy-1" in said[:at] and said[at + 1 : at + 3] == ["iowhy", "top"]
    )
    found = parse(top.Options, said[at + 3 :])
    assert groups_of(found) == [group]
    # The rest of the pod's root is read-only.
    assert found.output is not None and found.output.parent == Path("/tmp")


def test_plugin_and_chart_have_the_version(plugin: ModuleType) -> None:
    chart = yaml.safe_load((ROOT / "charts/iowhy/Chart.yaml").read_text())
    assert {plugin.VERSION, chart["version"], chart["appVersion"]} == {VERSION}
