"""Control: a buffered writer on a filesystem that has hardly more room than it writes."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _writer(stage: Stage, disk_mebibytes: int) -> Plan:
    # Delayed allocation promises room; where what is promised nears what is free (ext4_nonda_switch
    # in fs/ext4/inode.c), a write has all dirty inodes written first, and waits for it.
    filesystem = stage.scratch_filesystem(disk_mebibytes)
    return Plan(
        work(
            "seqwrite",
            file=filesystem.path / "log",
            bytes=stage.choice.size(240),
            seed=stage.choice.seed,
        )
    )


SCENARIO = Scenario(
    name="full-filesystem",
    title="a buffered writer on a filesystem that runs short of space",
    variants=(
        Variant(
            "short",
            "little more room than it writes",
            lambda s: _writer(s, max(320, round(320 * s.choice.scale))),
            ("filesystem-full",),
        ),
        Variant(
            "roomy",
            "ten times the room",
            lambda s: _writer(s, max(3200, round(3200 * s.choice.scale))),
            FINE,
        ),
    ),
    devices=("hdd",),
    remedy=(
        "filesystem-full.delete-any",
        "filesystem-full.delete",
    ),
    filesystems=("ext4",),
)
