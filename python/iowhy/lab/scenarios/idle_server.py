"""Control: a server that nobody calls."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import work
from iowhy.lab.stage import Stage


def _idle(stage: Stage) -> Plan:
    return Plan(work("idle", for_seconds=4 * stage.choice.scale))


SCENARIO = Scenario(
    name="idle-server",
    title="a server that waits for connections",
    variants=(Variant("idle", "poll with a timeout", _idle, ("not-io", "healthy")),),
    devices=("memory",),
    filesystems=("ext4",),
)
