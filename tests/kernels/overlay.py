"""Files on an overlay, whose pages and requests are those of files below: overlayfs is a module in these kernels."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, one

MEBIBYTE = 2**20
SIZE, CHANGED = 2 * MEBIBYTE, 65_536
DIRECT_READS, DIRECT_BYTES = 97, 8192
_WRITE = f"iowhy-work seqwrite --bytes {SIZE} --block 64K --fsync --file"
_WORK = (
    f"iowhy-work randread --file /mnt/over/read --reads {DIRECT_READS} --block {DIRECT_BYTES}",
    "dd if=/mnt/over/copied of=/dev/null bs=64k",
    f"{_WRITE} /mnt/over/new",
    f"dd if=/mnt/over/new of=/mnt/over/copied bs={CHANGED} count=1 conv=notrunc,fsync",
)


def script() -> str:
    """Reads files of the lower layer, makes one, and changes one that has to be copied up for that."""
    layers = "lowerdir=/mnt/low,upperdir=/mnt/up,workdir=/mnt/up-work"
    return "\n".join(
        (
            "mkdir /mnt/low /mnt/up /mnt/up-work /mnt/over",
            *(f"{_WRITE} /mnt/low/{name}" for name in ("read", "copied")),
            "sync; echo 3 > /proc/sys/vm/drop_caches",
            f"mount -t overlay -o {layers} overlay /mnt/over",
            f"record overlay sh -c '{' && '.join(_WORK)}'",
            "umount /mnt/over",
        )
    )


def checks(out: Path) -> Iterator[Check]:
    """Calls and requests are of one file, under the name that the program knows."""
    recording = open_recording(out / "overlay.iowhy")
    calls = "SELECT sum(ret) FROM syscalls s JOIN files f USING (dev, ino) WHERE f.path = ? AND s.name IN ?"
    requests = (
        "SELECT sum(bytes) FROM block_requests b JOIN files f ON f.dev = b.owner_dev AND f.ino = b.owner_ino"
        " WHERE f.path = ? AND b.op = ?"
    )
    direct = DIRECT_READS * DIRECT_BYTES
    for name, reads, writes, read, written in (
        ("read", direct, None, direct, None),
        ("copied", SIZE, CHANGED, SIZE, SIZE + CHANGED),
        ("new", CHANGED, SIZE, None, SIZE),
    ):
        path = f"/mnt/over/{name}"
        yield Check(
            f"bytes of reads of {path}", one(recording, calls, path, ["read", "pread64"]), reads
        )
        yield Check(
            f"bytes of writes to {path}", one(recording, calls, path, ["write", "pwrite64"]), writes
        )
        yield Check(
            f"bytes of requests that read {path}", one(recording, requests, path, "read"), read
        )
        yield Check(
            f"bytes of requests that write {path}", one(recording, requests, path, "write"), written
        )
