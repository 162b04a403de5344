"""Kernels of the distributions' suites: fetched as packages and taken apart, never installed."""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow

DEBIAN = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"
UBUNTU = "deb [signed-by={}] http://archive.ubuntu.com/ubuntu {} main\n"
#: Debian has the keys of Ubuntu's archive.
UBUNTU_KEYS = "ubuntu-keyring"


@dataclass(frozen=True)
class Suite:
    """A suite of Debian or Ubuntu, its name for people, and what the name of its kernel's package matches; the archives keep several builds."""

    title: str
    suite: str
    pattern: str
    is_of_ubuntu: bool = False
    has_types: bool = True
    #: The processor that is emulated; the oldest kernels hang on one of today.
    cpu: str = "max"


#: By the name that the command line takes. Debian's are images for virtual machines, which are small.
SUITES = {
    "bionic": Suite(
        "Ubuntu 18.04 (hardware enablement)",
        "bionic-updates",
        r"^linux-image-4\.18\.0-.*-generic$",
        True,
        has_types=False,
        cpu="Westmere",
    ),
    "bullseye": Suite("Debian 11", "bullseye", r"^linux-image-5\.10\..*-cloud-amd64-unsigned$"),
    "before": Suite(
        "Ubuntu 20.04 (hardware enablement before the last)",
        "focal-updates",
        r"^linux-image-5\.11\.0-.*-generic$",
        True,
        cpu="Westmere",
    ),
    "focal": Suite(
        "Ubuntu 20.04 (hardware enablement)",
        "focal-updates",
        r"^linux-image-5\.13\.0-.*-generic$",
        True,
        cpu="Westmere",
    ),
    # Built without types, all of them; it has the version of RHEL 9's, not its backports.
    "oem": Suite(
        "Ubuntu 20.04 (OEM)",
        "focal-updates",
        r"^linux-image-5\.14\.0-.*-oem$",
        True,
        has_types=False,
        cpu="Westmere",
    ),
    # The one that it came with: its verifier cuts less than those of later builds.
    "first": Suite(
        "Ubuntu 22.04 (first)", "jammy", r"^linux-image-5\.15\.0-.*-generic$", True, cpu="Westmere"
    ),
    "jammy": Suite("Ubuntu 22.04", "jammy-updates", r"^linux-image-5\.15\.0-.*-generic$", True),
    "edge": Suite(
        "Ubuntu 22.04 (hardware enablement)",
        "jammy-updates",
        r"^linux-image-5\.19\.0-.*-generic$",
        True,
    ),
    "bookworm": Suite("Debian 12", "bookworm", r"^linux-image-6\.1\..*-cloud-amd64$"),
    "noble": Suite("Ubuntu 24.04", "noble-updates", r"^linux-image-6\.8\.0-.*-generic$", True),
    "trixie": Suite("Debian 13", "trixie", r"^linux-image-6\.12\..*-cloud-amd64-unsigned$"),
    "backports": Suite(
        "Debian 13 (backports)", "trixie-backports", r"^linux-image-6\.18\..*-cloud-amd64$"
    ),
    "sid": Suite("Debian unstable", "sid", r"^linux-image-7\..*-cloud-amd64$"),
}
#: The other processor's, of bookworm.
AARCH64 = r"^linux-image-6\.1\..*-cloud-arm64$"
#: What the guest needs besides the kernel, modules that are built in are skipped.
MODULES = ("virtio_pci", "virtio_blk", "virtio_rng", "ext4", "overlay")
#: And for devices that lie on others.
MODULES_OF_STACKS = (
    *("dm_mod", "dm_crypt", "dm_delay", "dm_multipath", "dm_round_robin"),
    *("md_mod", "raid0", "raid1", "raid456"),
    *("ecb", "xts", "aesni_intel"),
)
#: And for a server of files, and its client.
MODULES_OF_NFS = ("nfsd", "nfsv4")
#: The same of SMB, and the ciphers and checksums that both ask for by name.
MODULES_OF_SMB = (
    *(
        "md5",
        "hmac",
        "cmac",
        "sha256_generic",
        "sha512_generic",
        "gcm",
        "ccm",
        "ctr",
        "des_generic",
    ),
    *("nls_utf8", "cifs", "ksmbd"),
)
#: Of filesystems, and the checksums that they ask for by name; of the host's folder.
MODULES_OF_FILESYSTEMS = (
    "crc32c_generic",
    "xxhash_generic",
    "blake2b_generic",
    "xfs",
    "btrfs",
    "9pnet_virtio",
    "9p",
    "virtiofs",
)


@dataclass(frozen=True)
class Kernel:
    """One kernel of a suite, unpacked: its image, and the modules to load in this order."""

    suite: str
    release: str
    image: Path
    modules: tuple[Path, ...]
    machine: str = "x86_64"
    cpu: str = "max"
    #: A static one for that processor.
    busybox: Path = Path("/bin/busybox")


class Apt:
    """apt with sources and lists of its own below `folder`, so that the machine's stay as they are."""

    def __init__(self, folder: Path, source: str, architecture: str = "amd64") -> None:
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        sources = folder / "sources.list"
        sources.write_text(source)
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

    def _update(self) -> None:
        if not any((self.folder / "lists").glob("*Packages*")):
            self.run("apt-get", "-qq", "update")

    def newest(self, pattern: str) -> str:
        """The name of the newest package whose name matches; the archive keeps several builds."""
        self._update()
        found = self.run("apt-cache", "search", "--names-only", pattern).splitlines()
        names = [line.split()[0] for line in found]
        if not names:
            raise LookupError(f"no package matches {pattern}")
        return max(names, key=_numbers)

    def has(self, name: str) -> bool:
        """There is a package of this name."""
        return bool(self.run("apt-cache", "search", "--names-only", f"^{re.escape(name)}$"))

    def unpacked(self, name: str, folder: Path) -> Path:
        """The folder that a package is unpacked in."""
        tree = folder / name
        if not tree.is_dir():
            self._update()
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


def fetch(folder: Path, name: str) -> Kernel:
    """Unpack the newest kernel of a suite below `folder`; what is there already is not fetched again."""
    suite = SUITES[name]
    source = DEBIAN.format(suite.suite)
    if suite.is_of_ubuntu:
        keys = Apt(folder / "apt-keys", DEBIAN.format("trixie")).unpacked(UBUNTU_KEYS, folder)
        source = UBUNTU.format(next(keys.rglob("ubuntu-archive-keyring.gpg")), suite.suite)
    apt = Apt(folder / f"apt-{name}", source)
    image = apt.newest(suite.pattern)
    trees = [apt.unpacked(image, folder)]
    # Packages of images hold the modules as well, or other packages do.
    trees += [
        apt.unpacked(part, folder)
        for kind in ("linux-binary-", "linux-modules-", "linux-modules-extra-")
        if apt.has(part := image.replace("linux-image-", kind))
    ]
    return replace(_kernel(name, trees), cpu=suite.cpu)


def fetch_aarch64(folder: Path) -> Kernel:
    """The same of one kernel for the other processor, and its busybox."""
    apt = Apt(folder / "apt-arm64", DEBIAN.format("bookworm"), "arm64")
    kernel = _kernel("bookworm", [apt.unpacked(apt.newest(AARCH64), folder)])
    busybox = next(apt.unpacked("busybox-static", folder).rglob("bin/busybox"))
    return replace(kernel, machine="aarch64", busybox=busybox)


def _kernel(suite: str, trees: list[Path]) -> Kernel:
    # Debian's from 7.2 on lie with their modules.
    places = ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz")
    image = next(image for tree in trees for place in places for image in tree.glob(place))
    release = image.name.removeprefix("vmlinuz-")
    if release == "vmlinuz":
        release = image.parent.name
    files = {
        file.name.split(".")[0].replace("-", "_"): file
        for tree in trees
        for root in (tree / "usr/lib", tree / "lib")
        for file in (root / "modules" / release / "kernel").rglob("*.ko*")
    }
    ordered: list[Path] = []
    for name in (
        *MODULES,
        *MODULES_OF_STACKS,
        *MODULES_OF_NFS,
        *MODULES_OF_SMB,
        *MODULES_OF_FILESYSTEMS,
    ):
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
    if module.suffix == ".ko":
        return module
    plain = module.with_suffix("")
    if module.suffix == ".zst":
        with pyarrow.input_stream(module) as compressed:  # known by its suffix
            plain.write_bytes(compressed.read())
    else:
        plain.write_bytes(lzma.decompress(module.read_bytes()))
    return plain
