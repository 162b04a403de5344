"""Kernels of the distributions' suites: fetched as packages and taken apart, never installed."""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"
#: Suite, and what the name of its kernel's package matches: images for virtual machines, which are small.
SUITES = {
    "bullseye": r"^linux-image-5\.10\..*-cloud-amd64-unsigned$",
    "bookworm": r"^linux-image-6\.1\..*-cloud-amd64$",
    "trixie": r"^linux-image-6\.12\..*-cloud-amd64-unsigned$",
}
#: The other processor's, of bookworm.
AARCH64 = r"^linux-image-6\.1\..*-cloud-arm64$"
#: What the guest needs besides the kernel, modules that are built in are skipped.
MODULES = ("virtio_pci", "virtio_blk", "ext4", "overlay")
#: And for devices that lie on others.
MODULES_OF_STACKS = (
    *("dm_mod", "dm_crypt", "dm_delay", "dm_multipath", "dm_round_robin"),
    *("md_mod", "raid0", "raid1", "raid456"),
    *("ecb", "xts", "aesni_intel"),
)
#: And for a server of files, and its client.
MODULES_OF_NFS = ("nfsd", "nfsv4")


@dataclass(frozen=True)
class Kernel:
    """One kernel of a suite, unpacked: its image, and the modules to load in this order."""

    suite: str
    release: str
    image: Path
    modules: tuple[Path, ...]
    machine: str = "x86_64"
    #: A static one for that processor.
    busybox: Path = Path("/bin/busybox")


class Apt:
    """apt with sources and lists of its own below `folder`, so that the machine's stay as they are."""

    def __init__(self, folder: Path, architecture: str = "amd64") -> None:
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        sources = folder / "sources.list"
        sources.write_text("".join(SOURCE.format(suite) for suite in SUITES))
        self.options = [
            f"-oAPT::Architecture={architecture}",
            f"-oAPT::Architectures={architecture}",
            f"-oDir::Etc::sourcelist={sources}",
            "-oDir::Etc::sourceparts=/dev/null",
            f"-oDir::State={folder / 'state'}",
            f"-oDir::State::lists={folder / 'lists'}",
            f"-oDir::Cache={folder / 'cache'}",
            f"-oDir::State::status={folder / 'status'}",
            "-oAPT::Sandbox::User=root",
            "-oAcquire::Languages=none",
            "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        ]

    def run(self, *words: str, cwd: Path | None = None) -> str:
        command = [words[0], *self.options, *words[1:]]
        return subprocess.run(
            command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def newest(self, pattern: str) -> str:
        """The name of the newest package whose name matches; the archive keeps several builds."""
        if not any((self.folder / "lists").glob("*Packages*")):
            self.run("apt-get", "-qq", "update")
        found = self.run("apt-cache", "search", "--names-only", pattern).splitlines()
        names = [line.split()[0] for line in found]
        if not names:
            raise LookupError(f"no package matches {pattern}")
        return max(names, key=_numbers)

    def unpacked(self, name: str, folder: Path) -> Path:
        """The folder that a package is unpacked in."""
        tree = folder / name
        if not tree.is_dir():
            self.run("apt-get", "-qq", "download", name, cwd=folder)
            package = next(folder.glob(f"{name}_*.deb"))
            unpacked = tree.with_suffix(".part")
            shutil.rmtree(unpacked, ignore_errors=True)
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
            unpacked.rename(tree)
            package.unlink()
        return tree


def _numbers(name: str) -> list[int]:
    return [
        int(part) for part in name.replace("-", ".").replace("+", ".").split(".") if part.isdigit()
    ]


def fetch(folder: Path) -> list[Kernel]:
    """Unpack the newest kernel of every suite below `folder`; what is there already is not fetched again."""
    apt = Apt(folder / "apt")
    return [
        _kernel(suite, apt.unpacked(apt.newest(pattern), folder))
        for suite, pattern in SUITES.items()
    ]


def fetch_aarch64(folder: Path) -> Kernel:
    """The same of one kernel for the other processor, and its busybox."""
    apt = Apt(folder / "apt-arm64", "arm64")
    kernel = _kernel("bookworm", apt.unpacked(apt.newest(AARCH64), folder))
    busybox = next(apt.unpacked("busybox-static", folder).rglob("bin/busybox"))
    return replace(kernel, machine="aarch64", busybox=busybox)


def _kernel(suite: str, tree: Path) -> Kernel:
    image = next(tree.glob("boot/vmlinuz-*"))
    release = image.name.removeprefix("vmlinuz-")
    root = tree / "usr/lib" if (tree / "usr/lib/modules").is_dir() else tree / "lib"
    files = {
        file.name.split(".")[0].replace("-", "_"): file
        for file in (root / "modules" / release / "kernel").rglob("*.ko*")
    }
    ordered: list[Path] = []
    for name in (*MODULES, *MODULES_OF_STACKS, *MODULES_OF_NFS):
        _load(name, files, ordered)
    return Kernel(suite, release, image, tuple(ordered))


def _load(name: str, files: dict[str, Path], ordered: list[Path]) -> None:
    """Append a module's file behind those of the modules that it needs; none if it is built in."""
    if name not in files:
        return
    module = _plain(files[name])
    needs = re.search(rb"\0depends=([\w,-]*)\0", module.read_bytes())
    for needed in needs[1].decode().split(",") if needs and needs[1] else ():
        _load(needed.replace("-", "_"), files, ordered)
    if module not in ordered:
        ordered.append(module)


def _plain(module: Path) -> Path:
    """The module as insmod takes it."""
    if module.suffix != ".xz":
        return module
    plain = module.with_suffix("")
    plain.write_bytes(lzma.decompress(module.read_bytes()))
    return plain
