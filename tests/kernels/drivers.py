"""A disk whose driver gives requests back as its ring is full, and one that fails each read: what a recording counts of both."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import open_recording

from .check import Check, of_relations, one

MEBIBYTE = 2**20
#: The disks behind those of the other tests. The first has a ring of eight entries, of which one request takes all: its data and two more.
FULL, BAD = "vdh", "vdi"
RING, PAGE = 8, 4096
BLOCK, THREADS, READS = (RING - 2) * PAGE, 4, 25
EIO = 5


def words(place: Path) -> list[str]:
    """What gives the machine both disks (qemu's blkdebug makes reads of the second fail)."""
    place.mkdir(parents=True, exist_ok=True)
    for name in (FULL, BAD):
        with (place / f"{name}.img").open("wb") as file:
            file.truncate(8 * MEBIBYTE)
    bad = (
        f"if=none,id={BAD},driver=raw,file.driver=blkdebug,file.image.driver=file,file.image.filename={place / BAD}.img,"
        f"file.inject-error.0.event=read_aio,file.inject-error.0.errno={EIO}"
    )
    return [
        *("-drive", f"if=none,id={FULL},format=raw,file={place / FULL}.img"),
        *(
            "-device",
            f"virtio-blk-pci,drive={FULL},queue-size={RING},num-queues=1,indirect_desc=off",
        ),
        *("-drive", bad),
        *("-device", f"virtio-blk-pci,drive={BAD}"),
    ]


def script() -> str:
    """Several threads read from the one at once, a single one from the other."""
    return (
        f"record full iowhy-work randread --file /dev/{FULL} --threads {THREADS} --reads {READS} --block {BLOCK}\n"
        f"record bad iowhy-work randread --file /dev/{BAD} --reads 1 --block {PAGE}"
    )


def checks(out: Path) -> Iterator[Check]:
    """What is given back is done later, whole; what fails has its error."""
    full, bad = open_recording(out / "full.iowhy"), open_recording(out / "bad.iowhy")
    of = "FROM block_requests JOIN devices USING (dev) WHERE name = '{}' AND op = 'read'"
    read = f"SELECT sum(bytes), count(*) FILTER (WHERE error IS DISTINCT FROM 0) {of.format(FULL)}"
    yield Check("bytes read from a full ring", one(full, read), (THREADS * READS * BLOCK, 0))
    given_back = f"SELECT sum(requeues) > 0, bool_and(issue_ns >= queue_ns) {of.format(FULL)}"
    yield Check("requests are given back by a full ring", one(full, given_back), (True, True))
    failed = (
        f"SELECT count(*) FILTER (WHERE error = {EIO}), count(*), sum(requeues) {of.format(BAD)}"
    )
    yield Check("reads that fail", one(bad, failed), (1, 1, 0))
    counted = "SELECT failed FROM device_totals JOIN devices USING (dev) WHERE name = '{}'"
    yield Check("failed as reports count", of_relations(bad, counted.format(BAD)), 1)
