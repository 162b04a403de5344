"""git: the status of a cold tree, objects that are made durable one by one, a repack with one thread."""

from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import COMPUTES, FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._trees import make_tree
from iowhy.lab.stage import Stage

_WHO = ("-c", "user.name=lab", "-c", "user.email=lab@example.org", "-c", "gc.auto=0")


def _repository(
    stage: Stage, directories: int, files: int, size_bytes: int, *, commit: bool = True
) -> Path:
    filesystem = stage.scratch_filesystem(1024)
    tree = filesystem.path / "tree"
    make_tree(tree, directories, files, size_bytes, stage.choice.seed)
    shell.run(("git", "init", "-q", str(tree)))
    if commit:
        shell.run(("git", "-C", str(tree), *_WHO, "add", "."))
        shell.run(("git", "-C", str(tree), *_WHO, "commit", "-q", "-m", "all"))
    return tree


def _status(stage: Stage, *, cold: bool) -> Plan:
    tree = _repository(stage, stage.choice.count(300), 10, 200)
    argv = ("git", "-C", str(tree), "status", "--short")
    if not cold:
        # What was just written may be on its way out of memory already.
        shell.run(argv)
    return Plan(argv, cold=cold)


def _add(stage: Stage, method: str) -> Plan:
    tree = _repository(stage, stage.choice.count(10), 8, 2000, commit=False)
    how = ("-c", "core.fsync=loose-object,index", "-c", f"core.fsyncMethod={method}")
    return Plan(("git", "-C", str(tree), *how, "add", "."))


def _repack(stage: Stage, threads: int) -> Plan:
    tree = _repository(stage, 10, stage.choice.count(60), 16_000)
    return Plan(
        ("git", "-C", str(tree), "-c", f"pack.threads={threads}", "repack", "-adfq", "--window=100")
    )


SCENARIOS = (
    Scenario(
        name="git-status",
        title="git status of a cold tree",
        variants=(
            Variant("cold", "nothing cached", lambda s: _status(s, cold=True), ("metadata-cold",)),
            Variant("warm", "all cached", lambda s: _status(s, cold=False), FINE),
        ),
        devices=("hdd",),
        remedy=(
            "metadata-cold.keep-inodes",
            "shared.warm-cache",
        ),
        tools=("git",),
    ),
    Scenario(
        name="git-add",
        title="git add with core.fsync for loose objects",
        variants=(
            Variant("each", "an fsync for each", lambda s: _add(s, "fsync"), ("sync-storm",)),
            Variant(
                "batch",
                "core.fsyncMethod=batch",
                lambda s: _add(s, "batch"),
                (*FINE, "sync-storm", "flush-cost", "device-saturated"),
            ),
        ),
        devices=("hdd", "flush-slow"),
        remedy=("git.batch-fsync",),
        tools=("git",),
    ),
    Scenario(
        name="git-repack",
        title="git repack with one thread on a machine with more processors",
        variants=(
            Variant("one", "pack.threads=1", lambda s: _repack(s, 1), ("cpu-serial",)),
            Variant("two", "pack.threads=2", lambda s: _repack(s, 2), COMPUTES),
        ),
        devices=("memory",),
        share_is_gain=False,
        remedy=("git.more-threads",),
        tools=("git",),
    ),
)
