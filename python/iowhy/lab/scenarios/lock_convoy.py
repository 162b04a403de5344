"""Control: threads that queue for the lock of one inode."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _convoy(stage: Stage, *more: str) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    argv = work(
        "convoy", *more, file=filesystem.path / "shared", threads=8, writes=stage.choice.count(500)
    )
    return Plan(argv)


SCENARIO = Scenario(
    name="lock-convoy",
    title="8 threads overwrite parts of one file",
    variants=(
        Variant("one-file", "all in one file", _convoy, ("lock-contended",)),
        Variant(
            "own-files", "a file for each thread", lambda s: _convoy(s, "--own-files"), COMPUTES
        ),
    ),
    devices=("memory", "file"),
    remedy=(
        "lock-contended.file-each",
        "lock-contended.file-each-any",
    ),
    filesystems=("ext4", "xfs"),
    # Eight threads wait in turn; with two processors the fix cannot save all that waiting.
    share_is_gain=False,
)
