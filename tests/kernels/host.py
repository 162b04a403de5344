"""A folder of the host (9p): who reads there waits for the host, and for no disk of the guest."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, of_relations, one

READS, BLOCK, FILE = 97, 8192, 2**20


def share(place: Path) -> Path:
    """The folder, with the file that is read."""
    folder = place / "share"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_bytes(bytes(range(256)) * (FILE // 256))
    return folder


def script() -> str:
    """Kernels that have no 9p leave nothing of it."""
    return f"""
mkdir -p /host
if mount -t 9p -o trans=virtio,version=9p2000.L,ro host /host > /out/9p.txt 2>&1; then
  record 9p iowhy-work randread --file /host/file --buffered --reads {READS} --block {BLOCK}
  umount /host
fi
"""


def checks(out: Path) -> Iterator[Check]:
    """Calls and bytes are those of the program; the waits are the server's."""
    place = out / "9p.iowhy"
    if not place.exists():
        return
    recording = open_recording(place)
    read = (
        "SELECT count(*), sum(ret) FROM syscalls WHERE name = 'pread64'"
        " AND dev = (SELECT dev FROM filesystems WHERE kind = '9p' AND mount = '/host')"
    )
    yield Check("calls and bytes of reads of 9p", one(recording, read), (READS, READS * BLOCK))
    waited = (
        "SELECT count(*) > 0, count(*) FILTER (WHERE reason <> 'network_filesystem') FROM waits"
        " WHERE syscall = 'pread64'"
    )
    yield Check("waits for the host and for others", one(recording, waited), (True, 0))
    served = (
        "SELECT count(*) > 0 FROM served_waits w JOIN served_filesystems f USING (dev)"
        " WHERE syscall = 'pread64' AND mount = '/host' AND w.served_by = 'server'"
    )
    yield Check("reads wait for the host", of_relations(recording, served), True)
    yield Check("lost of 9p", recording.manifest.lost(), 0)
