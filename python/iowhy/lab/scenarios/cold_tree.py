"""Control: a walk over a tree of small files whose directories and inodes nobody has read yet."""

import random
from pathlib import Path

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: Directories of the tree and files in each: the inodes of some thousand files lie in more blocks
#: than the device reads ahead by itself.
DIRECTORIES = 400
FILES = 20


def _tree(root: Path, directories: int, seed: int) -> None:
    """Makes files in random order, so that a directory's inodes are apart from each other."""
    places = [root / f"d{number:04}" / "sub" for number in range(directories)]
    for place in places:
        place.mkdir(parents=True)
    names = [place / f"file{number:02}" for place in places for number in range(FILES)]
    random.Random(seed).shuffle(names)
    for name in names:
        name.write_bytes(b"x" * 100)


def _walk(stage: Stage, *, cold: bool) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    root = filesystem.path / "tree"
    _tree(root, stage.choice.count(DIRECTORIES), stage.choice.seed)
    # Asking for the size has find look at every inode.
    return Plan(("find", str(root), "-type", "f", "-size", "+1M"), cold=cold)


SCENARIO = Scenario(
    name="cold-tree",
    title="find over a cold tree of small files",
    variants=(
        Variant(
            "cold",
            "no directory or inode cached",
            lambda s: _walk(s, cold=True),
            ("metadata-cold",),
        ),
        Variant("warm", "all cached", lambda s: _walk(s, cold=False), FINE),
    ),
    devices=("hdd",),
    remedy=r"in memory between runs",
    tools=("find",),
)
