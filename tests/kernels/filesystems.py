"""XFS and btrfs, which are modules in these kernels: what is known of their calls, pages, requests, allocations and log."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording

from .check import Check, one

MEBIBYTE = 2**20
#: Sizes in MiB of the disks that they are made on, vdf and vdg: mkfs.xfs takes no smaller one than 300, mkfs.btrfs than 109.
DISKS = (384, 128)
DISK = "/dev/vdf"
#: Where both are at once, while the agent counts.
AGENTS_DISKS = {"xfs": DISK, "btrfs": "/dev/vdg"}
WRITTEN, PAGE = 4 * MEBIBYTE, 4096
DIRECT_READS, DIRECT_BYTES = 97, 8192
FSYNCS, OVERWRITES = 7, 21
#: Blocks that files get: pages far from each other, of fallocate, appended past the cache, and written again.
ALLOCATED = {"islands": 40, "reserved": 256, "direct": 50, "rewritten": 0}
#: How each is made, and what it tells of its own.
KINDS = {"xfs": ("mkfs.xfs -q -f -K", "journal_xfs"), "btrfs": ("mkfs.btrfs -q -f -K", None)}


def script() -> str:
    """On each: a file is written in order and made durable, read past the cache, and another is changed with a sync now and then.

    The file has its size before it is written: of one that grows XFS allocates more than it needs, and gives that back.
    """
    parts = []
    for kind, (make, _) in KINDS.items():
        file = f"/mnt/fs/{kind}"
        work = (
            f"dd if=/dev/zero of={file} bs=64k count={WRITTEN // 65536} conv=notrunc,fsync",
            f"iowhy-work randread --file {file} --reads {DIRECT_READS} --block {DIRECT_BYTES}",
            f"iowhy-work calls --file /mnt/fs/calls --writes {OVERWRITES} --reads 1 --fsyncs {FSYNCS}"
            f" --fdatasyncs 0 --opens 1 --block {PAGE}",
        )
        parts += [
            f"{make} {DISK} > /out/mkfs-{kind}.txt 2>&1",
            f"mkdir -p /mnt/fs && mount -t {kind} -o noatime {DISK} /mnt/fs",
            f"truncate -s {WRITTEN} {file}; sync",
            f"record fs-{kind} sh -c '{' && '.join(work)}'",
            *(_allocating() if kind == "xfs" else ()),
            "umount /mnt/fs",
        ]
    return "\n".join(parts)


def _allocating() -> tuple[str, ...]:
    """On XFS: what is written before, and then as it is recorded."""
    zeros = "dd if=/dev/zero bs=4k conv=notrunc"
    islands = ALLOCATED["islands"]
    work = (
        f"truncate -s {islands * 65536} islands",
        f"for n in $(seq 0 {islands - 1}); do {zeros} of=islands count=1 seek=$((n * 16)) || exit 1; done",
        f"{zeros},fsync of=islands count=1",
        f"fallocate -l {ALLOCATED['reserved'] * PAGE} reserved",
        f"{zeros} of=direct count={ALLOCATED['direct']} oflag=direct",
        f"{zeros},fsync of=rewritten count=64",
    )
    return (
        f"cd /mnt/fs; {zeros},fsync of=rewritten count=64 2> /out/rewritten.err",
        f"record allocated sh -c '{' && '.join(work)}'",
        "cd /",
    )


def checks(out: Path) -> Iterator[Check]:
    """Bytes, pages and blocks are those of the file; each sync that has something to make durable forces XFS's log."""
    for kind, (_, journal) in KINDS.items():
        recording = open_recording(out / f"fs-{kind}.iowhy")
        yield from _moved(kind, recording)
        yield from _allocated(kind, recording, out)
        if journal is not None:
            yield from _forced(journal, recording)
        yield Check(f"lost on {kind}", recording.manifest.lost(), 0)


def _moved(kind: str, recording: Recording) -> Iterator[Check]:
    file = f"(SELECT ino FROM files WHERE path = '/mnt/fs/{kind}')"
    of_file = (
        "SELECT sum(bytes) FROM block_requests WHERE op = '{}' AND owner_kind = 'data'"
        f" AND owner_ino = {file} AND owner_dev = (SELECT dev FROM filesystems WHERE kind = '{kind}')"
    )
    yield Check(
        f"bytes of the file that the disk got on {kind}",
        one(recording, of_file.format("write")),
        WRITTEN,
    )
    yield Check(
        f"bytes of direct reads on {kind}",
        one(recording, of_file.format("read")),
        DIRECT_READS * DIRECT_BYTES,
    )
    dirtied = f"SELECT sum(dirtied_pages) FROM page_cache WHERE ino = {file}"
    yield Check(f"pages dirtied on {kind}", one(recording, dirtied), WRITTEN // PAGE)
    calls = "SELECT count(*) FROM syscalls WHERE name = 'fsync' AND ret = 0"
    yield Check(f"fsync calls on {kind}", one(recording, calls), 1 + FSYNCS)
    unknown = "SELECT count(*) FROM block_requests WHERE owner_kind = 'unknown' AND bytes > 0"
    yield Check(f"requests without an owner on {kind}", one(recording, unknown), 0)


def _allocated(kind: str, recording: Recording, out: Path) -> Iterator[Check]:
    """Where the kernel tells it: a kernel that has no types of modules says so."""
    sensor = next(s for s in recording.manifest.sensors if s.name == f"allocations_{kind}")
    if not sensor.ran:
        yield Check(f"why {kind} tells of no allocation is said", bool(sensor.why), True)
        return
    blocks = (
        "SELECT coalesce(sum(blocks), 0) FROM allocations"
        " WHERE ino = (SELECT ino FROM files WHERE path = '/mnt/fs/{}')"
    )
    yield Check(
        f"blocks that {kind} allocates", one(recording, blocks.format(kind)), WRITTEN // PAGE
    )
    if kind == "xfs":
        of_files = open_recording(out / "allocated.iowhy")
        found = {name: one(of_files, blocks.format(name)) for name in ALLOCATED}
        yield Check("blocks that XFS allocates for each of four files", found, ALLOCATED)


def _forced(journal: str, recording: Recording) -> Iterator[Check]:
    sensor = next(s for s in recording.manifest.sensors if s.name == journal)
    if not sensor.ran:
        yield Check(f"why there is no {journal} is said", bool(sensor.why), True)
        return
    # It lasts to the end of the call that it is in.
    forced = (
        "SELECT count(*) FROM syscalls s WHERE name = 'fsync' AND EXISTS (SELECT 1 FROM journal_commits c"
        " WHERE c.kind = 'xfs-log-force' AND c.ts_ns >= s.ts_ns AND c.ts_ns + c.dur_ns = s.ts_ns + s.dur_ns)"
    )
    yield Check("fsync calls that force XFS's log", one(recording, forced), 1 + FSYNCS)
