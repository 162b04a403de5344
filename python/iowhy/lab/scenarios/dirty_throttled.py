"""Control: a writer that the kernel slows to the rate of its disk."""

from pathlib import Path

from iowhy.lab.disks import MIB, set_knob
from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _writer(stage: Stage, *, strict: bool) -> Plan:
    disk = stage.disk(1024, changes=("--megabytes-per-s=40",))
    filesystem = stage.filesystem(disk)
    if strict:
        # The limit of this scratch device alone; the machine's own limits stay as they are.
        limits = Path(f"/sys/class/bdi/{disk.number}")
        set_knob(limits / "strict_limit", "1", stage.undo)
        # Putting the ratio back takes the bytes back.
        stage.undo.write_file(limits / "max_ratio")
        (limits / "max_bytes").write_text(str(24 * MIB))
    return Plan(
        work(
            "seqwrite",
            file=filesystem.path / "log",
            bytes=stage.choice.size(160),
            seed=stage.choice.seed,
        )
    )


SCENARIO = Scenario(
    name="dirty-throttled",
    title="a buffered writer faster than its disk",
    variants=(
        Variant(
            "throttled",
            "24 MiB of the device may be dirty",
            lambda s: _writer(s, strict=True),
            ("dirty-throttled",),
        ),
        Variant("free", "the machine's usual limits", lambda s: _writer(s, strict=False), COMPUTES),
    ),
    devices=("hdd",),
    remedy=(
        "dirty-throttled.raise-limit",
        "dirty-throttled.raise-limit-any",
    ),
    filesystems=("ext4", "xfs"),
)
