"""Who writes a part of a block that is not in memory waits until it is read; who writes all of it does not."""

import os
from pathlib import Path

import pytest

from machine import ask, filesystem, python, record, run

#: Nothing here is a matter of time; the caches of others may push the file's pages out, which only makes it colder.
pytestmark = pytest.mark.usefixtures("live")

BLOCKS = 64
BLOCK = 4096
# Far enough from each other that no read ahead, of which there is none, would bring two.
APART = 64 * 1024

WRITES = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
for number in range({BLOCKS}):
    os.pwrite(fd, b"x" * int(sys.argv[2]), number * {APART} + int(sys.argv[3]))
"""


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_each_block_that_is_written_in_part_is_read_once(kind: str, tmp_path: Path) -> None:
    made = ("-b", str(BLOCK)) if kind == "ext4" else ()
    with filesystem(kind, tmp_path, made=made) as scratch:
        file = scratch.mount / "records"
        file.write_bytes(os.urandom(BLOCKS * APART))
        run("sync", "-f", str(scratch.mount))
        # Within a block, the whole of it, and from the middle of one to the middle of the next.
        for bytes_, at, reads in ((512, 1024, 1), (BLOCK, 0, 0), (BLOCK, 1024, 2)):
            fd = os.open(file, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
            recording = record(
                python(WRITES, file, str(bytes_), str(at)), tmp_path / f"{bytes_}-{at}.iowhy"
            )
            ((requests, read),) = ask(
                recording,
                "SELECT count(*), coalesce(sum(bytes), 0)::BIGINT FROM block_requests"
                " WHERE op = 'read' AND owner_kind = 'data' AND owner_dev = ? AND owner_ino = ?",
                scratch.dev,
                file.stat().st_ino,
            )
            assert (requests > 0, read) == (reads > 0, BLOCKS * reads * BLOCK), (bytes_, at)
            waits = dict(
                ask(
                    recording,
                    "SELECT reason, count(*) FROM waits WHERE syscall = 'pwrite64' AND ino = ? GROUP BY reason",
                    file.stat().st_ino,
                )
            )
            assert "page_read" not in waits, waits
            assert (waits.get("partial_write", 0) > 0) == (reads > 0), waits
            run("sync", "-f", str(scratch.mount))
