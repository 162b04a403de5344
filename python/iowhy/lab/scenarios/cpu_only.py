"""Control: a program that only computes."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _spin(stage: Stage) -> Plan:
    return Plan(work("spin", cpu_seconds=3 * stage.choice.scale))


SCENARIO = Scenario(
    name="cpu-only",
    title="one thread computes",
    variants=(Variant("spin", "no I/O at all", _spin, COMPUTES),),
    devices=("memory",),
    filesystems=("ext4",),
)
