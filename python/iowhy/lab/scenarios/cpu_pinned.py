"""Control: two programs that compute, bound to one processor while others idle."""

from iowhy.lab.scenario import COMPUTES, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _spin(stage: Stage, *, bound: bool) -> Plan:
    seconds = 1.2 * stage.choice.scale
    two = ("sh", "-c", '"$@" & "$@"; wait', "sh", *map(str, work("spin", cpu_seconds=seconds)))
    return Plan((*(("taskset", "-c", "0") if bound else ()), *two))


SCENARIO = Scenario(
    name="cpu-pinned",
    title="two computing programs on one processor",
    variants=(
        Variant(
            "bound", "bound to one processor", lambda s: _spin(s, bound=True), ("cpu-delayed",)
        ),
        Variant("free", "on all of them", lambda s: _spin(s, bound=False), COMPUTES),
    ),
    devices=("memory",),
    remedy=(
        "all-cpus.unbound",
        "all-cpus.running",
        "all-cpus.again",
        "all-cpus.start",
        "all-cpus.container",
    ),
    filesystems=("ext4",),
)
