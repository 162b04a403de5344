"""A filesystem that compresses what is written to it, at a high level."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: Words of a text: it becomes smaller, and takes its time to.
_WORDS = (
    "device",
    "request",
    "flush",
    "journal",
    "extent",
    "cache",
    "page",
    "queue",
    "sector",
    "inode",
)
_MIB = 24


def _write(stage: Stage, level: int) -> Plan:
    filesystem = stage.scratch_filesystem(512, options=(f"compress-force=zstd:{level}",))
    source = stage.folder / "text"
    lines = (
        f"{number * 7919 % 100_003} {_WORDS[number * number % 10]} {number**3 % 977}\n"
        for number in range(1 << 30)
    )
    with source.open("w") as file:
        written = 0
        while written < stage.choice.size(_MIB):
            written += file.write(next(lines))
    script = 'cp --reflink=never "$0" "$1" && sync "$1"'
    return Plan(("sh", "-c", script, str(source), str(filesystem.path / "copy")))


SCENARIO = Scenario(
    name="btrfs-compressed",
    title="cp and sync to btrfs with zstd:15",
    variants=(
        Variant("zstd-15", "compress=zstd:15", lambda s: _write(s, 15), ("filesystem-cpu",)),
        Variant(
            "zstd-1",
            "compress=zstd:1",
            lambda s: _write(s, 1),
            (*FINE, "device-saturated", "sync-storm"),
        ),
    ),
    devices=("memory",),
    filesystems=("btrfs",),
    remedy=("filesystem-cpu.compress-faster",),
    tools=("cp", "sync"),
)
