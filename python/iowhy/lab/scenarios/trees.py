"""Programs that go through a tree of small files: find, tar, grep, rm, rsync."""

from collections.abc import Callable
from pathlib import Path

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._trees import make_tree
from iowhy.lab.stage import Stage


def _through(
    stage: Stage,
    directories: int,
    files: int,
    size_bytes: int,
    argv: Callable[[Path], tuple[str, ...]],
    *,
    cold: bool,
) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    tree = filesystem.path / "tree"
    make_tree(tree, stage.choice.count(directories), files, size_bytes, stage.choice.seed)
    return Plan(argv(tree), cold=cold)


def _find(tree: Path) -> tuple[str, ...]:
    # Asking for the size has find look at every inode; those of some thousand files are in more blocks than the device reads ahead.
    return ("find", str(tree), "-type", "f", "-size", "+1M")


def _tar(tree: Path) -> tuple[str, ...]:
    # tar does not read what it would write to /dev/null. In its own order, as asked: what remains is to have them in memory.
    return ("sh", "-c", 'tar --sort=none -C "$0" -cf - . | cat > /dev/null', str(tree))


def _grep(tree: Path) -> tuple[str, ...]:
    return ("sh", "-c", 'grep -rl "no such words" "$0" || :', str(tree))


def _rm(tree: Path) -> tuple[str, ...]:
    return ("rm", "-rf", str(tree))


def _rsync(tree: Path) -> tuple[str, ...]:
    # It asks for random numbers for the name of each copy, between the reads.
    return ("rsync", "-a", f"{tree}/", str(tree.parent.parent / "copy"))


def _scenario(
    name: str,
    title: str,
    right: tuple[str, ...],
    files: int,
    size_bytes: int,
    argv: Callable[[Path], tuple[str, ...]],
    directories: int = 100,
) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        variants=(
            Variant(
                "cold",
                "nothing cached",
                lambda s: _through(s, directories, files, size_bytes, argv, cold=True),
                right,
            ),
            Variant(
                "warm",
                "all cached",
                lambda s: _through(s, directories, files, size_bytes, argv, cold=False),
                FINE,
            ),
        ),
        devices=("hdd",),
        remedy=(
            "metadata-cold.keep-inodes",
            "shared.warm-cache",
            "shared.warm-cache-any",
        ),
        tools=(argv(Path())[0], argv.__name__.removeprefix("_")),
    )


SCENARIOS = (
    _scenario(
        "cold-tree", "find over a cold tree of small files", ("metadata-cold",), 20, 100, _find, 400
    ),
    _scenario(
        "tar-tree",
        "tar of a cold tree of small files",
        ("random-access", "cache-cold", "metadata-cold"),
        8,
        6000,
        _tar,
    ),
    _scenario(
        "grep-tree",
        "grep -r through a cold tree of small files",
        ("random-access", "cache-cold", "metadata-cold"),
        8,
        6000,
        _grep,
    ),
    _scenario("rm-tree", "rm -rf of a cold tree", ("metadata-cold",), 40, 100, _rm),
    _scenario(
        "rsync-tree",
        "rsync of a cold tree of small files",
        ("cache-cold", "metadata-cold"),
        8,
        6000,
        _rsync,
    ),
)
