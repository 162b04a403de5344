"""sort with less memory than its lines take: it merges temporary files."""

import random

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _sort(stage: Stage, memory: str) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    lines = filesystem.path / "lines"
    chosen = random.Random(stage.choice.seed)
    with lines.open("wb") as file:
        for _ in range(stage.choice.size(64) >> 20):
            block = chosen.randbytes(1 << 19).hex().encode()
            file.writelines(block[at : at + 1023] + b"\n" for at in range(0, len(block), 1024))
    words = ("sort", "--parallel=1", "-S", memory, "-T", str(filesystem.path), str(lines))
    return Plan((*words, "-o", "/dev/null"), env={"LC_ALL": "C"}, cold=False)


SCENARIO = Scenario(
    name="sort-spills",
    title="sort has 4 MiB of memory for 64 MiB of lines",
    variants=(
        Variant("4M", "sort -S 4M", lambda s: _sort(s, "4M"), ("spills",)),
        Variant("256M", "sort -S 256M", lambda s: _sort(s, "256M"), COMPUTES),
    ),
    devices=("hdd",),
    remedy=("sort.sort-more-memory",),
    filesystems=("ext4",),
    tools=("sort",),
)
