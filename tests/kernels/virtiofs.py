"""A folder of the host by virtiofs: who reads there waits for the host, and for no disk of the guest."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, of_relations, one
from .guest import MEMORY_MIB
from .host import share

READS, BLOCK = 97, 8192
#: Pages of the mapped file that are asked for one by one (tests/live/mapped.c).
PAGES = 50
#: What serves the folder to the emulator: that of older qemu's own package, and the one that took its place.
DAEMONS = (Path("/usr/lib/qemu/virtiofsd"), Path("/usr/libexec/virtiofsd"))


@contextmanager
def served(place: Path) -> Iterator[list[str]]:
    """The words that give the machine the folder, while it is served; none where nothing here serves it, which is root's to do."""
    daemon = next((one for one in DAEMONS if one.exists()), None)
    if daemon is None or os.geteuid() != 0:
        yield []
        return
    socket = place / "virtiofs.socket"
    socket.unlink(missing_ok=True)
    folder = share(place)
    words = [f"--socket-path={socket}", "-o", f"source={folder}", "-o", "sandbox=chroot"]
    with (place / "virtiofs.log").open("wb") as log:
        serving = subprocess.Popen([daemon, *words], stdout=log, stderr=log)
    try:
        for _ in range(200):
            if socket.exists() or serving.poll() is not None:
                break
            time.sleep(0.05)
        assert socket.exists(), (place / "virtiofs.log").read_text()
        yield [
            *("-object", f"memory-backend-memfd,id=shared,size={MEMORY_MIB}M,share=on"),
            *("-machine", "memory-backend=shared"),
            *("-chardev", f"socket,id=served,path={socket}"),
            *("-device", "vhost-user-fs-pci,chardev=served,tag=served"),
        ]
    finally:
        serving.terminate()
        serving.wait()


def script() -> str:
    """Kernels that have no virtiofs, and machines that serve none, leave nothing of it."""
    return f"""
mkdir -p /served
if mount -t virtiofs served /served > /out/virtiofs.txt 2>&1; then
  record mapped mapped /served/file {PAGES}
  record virtiofs iowhy-work randread --file /served/file --buffered --reads {READS} --block {BLOCK}
  umount /served
fi
"""


def checks(out: Path) -> Iterator[Check]:
    """Calls and bytes are those of the program; the waits are the server's, which is the host."""
    place = out / "virtiofs.iowhy"
    if not place.exists():
        return
    recording = open_recording(place)
    read = (
        "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64'"
        " AND dev = (SELECT dev FROM filesystems WHERE kind = 'virtiofs' AND mount = '/served')"
    )
    yield Check(
        "calls and bytes of reads of virtiofs", one(recording, read), (READS, READS * BLOCK)
    )
    served_by = (
        "SELECT count(*) > 0 AND bool_and(w.served_by = 'server') FROM served_waits w"
        " JOIN served_filesystems f USING (dev) WHERE syscall = 'pread64' AND mount = '/served'"
    )
    yield Check("reads wait for virtiofs's host", of_relations(recording, served_by), True)
    yield Check("lost of virtiofs", recording.manifest.lost(), 0)
    yield from _mapped(out)


def _mapped(out: Path) -> Iterator[Check]:
    """An answer may be there before who asked sleeps for it, here more often than not. What sleep there was waited for the host."""
    recording = open_recording(out / "mapped.iowhy")
    faults = (
        f"SELECT count(*) BETWEEN 1 AND {2 * PAGES} AND count(*) = count(ino) FROM waits"
        " WHERE syscall IS NULL AND reason = 'fuse'"
    )
    yield Check(
        "page faults wait for virtiofs's host, and name the file", one(recording, faults), True
    )
    others = "SELECT count(*) FROM waits WHERE reason = 'interruptible_sleep'"
    yield Check("faults and closes that wait for something else", one(recording, others), 0)
    # To open a file is a call with a row of its own, which has what of it was sleep.
    sleeping = (
        "SELECT (sum(sleeping_ns) - (SELECT sum(sleeping_ns) FROM syscalls)) * 4 <= sum(blocked_ns)"
        " FROM thread_time"
    )
    yield Check("sleep for virtiofs's host counts as waiting", one(recording, sleeping), True)
