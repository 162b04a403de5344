"""Devices that lie on others: what is written and read there, and what a recording says of it on each layer."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording
from iowhy.relations import Relations
from iowhy.whys.facts.layers import below

from .check import Check, of_relations, one

MEBIBYTE = 2**20
#: Sizes of the disks vdc, vdd and vde, in MiB, of all of which arrays and mappings are made.
DISKS = (48, 48, 48)
WRITTEN = 4 * MEBIBYTE
DIRECT_READS, DIRECT_BYTES = 97, 8192
READ = DIRECT_READS * DIRECT_BYTES
#: By how much one member of the mirror is late.
DELAY_MS = 40
#: Each stack: how it is made, the device with the filesystem, how it is taken apart. dm-delay makes one member of the mirror late.
_MD = "mdadm --quiet --create /dev/md0 --run --force --assume-clean --metadata=1.2"
_SECTORS = 80000
_KEY = "".join(f"{byte:02x}" for byte in range(32))
STACKS = {
    "crypt": (
        f'dmsetup create low --table "0 {_SECTORS} linear /dev/vdc 2048"\n'
        f'dmsetup create top --table "0 {_SECTORS} crypt aes-xts-plain64 {_KEY} 0 /dev/mapper/low 0"',
        "/dev/mapper/top",
        "dmsetup remove top; dmsetup remove low",
    ),
    "mirror": (
        f'dmsetup create slow --table "0 {_SECTORS} delay /dev/vdd 0 {DELAY_MS}"\n'
        f"{_MD} --level=1 --raid-devices=2 /dev/vdc /dev/mapper/slow\n"
        'dmsetup create top --uuid LVM-iowhy --table "0 60000 linear /dev/md0 0"',
        "/dev/mapper/top",
        "dmsetup remove top; mdadm --quiet --stop /dev/md0; dmsetup remove slow",
    ),
    "striped": (
        f"{_MD} --level=0 --chunk=64 --raid-devices=2 /dev/vdc /dev/vdd",
        "/dev/md0",
        "mdadm --quiet --stop /dev/md0",
    ),
    "parity": (
        f"{_MD} --level=5 --chunk=64 --raid-devices=3 /dev/vdc /dev/vdd /dev/vde",
        "/dev/md0",
        "mdadm --quiet --stop /dev/md0",
    ),
    "paths": (
        f'dmsetup create top --table "0 {_SECTORS} multipath 0 0 1 1 round-robin 0 1 1 /dev/vde 1"',
        "/dev/mapper/top",
        "dmsetup remove top",
    ),
}
#: Copies of each byte that the disks get, and how many disks do; of parity the data alone is not told from it.
COPIES = {"crypt": 1, "mirror": 2, "striped": 1, "parity": None, "paths": 1}


def script() -> str:
    """Makes each stack in turn, and records a program on a filesystem of its own there."""
    # Without udev the nodes of devices are made by who makes the devices.
    parts = ["export DM_DISABLE_UDEV=1"]
    for name, (make, device, end) in STACKS.items():
        work = (
            f"iowhy-work seqwrite --file /mnt/stack/{name} --bytes {WRITTEN} --block 64K --fsync &&"
            f" iowhy-work randread --file /mnt/stack/{name} --reads {DIRECT_READS} --block {DIRECT_BYTES}"
        )
        parts += [
            make,
            f"mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard {device}",
            f"mkdir -p /mnt/stack && mount -t ext4 -o noatime {device} /mnt/stack && sync",
            f"record stack-{name} sh -c '{work}'",
            "umount /mnt/stack",
            end,
        ]
    return "\n".join(parts)


def checks(out: Path) -> Iterator[Check]:
    """Each layer's requests name the file, and what is counted is what the program moved."""
    for name in STACKS:
        recording = open_recording(out / f"stack-{name}.iowhy")
        yield from _owned(name, recording)
        yield from _once(name, recording)
        yield Check(f"lost of {name}", recording.manifest.lost(), 0)
    yield from _named(open_recording(out / "stack-mirror.iowhy"))


def _named(recording: Recording) -> Iterator[Check]:
    """What the chain of a finding says of the mirror: what it lies on, and which member answers late."""
    with Relations(recording) as relations:
        ((top,),) = relations.rows("SELECT dev FROM devices WHERE mapper_name = 'top'")
        layers = below(relations, int(top))
    assert layers is not None
    yield Check(
        "layers of the mirror",
        (layers.shown.split(" on vd")[0].split(" on device")[0], set(layers.members.values())),
        ("LVM top on md0 (raid1)", {"vdc", "device-mapper slow"}),
    )
    writes = [one for one in layers.answers if one.op == "write"]
    latest = max(writes, key=lambda one: one.mean_ns)
    yield Check(
        "member of the mirror that answers late", layers.members[latest.dev], "device-mapper slow"
    )


def _owned(name: str, recording: Recording) -> Iterator[Check]:
    """No request below is nobody's, and the file has all its bytes on the disks too."""
    unknown = "SELECT count(*) FROM block_requests WHERE owner_kind = 'unknown' AND bytes > 0"
    yield Check(f"requests without an owner of {name}", one(recording, unknown), 0)
    path = f"/mnt/stack/{name}"
    of_file = (
        "SELECT sum(bytes) FROM block_requests q JOIN devices d USING (dev) WHERE op = '{op}'"
        " AND owner_kind = 'data' AND d.name {which}"
        f" AND owner_ino = (SELECT ino FROM files WHERE path = '{path}')"
    )
    disks = "LIKE 'vd%'"
    top = "= 'md0'" if name in ("striped", "parity") else "LIKE 'dm-%'"
    read = one(recording, of_file.format(op="read", which=disks))
    yield Check(f"bytes of direct reads from the disks of {name}", read, READ)
    copies = COPIES[name]
    if copies is not None:
        written = one(recording, of_file.format(op="write", which=disks))
        yield Check(f"bytes of the file that the disks of {name} got", written, copies * WRITTEN)
    if name in ("striped", "parity", "paths"):
        written = one(recording, of_file.format(op="write", which=top))
        yield Check(f"bytes of the file that the top of {name} got", written, WRITTEN)
    journal = (
        "SELECT count(DISTINCT dev) > 1 FROM block_requests"
        " WHERE owner_kind = 'journal' AND op = 'write' AND bytes > 0"
    )
    yield Check(f"the journal is named on the layers of {name}", one(recording, journal), True)


def _once(name: str, recording: Recording) -> Iterator[Check]:
    """What counts is on the topmost device alone."""
    for op, expected in (("write", WRITTEN), ("read", READ)):
        counted = (
            "SELECT sum(bytes) FROM command_requests"
            f" WHERE op = '{op}' AND owner_kind = 'data'"
            f" AND owner_ino = (SELECT ino FROM files WHERE path = '/mnt/stack/{name}')"
        )
        yield Check(
            f"bytes of {op}s that count of {name}", of_relations(recording, counted), expected
        )
    places = "SELECT count(DISTINCT dev) FROM counted_requests WHERE counted"
    yield Check(f"devices that count of {name}", of_relations(recording, places), 1)
