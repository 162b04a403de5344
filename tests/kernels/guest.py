"""A guest: an emulated machine that boots a kernel into a script and hands back what that wrote."""

import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from .packages import Kernel

BUSYBOX = Path("/bin/busybox")
MEMORY_MIB = 1024
#: Two processors and a GiB; and random numbers, for which before 5.6 who asks waits until there are some.
HARDWARE = ("-smp", "2", "-m", str(MEMORY_MIB), "-device", "virtio-rng-pci")
#: In one thread for both processors: of two, one runs what the other has just patched out of the kernel's code (as
#: tracepoints are let go), which is a trap to the kernel, and panics.
EMULATED = ("-accel", "tcg,thread=single")
#: By processor: the emulator, its kind of machine and the name of its console.
MACHINES = {
    "x86_64": ("qemu-system-x86_64", "q35", "ttyS0"),
    "aarch64": ("qemu-system-aarch64", "virt", "ttyAMA0"),
}
MEBIBYTE = 2**20
#: What runs as the guest's first process; `@` stands for the commands of the test.
INIT = """#!/bin/sh
export PATH=/bin
mkdir -p /proc /sys /dev /tmp /out /mnt
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs out /out
mount -t tracefs trace /sys/kernel/tracing
mount -t debugfs debug /sys/kernel/debug
for module in $(cat /modules/order); do insmod /modules/$module; done
mount -t ext4 -o noatime /dev/vda /mnt
@
umount /mnt
cd /out && tar -cf /dev/vdb .
sync
poweroff -f
"""


def libraries(program: Path) -> list[Path]:
    """The shared libraries that a program is loaded with, and the loader; none of a static one, for which ldd fails."""
    done = subprocess.run(["ldd", program], check=False, capture_output=True, text=True)
    return [Path(path) for path in re.findall(r"(/\S+) \(", done.stdout)]


def _image(kernel: Kernel, programs: Sequence[Path], script: str, folder: Path) -> Path:
    """The guest's root as an archive that the kernel unpacks into memory."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "modules"):
        (root / name).mkdir(parents=True)
    shutil.copy(kernel.busybox, root / "bin/busybox")
    names = subprocess.run([BUSYBOX, "--list"], check=True, stdout=subprocess.PIPE, text=True)
    for name in names.stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    for program in programs:
        shutil.copy(program, root / "bin" / program.name)
        for library in libraries(program):
            place = root / library.relative_to("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    for module in kernel.modules:
        shutil.copy(module, root / "modules")
    (root / "modules/order").write_text(" ".join(m.name for m in kernel.modules))
    init = root / "init"
    init.write_text(INIT.replace("@", script))
    init.chmod(0o755)
    archive = folder / "initramfs"
    listing = subprocess.run(["find", "."], cwd=root, check=True, stdout=subprocess.PIPE)
    with archive.open("wb") as out:
        subprocess.run(
            [BUSYBOX, "cpio", "-o", "-H", "newc"],
            cwd=root,
            input=listing.stdout,
            stdout=out,
            check=True,
            stderr=subprocess.DEVNULL,
        )
    return archive


def _disk(path: Path, mebibytes: int) -> Path:
    with path.open("wb") as file:
        file.truncate(mebibytes * MEBIBYTE)
    return path


def _scratch(folder: Path) -> Path:
    """A disk with ext4, for /mnt."""
    scratch = _disk(folder / "scratch.img", 256)
    lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", lazy, scratch], check=True)
    return scratch


def _drives(images: Sequence[Path]) -> list[str]:
    """The words that give the machine its disks."""
    # As devices of their own: those that `more` adds come behind them.
    return [
        word
        for number, image in enumerate(images)
        for word in (
            *("-drive", f"if=none,id=disk{number},file={image},format=raw,cache=unsafe"),
            *("-device", f"virtio-blk-pci,drive=disk{number}"),
        )
    ]


def _shared(folder: Path | None) -> list[str]:
    if folder is None:
        return []
    return ["-virtfs", f"local,path={folder},mount_tag=host,security_model=none,readonly=on"]


def run(
    kernel: Kernel,
    programs: Sequence[Path],
    script: str,
    folder: Path,
    disks: Sequence[int] = (),
    share: Path | None = None,
    more: Sequence[str] = (),
    seconds: int = 1800,
) -> Path:
    """Boot the kernel, run the script in it, and give the folder of what it left in /out.

    `disks`: sizes in MiB of empty ones, vdc and on. `share`: a folder of this machine, which is mounted there as 9p `host`.
    `more`: words of the emulator. The machine is emulated, so that it needs no rights and no hardware;
    the console is in `console.txt`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    initramfs = _image(kernel, programs, script, folder)
    scratch = _scratch(folder)
    answer = _disk(folder / "answer.img", 64)
    empty = [_disk(folder / f"disk-{i}.img", size) for i, size in enumerate(disks)]
    attached = [*_drives([scratch, answer, *empty]), *_shared(share), *more]
    emulator, machine, terminal = MACHINES[kernel.machine]
    with (folder / "console.txt").open("wb") as console:
        subprocess.run(
            [
                emulator,
                "-machine",
                machine,
                *EMULATED,
                "-cpu",
                kernel.cpu,
                *HARDWARE,
                "-nographic",
                "-no-reboot",
                "-nodefaults",
                "-serial",
                "stdio",
                "-kernel",
                kernel.image,
                "-initrd",
                initramfs,
                "-append",
                # On a busy machine the emulated timer is late, and the kernel's test of it at boot fails.
                f"console={terminal} panic=-1 quiet no_timer_check",
                *attached,
            ],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=True,
        )
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    with tarfile.open(answer) as tar:
        tar.extractall(out, filter="data")
    if not any(out.glob("*")):
        raise LookupError(f"the guest ended before it handed back anything: {folder}/console.txt")
    return out
