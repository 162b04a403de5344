"""Three passes of cksum over a file, in a group that may cache less than the file."""

from iowhy.lab.scenario import CPU, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_FILE_MIB = 192


def _passes(stage: Stage, script: str, limit_mib: int = _FILE_MIB // 2) -> Plan:
    path = stage.scratch_filesystem(1024).path / "data"
    make_file(path, stage.choice.size(_FILE_MIB), stage.choice.seed)
    limit = str(stage.choice.size(limit_mib))
    group = stage.limited("memory", {"memory.limit_in_bytes": {1: limit}, "memory.max": {2: limit}})
    return Plan((*group, "sh", "-c", script, str(path)), cold=True)


_PASSES = 'for pass in 1 2 3; do cksum "$0"; done'
#: Each part three times before the next one.
_IN_PARTS = """
for part in $(seq 0 7); do
  for pass in 1 2 3; do dd if="$0" bs=1M skip=$((24 * part)) count=24 2>/dev/null | cksum; done
done
"""


SCENARIO = Scenario(
    name="checksum-thrice",
    title="three passes of cksum over a file larger than the memory that may cache it",
    variants=(
        Variant(
            "whole",
            "each pass over all of it",
            lambda s: _passes(s, _PASSES),
            ("cache-thrash", "device-saturated"),
        ),
        Variant(
            "in-parts",
            "all passes over a part of 24 MiB, then the next",
            lambda s: _passes(s, _IN_PARTS),
            ("cache-cold", "device-saturated", *CPU),
        ),
        Variant(
            "more-memory",
            "a limit above the file's size",
            lambda s: _passes(s, _PASSES, 2 * _FILE_MIB),
            ("cache-cold", "device-saturated", *CPU),
            remedy=("group.more-memory",),
        ),
    ),
    devices=("hdd",),
    remedy=(
        "cache-thrash.in-parts-any",
        "cache-thrash.in-parts",
    ),
    tools=("cksum",),
)
