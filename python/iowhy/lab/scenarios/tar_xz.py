"""tar into xz: one processor compresses, the others have nothing to do."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._trees import make_tree
from iowhy.lab.stage import Stage

# Blocks small enough that there are several to compress at once.
_PACK = 'tar -C "$0" -cf - . | xz -1 --block-size=1MiB -T"$1" > "$2"'


def _pack(stage: Stage, threads: int) -> Plan:
    filesystem = stage.scratch_filesystem(512)
    tree = filesystem.path / "tree"
    make_tree(tree, 20, stage.choice.count(20), 24_000, stage.choice.seed)
    archive = str(filesystem.path / "archive")
    return Plan(("sh", "-c", _PACK, str(tree), str(threads), archive))


SCENARIO = Scenario(
    name="tar-xz",
    title="tar and xz with one thread on a machine with more processors",
    variants=(
        Variant("one", "xz -T1", lambda s: _pack(s, 1), ("cpu-serial",)),
        Variant("two", "xz -T2", lambda s: _pack(s, 2), COMPUTES),
    ),
    devices=("memory",),
    share_is_gain=False,
    remedy=(
        "tar.parallel",
        "xz.parallel",
    ),
    tools=("tar", "xz"),
)
