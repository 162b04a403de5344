"""rsync that makes each file durable, against one that leaves that to the end."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._trees import make_tree
from iowhy.lab.stage import Stage


def _copy(stage: Stage, *options: str) -> Plan:
    filesystem = stage.scratch_filesystem(512)
    source = filesystem.path / "source"
    make_tree(source, stage.choice.count(10), 10, 8000, stage.choice.seed)
    return Plan(("rsync", "-a", *options, f"{source}/", str(filesystem.path / "copy")))


SCENARIO = Scenario(
    name="rsync-fsync",
    title="rsync of small files with an fsync for each",
    variants=(
        Variant("each", "--fsync", lambda s: _copy(s, "--fsync"), ("sync-storm",)),
        Variant("none", "left to writeback", lambda s: _copy(s), FINE),
    ),
    devices=("hdd", "flush-slow"),
    remedy=("rsync.sync-at-end",),
    tools=("rsync",),
)
