"""A small file that is synced again and again next to somebody's bulk write: in the same journal, and in another."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MIB = 1 << 20
#: New blocks each time, and without delayed allocation, so that each commit has to write all of it first (data=ordered).
#: More than the disk's queue takes (128 requests of 512 KiB): the kernel counts only submitting them as flushing.
_WRITER = (
    'while :; do for n in 1 2; do dd if=/dev/zero of="$0.$n" bs=1M count=200; sleep 0.5; done; done'
)
_SYNCER = 'for i in $(seq "$1"); do echo "line $i" | dd of="$0" oflag=append conv=notrunc,fsync; sleep 0.1; done'


def _log(stage: Stage, *, same: bool) -> Plan:
    own = stage.filesystem(stage.disk(2048), options=("nodelalloc",))
    theirs = own if same else stage.filesystem(stage.disk(2048), options=("nodelalloc",))
    stage.neighbour(("sh", "-c", _WRITER, str(theirs.path / "bulk")))
    count = stage.choice.count(4)
    return Plan(("sh", "-c", _SYNCER, str(own.path / "log"), str(count)))


SCENARIO = Scenario(
    name="journal-bulk",
    title="a log whose lines are synced, next to a bulk write to the same ext4",
    variants=(
        Variant(
            "same-filesystem",
            "both in one journal",
            lambda s: _log(s, same=True),
            ("journal-entangled",),
        ),
        Variant(
            "own-filesystem",
            "a disk for each",
            lambda s: _log(s, same=False),
            ("sync-storm", *FINE, "flush-cost"),
        ),
    ),
    devices=("hdd",),
    filesystems=("ext4",),
    share_is_gain=False,
    remedy=(
        "journal-entangled.other-filesystem",
        "journal-entangled.other-filesystem-any",
    ),
    tools=("dd", "seq"),
)
