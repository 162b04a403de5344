"""Control: what was read is dropped from the cache by another program, though all of it would fit."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage

_FILE_MIB = 48
#: The first is cold whoever drops what: a small part of all.
_PASSES = 8
#: As backup programs do of what they have read (dd(1), nocache).
_DROPS = 'while :; do dd if="$0" iflag=nocache count=0 status=none; sleep 0.05; done'


def _passes(stage: Stage, *, dropped: bool) -> Plan:
    filesystem = stage.scratch_filesystem(512)
    path = make_file(filesystem.path / "data", stage.choice.size(_FILE_MIB), stage.choice.seed)
    if dropped:
        stage.neighbour(("sh", "-c", _DROPS, str(path)))
    return Plan(work("passes", file=path, passes=_PASSES), cold=True)


SCENARIO = Scenario(
    name="cache-dropped",
    title="8 passes over a file that another program drops from the page cache all the time",
    variants=(
        Variant(
            "dropped",
            "dd iflag=nocache of the file, twenty times a second",
            lambda s: _passes(s, dropped=True),
            ("cache-thrash",),
        ),
        Variant(
            "left",
            "nobody drops it",
            lambda s: _passes(s, dropped=False),
            ("cache-cold", "device-saturated", "device-slow", "readahead-poor", "queue-shallow"),
        ),
    ),
    devices=("hdd", "ssd"),
    chain=("cache-thrash.share",),
    remedy=(
        "cache-thrash.keep-from-dropping",
        "cache-thrash.stop-dropping",
    ),
    tools=("dd",),
)
