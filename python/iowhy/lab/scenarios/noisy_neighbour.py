"""Control: a reader whose disk somebody else keeps busy."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage


def _reader(stage: Stage, *, noisy: bool) -> Plan:
    filesystem = stage.scratch_filesystem(1536)
    path = make_file(filesystem.path / "data", stage.choice.size(96), stage.choice.seed)
    if noisy:
        others = make_file(
            filesystem.path / "others", stage.choice.size(512), stage.choice.seed + 1
        )
        stage.neighbour(
            work(
                "randread",
                file=others,
                threads=6,
                block="256K",
                for_seconds=600,
                seed=stage.choice.seed,
            )
        )
    return Plan(
        work(
            "randread",
            file=path,
            threads=1,
            block="64K",
            reads=stage.choice.count(60),
            seed=stage.choice.seed,
        )
    )


SCENARIO = Scenario(
    name="noisy-neighbour",
    title="a reader next to six others on one disk",
    variants=(
        Variant(
            "noisy", "six other readers", lambda s: _reader(s, noisy=True), ("device-contended",)
        ),
        Variant(
            "quiet",
            "alone",
            lambda s: _reader(s, noisy=False),
            ("random-access", "queue-shallow", "device-slow", "device-saturated"),
            # Alone it takes some 20 ms there, half of which is the program's start.
            {"ssd": FINE},
        ),
    ),
    devices=("hdd", "ssd"),
    remedy=(
        "device-contended.other-time",
        "device-contended.other-time-any",
    ),
)
