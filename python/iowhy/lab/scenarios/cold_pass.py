"""Control: one pass over a file that nobody has read yet."""

from iowhy.lab.scenario import COMPUTES, CPU, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage


def _once(stage: Stage, *, cold: bool) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    path = make_file(filesystem.path / "data", stage.choice.size(320), stage.choice.seed)
    return Plan(work("passes", file=path, passes=1), cold=cold)


SCENARIO = Scenario(
    name="cold-pass",
    title="one pass over a cold file",
    variants=(
        Variant(
            "cold",
            "nothing cached",
            lambda s: _once(s, cold=True),
            ("cache-cold", "device-saturated"),
            {"file": CPU},
        ),
        Variant("warm", "all cached", lambda s: _once(s, cold=False), COMPUTES),
    ),
    remedy=(
        "shared.warm-cache",
        "shared.warm-cache-any",
    ),
    devices=("hdd", "ssd", "file"),
)
