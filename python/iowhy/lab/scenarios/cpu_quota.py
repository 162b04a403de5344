"""Control: a program that may use a third of a processor."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _spin(stage: Stage, *, limited: bool) -> Plan:
    prefix: tuple[str, ...] = ()
    if limited:
        prefix = stage.limited(
            "cpu",
            {
                "cpu.cfs_quota_us": {1: "30000"},
                "cpu.cfs_period_us": {1: "100000"},
                "cpu.max": {2: "30000 100000"},
            },
        )
    return Plan((*prefix, *work("spin", cpu_seconds=1.2 * stage.choice.scale)))


SCENARIO = Scenario(
    name="cpu-quota",
    title="a computing program with a processor quota",
    variants=(
        Variant(
            "quota", "30 % of a processor", lambda s: _spin(s, limited=True), ("cpu-throttled",)
        ),
        Variant("free", "no quota", lambda s: _spin(s, limited=False), COMPUTES),
    ),
    devices=("memory",),
    remedy=(
        "group.more-cpus",
        "cpu-throttled.more-cpus",
    ),
    filesystems=("ext4",),
)
