"""One file is one file: inodes that serve again, names that come later."""

from pathlib import Path

import pytest

from machine import ask, filesystem, python, record

pytestmark = pytest.mark.usefixtures("live")

PAGE, PAGES = 4_096, (3, 5, 7)

# Each file is written, synced, read back from the disk and removed; the next one gets its inode.
REUSED = f"""
import os, sys
for number, pages in enumerate({PAGES}):
    path = f"{{sys.argv[1]}}/{{number}}"
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    os.write(fd, bytes({PAGE}) * pages)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, {PAGE} * pages, 0)
    print(os.fstat(fd).st_ino, file=open(sys.argv[2], "a"))
    os.close(fd)
    if pages != {PAGES[-1]}:
        os.unlink(path)
"""


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_file_that_gets_the_inode_of_a_deleted_one_is_another_file(
    tmp_path: Path, kind: str
) -> None:
    with filesystem(kind, tmp_path) as scratch:
        recording = record(python(REUSED, scratch.mount, tmp_path / "inodes"), tmp_path / "a.iowhy")
        inodes = [int(line) for line in (tmp_path / "inodes").read_text().split()]
        if kind == "ext4":  # XFS gives a number again some time later
            assert len(set(inodes)) == 1
        found = ask(
            recording,
            """SELECT f.path, coalesce(f.inode, f.ino), f.deleted,
                (SELECT sum(ret) FROM syscalls s
                 WHERE s.dev = f.dev AND s.ino = f.ino AND s.name = 'write'),
                (SELECT sum(dirtied_pages) FROM page_cache c WHERE c.dev = f.dev AND c.ino = f.ino),
                (SELECT sum(refault_pages) FROM page_cache c WHERE c.dev = f.dev AND c.ino = f.ino),
                (SELECT sum(bytes) FROM block_requests b
                 WHERE b.owner_dev = f.dev AND b.owner_ino = f.ino AND b.op = 'write'),
                (SELECT sum(bytes) FROM block_requests b
                 WHERE b.owner_dev = f.dev AND b.owner_ino = f.ino AND b.op = 'read')
            FROM files f WHERE f.dev = ? AND f.kind = 'file' ORDER BY f.path""",
            scratch.dev,
        )
        last = len(PAGES) - 1
        assert found == [
            (
                f"{scratch.mount}/{number}",
                inodes[number],
                number != last,
                pages * PAGE,
                pages,
                0,
                pages * PAGE,
                pages * PAGE,
            )
            for number, pages in enumerate(PAGES)
        ]
        # The extents of the last one are not taken for those of the others.
        assert ask(
            recording,
            "SELECT f.path, sum(e.bytes) FROM extents e JOIN files f USING (dev, ino)"
            " WHERE dev = ? AND phase = 'after' GROUP BY f.path",
            scratch.dev,
        ) == [(f"{scratch.mount}/{last}", PAGES[last] * PAGE)]


# Written, synced and renamed, then the directory too; one of them is removed.
RENAMED = """
import os, sys
os.mkdir(f"{sys.argv[1]}/before")
for name in "abc":
    path = f"{sys.argv[1]}/before/{name}"
    with open(f"{path}.tmp", "w") as file:
        file.write("x" * 1000)
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{path}.tmp", f"{path}.json")
os.unlink(f"{sys.argv[1]}/before/b.json")
os.rename(f"{sys.argv[1]}/before", f"{sys.argv[1]}/after")
"""


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_a_file_that_was_renamed_has_the_name_that_it_has_at_the_end(
    tmp_path: Path, kind: str
) -> None:
    with filesystem(kind, tmp_path) as scratch:
        recording = record(python(RENAMED, scratch.mount), tmp_path / "a.iowhy")
        found = ask(
            recording,
            """SELECT f.path, f.deleted, f.size_bytes FROM files f JOIN syscalls s USING (dev, ino)
            WHERE f.dev = ? AND s.name = 'fsync' ORDER BY f.path""",
            scratch.dev,
        )
    assert found == [
        (f"{scratch.mount}/after/a.json", False, 1000),
        (f"{scratch.mount}/after/c.json", False, 1000),
        (f"{scratch.mount}/before/b.tmp", True, None),
    ]
