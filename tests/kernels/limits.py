"""Limits of control groups of version 2, all whose controllers these kernels have: memory.max, io.max, cpu.max."""

from collections.abc import Iterator
from pathlib import Path

from iowhy.recordings import Recording, open_recording
from iowhy.whys.facts import facts_of
from iowhy.whys.facts.evictors import Kind
from iowhy.whys.verdict import judge

from .check import Check, one

MEBIBYTE = 2**20
SIZE, MEMORY = 20 * MEBIBYTE, 12 * MEBIBYTE
#: So slow that neither an emulated CPU nor an emulated disk counts beside it.
RATE, READS_PER_S = 2 * MEBIBYTE, 2
READS, BLOCK = 16, 4096
CORES = 0.3
#: By group: what is written to it, `DISK` for the number of the disk, and what runs in it.
_GROUPS = {
    "again": (
        {"memory.max": str(MEMORY), "io.max": f"DISK rbps={RATE}"},
        "for pass in 1 2 3; do dd if=/mnt/again of=/dev/null bs=128k; done",
    ),
    "slow": (
        {"io.max": f"DISK riops={READS_PER_S}"},
        f"iowhy-work randread --file /mnt/again --reads {READS} --block {BLOCK}",
    ),
    "part": ({"cpu.max": "30000 100000"}, "iowhy-work spin --cpu-seconds 1"),
}


def script() -> str:
    """Programs that move into their group when they run already, as a launcher has them do."""
    lines = [
        "mkdir /groups",
        "mount -t cgroup2 groups /groups",
        "for one in cpu memory io; do echo +$one > /groups/cgroup.subtree_control; done",
        f"iowhy-work seqwrite --file /mnt/again --bytes {SIZE} --block 64K --fsync > /dev/null",
    ]
    for name, (limits, command) in _GROUPS.items():
        lines.append(f"mkdir /groups/{name}")
        lines += [
            f"echo {text.replace('DISK', '$(cat /sys/block/vda/dev)')} > /groups/{name}/{file}"
            for file, text in limits.items()
        ]
        lines.append("sync; echo 3 > /proc/sys/vm/drop_caches")
        inside = f"echo $$ > /groups/{name}/cgroup.procs && {command}"
        lines.append(f"record group-{name} sh -c '{inside}'")
    return "\n".join(lines)


def checks(out: Path) -> Iterator[Check]:
    """The limits are read as they were set, what they do is counted, and the verdict names them first."""
    found = {name: open_recording(out / f"group-{name}.iowhy") for name in _GROUPS}
    for name, column, expected in (
        ("again", "memory_limit_bytes", MEMORY),
        ("again", "io_limit_read_bytes_per_s", RATE),
        ("slow", "io_limit_read_ops_per_s", READS_PER_S),
        ("slow", "memory_limit_bytes", None),
        ("part", "cpu_quota_cores", CORES),
    ):
        asked = f"SELECT min({column}) FROM cgroup_samples"
        yield Check(f"{column} of group {name}", one(found[name], asked), expected)
    for name, column in (
        ("again", "memory_limit_hits"),
        ("again", "refault_file_pages"),
        ("part", "cpu_throttled_periods"),
    ):
        asked = f"SELECT max({column}) > 0 FROM cgroup_samples"
        yield Check(f"{column} of group {name} are counted", one(found[name], asked), True)
    for name, cause in (
        ("again", "cache-thrash"),
        ("slow", "io-throttled"),
        ("part", "cpu-throttled"),
    ):
        first = next((one.cause for one in judge(found[name]).findings), None)
        yield Check(f"what the verdict of group {name} says first", first, cause)
    yield Check("who evicts in group again", _evicts(found["again"]), Kind.LIMIT)


def _evicts(recording: Recording) -> object:
    with facts_of(recording) as facts:
        return facts.evictors[0].kind if facts.evictors else None
