"""Control: a reader of a file on a filesystem that a process serves (FUSE)."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MIB = 48


def _read(stage: Stage, *, through_fuse: bool) -> Plan:
    # The folder of an emulated disk is a FUSE filesystem, and the disk a file in it.
    disk = stage.disk(256)
    path = stage.folder / "plain"
    if through_fuse and disk.folder is not None:
        path = disk.folder / "disk"
    else:
        path.write_bytes(bytes(stage.choice.size(_MIB)))
    count = stage.choice.size(_MIB) >> 16
    return Plan(("dd", f"if={path}", "of=/dev/null", "bs=64k", f"count={count}"))


SCENARIO = Scenario(
    name="fuse-reader",
    title="dd reads a file that a process in user space serves",
    variants=(
        Variant(
            "served",
            "a FUSE filesystem that answers as slowly as a flash disk",
            lambda s: _read(s, through_fuse=True),
            ("fuse-daemon",),
        ),
        Variant(
            "plain", "the same from a file in memory", lambda s: _read(s, through_fuse=False), FINE
        ),
    ),
    devices=("flush-slow", "ssd", "hdd"),
    remedy=(
        "fuse-daemon.copy-local",
        "fuse-daemon.copy-local-any",
    ),
    filesystems=("ext4",),
    tools=("dd",),
)
