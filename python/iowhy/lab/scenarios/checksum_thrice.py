"""Three passes of cksum over a file, in a group that may cache less than the file."""

from iowhy.lab.scenario import CPU, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage


def _passes(stage: Stage, limit_mib: int) -> Plan:
    path = stage.scratch_filesystem(1024).path / "data"
    make_file(path, stage.choice.size(192), stage.choice.seed)
    limit = str(stage.choice.size(limit_mib))
    group = stage.limited("memory", {"memory.limit_in_bytes": {1: limit}, "memory.max": {2: limit}})
    script = 'for pass in 1 2 3; do cksum "$0"; done'
    return Plan((*group, "sh", "-c", script, str(path)), cold=True)


SCENARIO = Scenario(
    name="checksum-thrice",
    title="three passes of cksum over a file larger than the memory that may cache it",
    variants=(
        Variant(
            "96-mib",
            "a limit of 96 MiB",
            lambda s: _passes(s, 96),
            ("cache-thrash", "device-saturated"),
        ),
        Variant(
            "384-mib",
            "a limit of 384 MiB",
            lambda s: _passes(s, 384),
            ("cache-cold", "device-saturated", *CPU),
        ),
    ),
    devices=("hdd",),
    remedy=r"memory",
    tools=("cksum",),
)
