"""Control: a writer in so little memory that it must clean before it can go on."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _writer(stage: Stage, *, limited: bool) -> Plan:
    disk = stage.disk(1024, changes=("--megabytes-per-s=60",))
    filesystem = stage.filesystem(disk)
    prefix: tuple[str, ...] = ()
    if limited:
        # What the disk writes in two seconds: with less, a flusher that comes late leaves reclaim nothing but
        # dirty pages, and a group of version 1, which does not hold its writers back, is out of memory.
        limit = str(128 << 20)
        prefix = stage.limited(
            "memory", {"memory.limit_in_bytes": {1: limit}, "memory.max": {2: limit}}
        )
    argv = work(
        "seqwrite",
        file=filesystem.path / "log",
        bytes=stage.choice.size(260),
        seed=stage.choice.seed,
    )
    return Plan((*prefix, *argv))


SCENARIO = Scenario(
    name="reclaim",
    title="a buffered writer in 128 MiB of memory",
    variants=(
        Variant(
            "limited",
            "128 MiB",
            lambda s: _writer(s, limited=True),
            ("memory-pressure", "dirty-throttled"),
        ),
        Variant("free", "no limit", lambda s: _writer(s, limited=False), COMPUTES),
    ),
    devices=("hdd",),
    remedy=(
        "group.more-memory",
        "cache-thrash.raise-limit",
    ),
    filesystems=("ext4", "xfs"),
)
