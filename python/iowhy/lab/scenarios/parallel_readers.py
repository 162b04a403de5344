"""Several programs read a file each from one disk, past the page cache: it goes from one to the other all the time."""

from iowhy.lab.scenario import CPU, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_DD = 'dd if="$file" of=/dev/null bs=64K iflag=direct status=none'
_TOGETHER = f"for file; do {_DD} & done; wait"
_IN_TURN = f"for file; do {_DD}; done"


def _read(stage: Stage, script: str) -> Plan:
    filesystem = stage.scratch_filesystem(2048)
    paths = [filesystem.path / f"data{number}" for number in range(6)]
    for path in paths:
        make_file(path, stage.choice.size(12), stage.choice.seed)
    return Plan(("sh", "-c", script, "sh", *map(str, paths)), cold=True)


SCENARIO = Scenario(
    name="parallel-readers",
    title="six files read at once from one disk",
    variants=(
        Variant(
            "together",
            "all at once",
            lambda s: _read(s, _TOGETHER),
            ("device-saturated", "random-access"),
        ),
        Variant(
            "in-turn",
            "one after the other",
            lambda s: _read(s, _IN_TURN),
            # In order the disk does all it can, too: eight times as much.
            ("device-saturated", "small-requests", "device-slow", "not-io", *CPU),
        ),
    ),
    devices=("hdd",),
    remedy=("device-saturated.one-by-one",),
    tools=("dd",),
)
