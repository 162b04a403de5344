"""What `make release` has made does what it is for; it runs these itself, with $DIST naming its folder."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from iowhy.recording import Recording, open_recording

DIST = Path(os.environ.get("DIST", "dist"))
WHEELS = sorted(DIST.glob("*.whl"))
MOST_BYTES = 8 << 20
#: tools/release puts it into an environment of its own.
AUDIT = Path(__file__).parents[2] / "target/release-venv/bin/auditwheel"

pytestmark = pytest.mark.skipif(not WHEELS, reason="make release has not run")


def of(wheel: Path, name: str) -> bytes:
    """One of the programs in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        found = [one for one in archive.namelist() if one.endswith(f".data/scripts/{name}")]
        return archive.read(found[0])


def architecture(wheel: Path) -> str:
    return "aarch64" if "aarch64" in wheel.name else "x86_64"


@pytest.fixture(params=WHEELS, ids=architecture)
def wheel(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def own() -> Path:
    """The wheel for this machine."""
    return next(one for one in WHEELS if architecture(one) == os.uname().machine)


def place(content: bytes, folder: Path) -> Path:
    program = folder / "iowhy-record"
    program.write_bytes(content)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("name", ["iowhy-record", "iowhy-logs", "iowhy-disk", "iowhy-work"])
def test_programs_need_no_library(wheel: Path, name: str, tmp_path: Path) -> None:
    program = place(of(wheel, name), tmp_path)
    shown = subprocess.run(
        ["readelf", "-ld", program], capture_output=True, text=True, check=True
    ).stdout
    # Of aarch64 they are not position-independent, and have no dynamic section at all.
    assert "INTERP" not in shown and "NEEDED" not in shown and "LOAD" in shown
    assert program.stat().st_size <= MOST_BYTES
    # Neither the builder's folders nor its users are in it.
    assert str(Path.home() / ".cargo").encode() not in program.read_bytes()


def test_the_tag_promises_no_more_than_is_true(wheel: Path) -> None:
    done = subprocess.run(
        [AUDIT, "show", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join((done.stdout + done.stderr).split())
    # Static programs ask for no version of any symbol, so that the oldest tag would hold as well.
    assert 'is consistent with the following platform tag: "manylinux' in said, said
    assert "references external" not in said.replace("references no external", ""), said


def test_the_other_processors_recorder_runs_emulated(wheel: Path, tmp_path: Path) -> None:
    emulator = shutil.which(f"qemu-{architecture(wheel)}-static")
    if emulator is None:
        pytest.skip(f"no qemu-{architecture(wheel)}-static here")
    program = place(of(wheel, "iowhy-record"), tmp_path)
    version = subprocess.run(
        [emulator, program, "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("iowhy-record ")
    probed = subprocess.run(
        [emulator, program, "probe"], capture_output=True, text=True, check=True, timeout=120
    )
    assert {"syscalls", "waits"} <= {one["name"] for one in json.loads(probed.stdout)["sensors"]}


def test_packages_hold_the_same_recorder(wheel: Path, tmp_path: Path) -> None:
    program, arch = of(wheel, "iowhy-record"), architecture(wheel)
    with tarfile.open(next(DIST.glob(f"*-linux-{arch}.tar.gz"))) as archive:
        member = next(one for one in archive.getmembers() if one.name.endswith("/iowhy-record"))
        file = archive.extractfile(member)
        assert file is not None and file.read() == program and member.mode == 0o755
    deb = next(DIST.glob(f"*_{'amd64' if arch == 'x86_64' else 'arm64'}.deb"))
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(data.stdout)) as archive:
        file = archive.extractfile("./usr/bin/iowhy-record")
        assert file is not None and file.read() == program
    rpm = next(DIST.glob(f"*.{arch}.rpm")).absolute()
    unpack = f"rpm2cpio {rpm} | cpio -i --quiet --make-directories"
    subprocess.run(["sh", "-c", unpack], cwd=tmp_path, check=True)
    assert (tmp_path / "usr/bin/iowhy-record").read_bytes() == program


DOCUMENTS = {
    "usr/share/man/man1/iowhy-record.1.gz",
    "usr/share/bash-completion/completions/iowhy-record",
    "usr/share/fish/vendor_completions.d/iowhy-record.fish",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_dpkg_installs_and_removes_it(own: Path, tmp_path: Path) -> None:
    state = tmp_path / "var/lib/dpkg"
    for name in ("info", "updates", "triggers"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    deb = next(DIST.glob("*_amd64.deb" if architecture(own) == "x86_64" else "*_arm64.deb"))
    dpkg = ["dpkg", f"--root={tmp_path}", "--log=/dev/null"]
    subprocess.run([*dpkg, "-i", deb], check=True, stdout=subprocess.DEVNULL)
    files = {str(one.relative_to(tmp_path)) for one in (tmp_path / "usr").rglob("*")}
    assert files >= DOCUMENTS | {"usr/share/zsh/vendor-completions/_iowhy-record"}
    program = tmp_path / "usr/bin/iowhy-record"
    assert (
        program.read_bytes() == of(own, "iowhy-record") and program.stat().st_mode & 0o777 == 0o755
    )
    shown = subprocess.run(
        [*dpkg, "-s", "iowhy-record"], capture_output=True, text=True, check=True
    )
    assert "Status: install ok installed" in shown.stdout and "Depends:" not in shown.stdout
    subprocess.run([*dpkg, "-r", "iowhy-record"], check=True, stdout=subprocess.DEVNULL)
    assert not program.exists()


def test_rpm_knows_what_is_in_it(wheel: Path) -> None:
    rpm = next(DIST.glob(f"*.{architecture(wheel)}.rpm"))
    question = "[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME}\n]"
    asked = subprocess.run(
        ["rpm", "-qp", "--qf", question, rpm], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in asked.stdout.splitlines()]
    assert ["/usr/bin/iowhy-record", "-rwxr-xr-x", "root"] in rows
    assert {user for _, _, user in rows} == {"root"}
    assert {name.lstrip("/") for name, _, _ in rows} >= DOCUMENTS | {
        "usr/share/zsh/site-functions/_iowhy-record"
    }
    needs = subprocess.run(["rpm", "-qpR", rpm], capture_output=True, text=True, check=True)
    assert all(line.startswith("rpmlib(") for line in needs.stdout.splitlines()), needs.stdout


def test_each_option_of_the_recorder_is_in_its_manual(own: Path, tmp_path: Path) -> None:
    program = place(of(own, "iowhy-record"), tmp_path)
    with tarfile.open(next(DIST.glob(f"*-linux-{architecture(own)}.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (share,) = tmp_path.glob("iowhy-record-*/share")
    manual = (share / "man/man1/iowhy-record.1").read_text()
    completion = (share / "bash-completion/completions/iowhy-record").read_text()
    for command in ("run", "attach", "group", "machine", "probe"):
        shown = subprocess.run(
            [program, command, "--help"], capture_output=True, text=True, check=True
        )
        found = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", shown.stdout, re.M))
        assert found, command
        for flag in found:
            assert flag.replace("-", "\\-") in manual and flag in completion, flag


def test_checksums_are_of_all_files() -> None:
    lines = [line.split() for line in (DIST / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in lines} == {
        path.name for path in DIST.iterdir() if path.name != "SHA256SUMS"
    }
    for said, name in lines:
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == said


def test_the_bill_names_what_is_linked() -> None:
    bill = json.loads(next(DIST.glob("*.cdx.json")).read_text())
    names = {one["name"] for one in bill["components"]}
    assert {"libbpf-sys", "parquet", "libelf", "duckdb"} <= names
    assert not {"proptest", "windows-sys", "iowhy-store"} & names


def recorded(folder: Path, *before: str) -> Recording:
    """In a folder with nothing but the recorder and busybox, which is all that there is for it."""
    script = "dd if=/dev/zero of=/z bs=64k count=100 conv=fsync"
    done = subprocess.run(
        [*before, "/iowhy-record", "run", "-o", "/r.iowhy", "--", "/busybox", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return open_recording(folder / "r.iowhy")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_on_a_machine_with_nothing_it_records_all_and_is_read_here(
    own: Path, tmp_path: Path
) -> None:
    place(of(own, "iowhy-record"), tmp_path)
    shutil.copy("/bin/busybox", tmp_path / "busybox")
    for name in ("proc", "sys", "dev"):
        (tmp_path / name).mkdir()
    mounts = "mount -t proc proc {0}/proc; mount --rbind /sys {0}/sys; mount --rbind /dev {0}/dev"
    enter = ["unshare", "-m", "sh", "-ec", f'{mounts.format(tmp_path)}; exec chroot {tmp_path} "$@"', "sh"]  # fmt: skip
    recording = recorded(tmp_path, *enter)
    assert recording.manifest.complete and recording.manifest.source == "live"
    asked = subprocess.run(
        [sys.executable, "-m", "iowhy", "sql", tmp_path / "r.iowhy",
         "SELECT count(*) AS n, sum(ret) AS bytes FROM syscalls s JOIN files f USING (dev, ino) WHERE name = 'write' AND path LIKE '%/z'",
         "--format", "json"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert json.loads(asked.stdout)["rows"] == [{"n": 100, "bytes": 100 * 65536}]
    done = subprocess.run(
        [sys.executable, "-m", "iowhy", "why", tmp_path / "r.iowhy"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_wheel_alone_is_a_whole_iowhy(own: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv/bin"
    install = [programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, own], check=True)
    run = [programs / "iowhy", "run", "--mode", "proc", "--", "sleep", "0.3"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "kept in sleep.iowhy" in done.stderr, done.stderr
