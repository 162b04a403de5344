"""Files on an overlay, as containers have them: one file from call to disk, under the name that the program knows."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording
from machine import Filesystem, ask, filesystem, python, record, run
from test_agent_counts import aggregating, opened

pytestmark = pytest.mark.usefixtures("live")

PAGE = 4_096
READ, NEW, COPIED, DIRECT, MAPPED = 48, 40, 24, 8, 5

# In this order: what is only read; what is new; a file that is copied up while it is open; direct reads; mapped memory.
MIXED = f"""
import mmap, os, sys
folder = sys.argv[1]
fd = os.open(folder + "/read", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for page in range({READ}):
    os.pread(fd, {PAGE}, page * {PAGE})
fd = os.open(folder + "/new", os.O_CREAT | os.O_WRONLY)
for page in range({NEW}):
    os.write(fd, os.urandom({PAGE}))
os.fsync(fd)
before = os.open(folder + "/copied", os.O_RDONLY)
os.posix_fadvise(before, 0, 0, os.POSIX_FADV_RANDOM)
os.pread(before, {PAGE}, 0)
after = os.open(folder + "/copied", os.O_RDWR)
os.pwrite(after, os.urandom({PAGE}), {PAGE})
os.fsync(after)
os.pread(before, {PAGE}, {PAGE})
unread = os.open(folder + "/unread", os.O_RDWR)
fd = os.open(folder + "/direct", os.O_RDONLY | os.O_DIRECT)
memory = mmap.mmap(-1, {PAGE})
for page in range({DIRECT}):
    os.preadv(fd, [memory], page * {PAGE})
fd = os.open(folder + "/mapped", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, {MAPPED} * {PAGE})
memory = mmap.mmap(fd, {MAPPED} * {PAGE})
for page in range({MAPPED}):
    memory[page * {PAGE}] = 1
memory.flush()
os.mkdir(folder + "/folder")
os.listdir(folder + "/folder")
"""

LOWER = {"read": READ, "copied": COPIED, "unread": COPIED, "direct": DIRECT}


@contextmanager
def overlay(scratch: Filesystem, options: str = "") -> Iterator[Path]:
    """An overlay whose layers are folders of `scratch`; the lower one has files that no page cache knows."""
    names = ("lower", "upper", "work", "merged")
    lower, upper, work, merged = (scratch.mount / name for name in names)
    for folder in (lower, upper, work, merged):
        folder.mkdir()
    for name, pages in LOWER.items():
        with (lower / name).open("wb") as file:
            file.write(os.urandom(pages * PAGE))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}{options}"
    run("mount", "-t", "overlay", "-o", layers, "overlay", str(merged))
    try:
        yield merged
    finally:
        run("umount", str(merged))


def layers_of(
    recording: Recording, scratch: Filesystem, name: str, mount: str = "merged"
) -> dict[str, tuple[object, ...]]:
    """By layer, of one name: calls that read and write, their bytes, pages read, pages made dirty, bytes of requests that read, that write."""
    rows = ask(
        recording,
        """SELECT coalesce(f.inode, f.ino),
            (SELECT count(*) FROM syscalls s WHERE s.dev = f.dev AND s.ino = f.ino
             AND s.name IN ('read', 'pread64', 'preadv', 'preadv2', 'write', 'pwrite64')),
            (SELECT coalesce(sum(ret), 0)::BIGINT FROM syscalls s WHERE s.dev = f.dev AND s.ino = f.ino
             AND s.name IN ('read', 'pread64', 'preadv', 'preadv2', 'write', 'pwrite64')),
            (SELECT coalesce(sum(demand_miss_pages + readahead_pages), 0)::BIGINT FROM page_cache c
             WHERE c.dev = f.dev AND c.ino = f.ino),
            (SELECT coalesce(sum(dirtied_pages), 0)::BIGINT FROM page_cache c WHERE c.dev = f.dev AND c.ino = f.ino),
            (SELECT coalesce(sum(bytes), 0)::BIGINT FROM block_requests b
             WHERE b.owner_dev = f.dev AND b.owner_ino = f.ino AND b.op = 'read'),
            (SELECT coalesce(sum(bytes), 0)::BIGINT FROM block_requests b
             WHERE b.owner_dev = f.dev AND b.owner_ino = f.ino AND b.op = 'write')
        FROM files f WHERE f.dev = ? AND f.path = ?""",
        scratch.dev,
        f"{scratch.mount}/{mount}/{name}",
    )
    layers = {
        (scratch.mount / layer / name).stat().st_ino: layer
        for layer in ("lower", "upper")
        if (scratch.mount / layer / name).exists()
    }
    assert len(rows) == len({row[0] for row in rows}), rows
    return {layers[int(str(row[0]))]: row[1:] for row in rows}


def report(path: Path) -> list[dict[str, object]]:
    done = run(sys.executable, "-m", "iowhy", "report", "files", str(path), "--format", "json")
    rows: list[dict[str, object]] = json.loads(done)["rows"]
    return rows


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_calls_pages_and_requests_of_a_file_are_of_one_file(tmp_path: Path, kind: str) -> None:
    # XFS would copy a file up by sharing its blocks.
    made = ("-m", "reflink=0") if kind == "xfs" else ()
    with filesystem(kind, tmp_path, made=made) as scratch, overlay(scratch) as merged:
        recording = record(python(MIXED, merged), tmp_path / "a.iowhy")
        found = {
            name: layers_of(recording, scratch, name)
            for name in ("read", "new", "copied", "unread", "direct", "mapped")
        }
        rows = [one for one in report(tmp_path / "a.iowhy") if str(merged) in str(one["path"])]
    # Calls, their bytes, pages that were read, pages made dirty, bytes of requests that read, that write.
    assert found == {
        "read": {"lower": (READ, READ * PAGE, READ, 0, READ * PAGE, 0)},
        "new": {"upper": (NEW, NEW * PAGE, 0, NEW, 0, NEW * PAGE)},
        # The kernel reads all of it, writes it above, and syncs that before the program changes a page.
        "copied": {
            "lower": (1, PAGE, COPIED, 0, COPIED * PAGE, 0),
            "upper": (2, 2 * PAGE, 0, COPIED + 1, 0, (COPIED + 1) * PAGE),
        },
        "unread": {
            "lower": (0, 0, COPIED, 0, COPIED * PAGE, 0),
            "upper": (0, 0, 0, COPIED, 0, COPIED * PAGE),
        },
        "direct": {"lower": (DIRECT, DIRECT * PAGE, 0, 0, DIRECT * PAGE, 0)},
        # Its pages come by faults, and are holes until then.
        "mapped": {"upper": (0, 0, MAPPED, MAPPED, 0, MAPPED * PAGE)},
    }
    # No request of a file is of one without a name; whatever waited for one is joined to it.
    unnamed = """SELECT count(*) FROM block_requests b LEFT JOIN files f ON f.dev = b.owner_dev AND f.ino = b.owner_ino
        WHERE b.owner_dev = ? AND b.owner_kind = 'data' AND f.path IS NULL"""
    assert ask(recording, unnamed, scratch.dev) == [(0,)]
    waits = "SELECT count(*) > 0 FROM waits w JOIN files f USING (dev, ino) WHERE dev = ? AND path LIKE '%/merged/new'"
    assert ask(recording, waits, scratch.dev) == [(True,)]
    # Each once, whole, with its size and extents as the program sees them.
    assert {
        Path(str(one["path"])).name: (one["request_bytes"], one["size_bytes"], one["deleted"])
        for one in rows
        if one["kind"] == "file"
    } == {
        "read": (READ * PAGE, READ * PAGE, False),
        "new": (NEW * PAGE, NEW * PAGE, False),
        "copied": ((2 * COPIED + 1) * PAGE, COPIED * PAGE, False),
        "unread": (2 * COPIED * PAGE, COPIED * PAGE, False),
        "direct": (DIRECT * PAGE, DIRECT * PAGE, False),
        "mapped": (MAPPED * PAGE, MAPPED * PAGE, False),
    }
    assert len(rows) == len({one["path"] for one in rows})
    assert all(one["extents_after"] for one in rows if str(one["path"]).endswith(("/read", "/new")))


READS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
while os.read(fd, 4096): pass
"""


def test_data_that_stay_below_are_read_there(tmp_path: Path) -> None:
    """Of `copied` only the attributes are copied up; of `read` nothing, and its layer is an overlay itself."""
    with (
        filesystem("ext4", tmp_path) as scratch,
        overlay(scratch, ",metacopy=on") as merged,
    ):
        (merged / "copied").chmod(0o700)
        attributes = record(python(READS, merged / "copied"), tmp_path / "a.iowhy")
        assert layers_of(attributes, scratch, "copied") == {
            "lower": (COPIED + 1, COPIED * PAGE, COPIED, 0, COPIED * PAGE, 0)
        }
        above = scratch.mount / "above"
        above.mkdir()
        layers = f"lowerdir={merged}:{scratch.mount / 'work'}"
        run("mount", "-t", "overlay", "-o", layers, "overlay", str(above))
        try:
            stacked = record(python(READS, above / "read"), tmp_path / "b.iowhy")
        finally:
            run("umount", str(above))
        assert layers_of(stacked, scratch, "read", "above") == {
            "lower": (READ + 1, READ * PAGE, READ, 0, READ * PAGE, 0)
        }


def test_the_agent_counts_calls_where_their_data_are(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On the device below, as its requests are: the overlay's own number is of no disk."""
    root = tmp_path / "agent"
    with filesystem("ext4", tmp_path) as scratch, overlay(scratch) as merged:
        with aggregating(root, "--calls"):
            run(*python(MIXED, merged))
        dev = scratch.dev
    kept = opened(root)
    if not kept.ran("agent_calls"):
        cannot_run(request, "this kernel does not take the programs of calls")
    counted = """SELECT name, sum(count), sum(bytes) FROM agent_latencies WHERE measure = 'call' AND dev = ?
        AND name IN ('pread64', 'write', 'pwrite64', 'fsync') GROUP BY name ORDER BY name"""
    assert ask(kept, counted, dev) == [
        ("fsync", 2, 0),
        ("pread64", READ + 2, (READ + 2) * PAGE),
        ("pwrite64", 1, PAGE),
        ("write", NEW, NEW * PAGE),
    ]
    waits = "SELECT sum(count) > 0 FROM agent_latencies WHERE measure = 'io_wait' AND name = 'pread64' AND dev = ?"
    assert ask(kept, waits, dev) == [(True,)]
