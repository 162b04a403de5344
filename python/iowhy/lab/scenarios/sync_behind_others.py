"""Control: a sync of a whole filesystem to which somebody else writes much."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: Rewritten over and over, so that as much is dirty whenever the command syncs.
_THEIRS_MIB = 150
_WRITER = 'while :; do dd if=/dev/zero of="$0" bs=1M count="$1" conv=notrunc; sleep 0.05; done'


def _sync(stage: Stage, *, beside_writer: bool) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    if beside_writer:
        mebibytes = stage.choice.size(_THEIRS_MIB) >> 20
        theirs = str(filesystem.path / "theirs")
        stage.neighbour(("sh", "-c", _WRITER, theirs, str(mebibytes)))
    own = str(filesystem.path / "own")
    return Plan(("sh", "-c", 'echo done > "$0" && sync -f "$0"', own))


SCENARIO = Scenario(
    name="sync-behind-others",
    title="sync -f of a small file while somebody else writes much to its filesystem",
    variants=(
        Variant(
            "beside-writer",
            "150 MiB that another program made dirty",
            lambda s: _sync(s, beside_writer=True),
            ("device-contended",),
        ),
        Variant(
            "alone",
            "nobody else writes",
            lambda s: _sync(s, beside_writer=False),
            (*FINE, "sync-storm", "flush-cost"),
        ),
    ),
    devices=("hdd",),
    remedy=(
        "device-contended.other-time",
        "device-contended.other-time-any",
    ),
    tools=("sync", "dd"),
)
