"""What `make release` has made does what it is for; it runs these itself, with $DIST naming its folder."""

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
from importlib.resources import files
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording

DIST = Path(os.environ.get("DIST", "dist"))
WHEELS = sorted(DIST.glob("*.whl"))
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
MOST_BYTES = 9_000_000
#: Of all that `pip install` brings, and of pip itself.
MOST_INSTALLED_BYTES = 250_000_000
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
    # Neither the builder's folders nor its users are in it: elsewhere the same file comes out.
    for folder in (Path.home() / ".cargo", Path(__file__).parents[2]):
        assert f"{folder}/".encode() not in program.read_bytes()


def test_the_wheels_bill_names_no_folder_of_the_builder(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if "/sboms/" in one]
        bill = archive.read(name)
    assert "pkg:cargo/parquet" in {
        one["purl"].partition("@")[0] for one in json.loads(bill)["components"]
    }
    assert b"file://" not in bill


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


def kernel_programs(program: bytes) -> list[bytes]:
    """The eBPF objects in a program, which are 64-bit ELF files whose table of sections comes last (elf(5))."""
    found = []
    for match in re.finditer(rb"\x7fELF\x02\x01\x01", program):
        head = program[match.start() : match.start() + 64]
        machine = int.from_bytes(head[18:20], "little")
        if machine == 247:  # EM_BPF
            sections = int.from_bytes(head[40:48], "little")
            size, count = (int.from_bytes(head[at : at + 2], "little") for at in (58, 60))
            found.append(program[match.start() : match.start() + sections + size * count])
    return found


#: Members of struct pt_regs that only this processor's kernel has, and are what a call is told by.
REGISTERS = {"x86_64": (b"orig_ax", b"orig_x0"), "aarch64": (b"orig_x0", b"orig_ax")}


def test_the_kernels_programs_are_for_the_processor(wheel: Path, tmp_path: Path) -> None:
    """The recorder's and the agent's: they disassemble, as for others, and ask for the registers of that processor."""
    objects = kernel_programs(of(wheel, "iowhy-record"))
    assert len(objects) == 2
    own, others = REGISTERS[architecture(wheel)]
    for number, content in enumerate(objects):
        assert own in content and others not in content
        file = tmp_path / f"{number}.bpf.o"
        file.write_bytes(content)
        shown = subprocess.run(
            ["llvm-objdump", "--mattr=+alu32", "--disassemble", "--no-show-raw-insn", file],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "file format elf64-bpf" in shown and "<unknown>" not in shown
        sections = set(re.findall(r"^Disassembly of section (\S+):", shown, re.M))
        assert {"tp_btf/sched_switch", "tp_btf/block_rq_complete", "tp_btf/sys_exit"} <= sections


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_of_calls_are_those_of_its_kernels_header(machine: str) -> None:
    """Of a newer kernel the table has calls that the compiler's header lacks; none is another's."""
    compiler = shutil.which(f"{machine}-linux-gnu-gcc")
    if compiler is None:
        pytest.skip(f"no {machine}-linux-gnu-gcc here")
    defined = subprocess.run(
        [compiler, "-dM", "-E", "-include", "asm/unistd.h", "-x", "c", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    header = {
        int(number): name
        for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", defined, re.M)
    }
    table = dict(
        line.split()
        for line in files("iowhy.tables")
        .joinpath(f"numbers/{machine}.txt")
        .read_text()
        .splitlines()
        if line
    )
    told = {int(number): name for number, name in table.items()}
    # Where the numbers of calls end, and where those of one processor begin.
    calls = {
        n: name for n, name in header.items() if name not in ("syscalls", "arch_specific_syscall")
    }
    assert len(calls) > 250
    assert {n: (name, told.get(n)) for n, name in calls.items() if told.get(n) != name} == {}


def test_packages_hold_the_same_recorder(wheel: Path, tmp_path: Path) -> None:
    program, arch = of(wheel, "iowhy-record"), architecture(wheel)
    with tarfile.open(next(DIST.glob(f"iowhy-record-*-linux-{arch}.tar.*"))) as archive:
        member = next(one for one in archive.getmembers() if one.name.endswith("/iowhy-record"))
        file = archive.extractfile(member)
        assert file is not None and file.read() == program and member.mode == 0o755
    deb = next(DIST.glob(f"apt/iowhy-record_*_{DEBIAN[arch]}.deb"))
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(data.stdout)) as archive:
        file = archive.extractfile("./usr/bin/iowhy-record")
        assert file is not None and file.read() == program
    rpm = next(DIST.glob(f"rpm/iowhy-record-*.{arch}.rpm")).absolute()
    unpack = f"rpm2cpio {rpm} | cpio -i --quiet --make-directories"
    subprocess.run(["sh", "-c", unpack], cwd=tmp_path, check=True)
    assert (tmp_path / "usr/bin/iowhy-record").read_bytes() == program


def recorded(root: Path, program: str) -> Recording:
    """By a program in a folder that is the root of all for it, with nothing but itself and busybox there."""
    shutil.copy("/bin/busybox", root / "busybox")
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir(exist_ok=True)
    mounts = f"mount -t proc proc {root}/proc; mount --rbind /sys {root}/sys; mount --rbind /dev {root}/dev"
    enter = ["unshare", "-m", "sh", "-ec", f'{mounts}; exec chroot {root} "$@"', "sh"]
    script = "dd if=/dev/zero of=/z bs=64k count=100 conv=fsync"
    done = subprocess.run(
        [*enter, program, "run", "-o", "/r.iowhy", "--", "/busybox", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return open_recording(root / "r.iowhy")


def works_installed(root: Path, wheel: Path) -> None:
    """What a package has put there is the wheel's program, and records; that of another processor says what it is."""
    program = root / "usr/bin/iowhy-record"
    assert program.read_bytes() == of(wheel, "iowhy-record")
    assert program.stat().st_mode & 0o777 == 0o755
    if architecture(wheel) == os.uname().machine:
        recording = recorded(root, "/usr/bin/iowhy-record")
        assert recording.manifest.complete and recording.manifest.source == "live"
        return
    emulator = shutil.which(f"qemu-{architecture(wheel)}-static")
    if emulator is not None:
        said = subprocess.run([emulator, program, "--version"], capture_output=True, check=True)
        assert said.stdout.startswith(b"iowhy-record ")


DOCUMENTS = {
    "usr/share/man/man1/iowhy-record.1.gz",
    "usr/share/bash-completion/completions/iowhy-record",
    "usr/share/fish/vendor_completions.d/iowhy-record.fish",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_dpkg_installs_and_removes_it(wheel: Path, tmp_path: Path) -> None:
    state = tmp_path / "var/lib/dpkg"
    for name in ("info", "updates", "triggers"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    deb = next(DIST.glob(f"apt/iowhy-record_*_{DEBIAN[architecture(wheel)]}.deb"))
    dpkg = ["dpkg", f"--root={tmp_path}", "--log=/dev/null", "--force-architecture"]
    subprocess.run([*dpkg, "-i", deb], check=True, stdout=subprocess.DEVNULL)
    files = {str(one.relative_to(tmp_path)) for one in (tmp_path / "usr").rglob("*")}
    assert files >= DOCUMENTS | {"usr/share/zsh/vendor-completions/_iowhy-record"}
    works_installed(tmp_path, wheel)
    shown = subprocess.run(
        [*dpkg, "-s", "iowhy-record"], capture_output=True, text=True, check=True
    )
    assert "Status: install ok installed" in shown.stdout and "Depends:" not in shown.stdout
    subprocess.run([*dpkg, "-r", "iowhy-record"], check=True, stdout=subprocess.DEVNULL)
    assert not (tmp_path / "usr/bin/iowhy-record").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_rpm_installs_and_removes_it(wheel: Path, tmp_path: Path) -> None:
    package = next(DIST.glob(f"rpm/iowhy-record-*.{architecture(wheel)}.rpm")).absolute()
    rpm = ["rpm", "--root", tmp_path, "--dbpath", "/var/lib/rpm"]
    subprocess.run([*rpm, "--initdb"], check=True)
    # Without --nodeps: it asks for nothing.
    subprocess.run([*rpm, "-i", "--ignorearch", package], check=True)
    files = {str(one.relative_to(tmp_path)) for one in (tmp_path / "usr").rglob("*")}
    assert files >= DOCUMENTS | {"usr/share/zsh/site-functions/_iowhy-record"}
    works_installed(tmp_path, wheel)
    subprocess.run([*rpm, "-V", "iowhy-record"], check=True)
    subprocess.run([*rpm, "-e", "iowhy-record"], check=True)
    assert not (tmp_path / "usr/bin/iowhy-record").exists()


def test_rpm_knows_what_is_in_it(wheel: Path) -> None:
    rpm = next(DIST.glob(f"rpm/iowhy-record-*.{architecture(wheel)}.rpm"))
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
    with tarfile.open(
        next(DIST.glob(f"iowhy-record-*-linux-{architecture(own)}.tar.*"))
    ) as archive:
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


def test_the_bill_names_what_is_linked() -> None:
    bill = json.loads(next(DIST.glob("*.cdx.json")).read_text())
    names = {one["name"] for one in bill["components"]}
    assert {"libbpf-sys", "parquet", "libelf", "duckdb", "libpython3.11-minimal"} <= names
    assert not {"proptest", "windows-sys", "iowhy-store"} & names


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_on_a_machine_with_nothing_it_records_all_and_is_read_here(
    own: Path, tmp_path: Path
) -> None:
    place(of(own, "iowhy-record"), tmp_path)
    recording = recorded(tmp_path, "/iowhy-record")
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
    assert done.returncode == 0, done.stderr
    assert open_recording(tmp_path / "sleep.iowhy").manifest.complete
    files = (one for one in programs.parent.rglob("*") if one.is_file() and not one.is_symlink())
    assert sum(one.stat().st_blocks * 512 for one in files) <= MOST_INSTALLED_BYTES
