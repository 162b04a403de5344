"""The images that `make release` has made: what is in them, and that Docker, Podman and containerd load and run them."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from iowhy.recordings import open_recording
from iowhy.version import VERSION
from test_podman import LIMITS, PODMAN
from test_runtimes import Containerd, Docker, call

DIST = Path(os.environ.get("DIST", "dist"))
ARCHIVES = sorted(DIST.glob("*-image-*.tar"))
OWN = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
#: Of its layers, as they are fetched, and as they are unpacked.
MOST_BYTES = {"iowhy": (100_000_000, 260_000_000), "iowhy-record": (6_000_000, 12_000_000)}

pytestmark = [
    pytest.mark.skipif(not ARCHIVES, reason="make release has not run"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


def own(name: str) -> Path:
    return DIST / f"{name}-{VERSION}-image-{OWN}.tar"


def reference(name: str) -> str:
    return f"localhost/{name}:{VERSION}"


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_what_is_in_them(archive: Path) -> None:
    name = "iowhy-record" if archive.name.startswith("iowhy-record") else "iowhy"
    with tarfile.open(archive) as tar:
        blobs = {one.name: one for one in tar if one.name.startswith("blobs/")}

        def blob(described: dict[str, Any]) -> bytes:
            file = tar.extractfile(blobs[described["digest"].replace("sha256:", "blobs/sha256/")])
            assert file is not None
            content = file.read()
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" == described["digest"]
            assert len(content) == described["size"]
            return content

        (listed,) = json.load(tar.extractfile("index.json"))["manifests"]  # type: ignore[arg-type]
        manifest = json.loads(blob(listed))
        config = json.loads(blob(manifest["config"]))
        sizes = [len(blob(one)) for one in manifest["layers"]]
    labels = config["config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == VERSION
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert listed["platform"]["architecture"] == config["architecture"]
    assert sum(sizes) <= MOST_BYTES[name][0]
    if name == "iowhy":
        assert config["config"]["User"].split(":")[0] not in ("0", "")
        assert config["config"]["Healthcheck"]["Test"] == ["CMD", "iowhy", "agent", "alive"]


def test_the_bill_names_every_package_of_debian_and_python() -> None:
    root = unpacked(own("iowhy"), ("usr/share/sbom", "var/lib/dpkg/status.d"))
    bill = json.loads(root["usr/share/sbom/iowhy.cdx.json"])
    found = {one["purl"].partition("@")[0] for one in bill["components"]}
    assert {"pkg:deb/debian/libc6", "pkg:pypi/duckdb", "pkg:cargo/parquet"} <= found
    packages = {path.rpartition("/")[2] for path in root if path.startswith("var/lib/dpkg")}
    assert packages == {one.removeprefix("pkg:deb/debian/") for one in found if "/debian/" in one}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_nothing_of_the_builders_folders_is_in_them(archive: Path) -> None:
    files = unpacked(archive, ("usr/local/lib",))
    notes = {one.rpartition("/")[2] for one in files if ".dist-info/" in one}
    assert not {"direct_url.json", "RECORD", "INSTALLER", "REQUESTED"} & notes


def unpacked(archive: Path, below: tuple[str, ...]) -> dict[str, bytes]:
    """Files of all layers."""
    files: dict[str, bytes] = {}
    with tarfile.open(archive) as tar:
        manifest = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
        for layer in manifest[0]["Layers"]:
            with tarfile.open(fileobj=tar.extractfile(layer)) as content:
                for one in content:
                    if one.isfile() and one.name.startswith(below):
                        files[one.name] = content.extractfile(one).read()  # type: ignore[union-attr]
    return files


class _Podman:
    def __init__(self) -> None:
        self.words = PODMAN

    def load(self, name: str) -> None:
        call(*self.words, "load", "-q", "-i", own(name))

    def run(self, name: str, options: list[str], *words: str) -> str:
        given = ["run", "--rm", "--read-only", "--network", "none", *options, reference(name)]
        return call(*self.words, *given, *words)


class _Docker(_Podman):
    def __init__(self, docker: Docker) -> None:
        self.words = docker.docker


class _Containerd(_Podman):
    def __init__(self, containerd: Containerd) -> None:
        self.words = containerd.ctr

    def load(self, name: str) -> None:
        call(*self.words, "images", "import", "--snapshotter", "native", own(name))

    def run(self, name: str, options: list[str], *words: str) -> str:
        program = "/usr/bin/iowhy" if name == "iowhy" else "/iowhy-record"
        given = [
            "run",
            "--rm",
            "--snapshotter",
            "native",
            "--read-only",
            *options,
            reference(name),
            "tried",
        ]
        return call(*self.words, *given, program, *words)


@contextmanager
def runtime(name: str, folder: Path) -> Iterator[_Podman]:
    """A runtime with both images; a daemon is the test's own."""
    (folder / "rootfs").mkdir(parents=True)
    if name == "podman":
        podman = _Podman()
        try:
            yield podman
        finally:
            for one in ("iowhy", "iowhy-record"):
                subprocess.run([*PODMAN, "image", "rm", "-f", reference(one)], check=False)
    elif name == "docker":
        docker = Docker(folder, folder / "rootfs")
        with docker.running():
            yield _Docker(docker)
    else:
        containerd = Containerd(folder, folder / "rootfs")
        with containerd.running():
            yield _Containerd(containerd)


@pytest.mark.parametrize("name", ["podman", "docker", "containerd"])
def test_a_runtime_loads_and_runs_them(name: str, tmp_path: Path) -> None:
    if shutil.which({"docker": "dockerd"}.get(name, name)) is None:
        pytest.skip(f"{name} is not here")
    with runtime(name, tmp_path) as there:
        for image in ("iowhy-record", "iowhy"):
            there.load(image)
            options = LIMITS[:4] if name == "podman" else []
            assert there.run(image, options, "--version") == f"{image} {VERSION}"


def test_in_podman_the_one_records_and_the_other_says_why(tmp_path: Path) -> None:
    """The machine, of which this test is; and as nobody's user, with nothing that can be written."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not here")
    data = tmp_path / "data"
    data.mkdir()
    with runtime("podman", tmp_path / "podman") as there:
        for image in ("iowhy-record", "iowhy"):
            there.load(image)
        rights = [
            word
            for one in ("SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH")
            for word in ("--cap-add", one)
        ]
        options = [*LIMITS[:4], "--pid", "host", *rights, "-v", f"{data}:/data"]
        there.run(
            "iowhy-record",
            options,
            "machine",
            "--mode",
            "bpf",
            "--duration",
            "1",
            "-o",
            "/data/r.iowhy",
        )
        recording = open_recording(data / "r.iowhy")
        assert recording.manifest.complete and recording.manifest.source == "live"
        for path in (data, *data.rglob("*")):
            os.chown(path, 65532, 65532)
        said = there.run("iowhy", [*LIMITS[:4], "-v", f"{data}:/data"], "why", "r.iowhy", "--json")
        assert json.loads(said)["version"]
