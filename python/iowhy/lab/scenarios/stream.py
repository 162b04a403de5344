"""Control: a writer that gets all that its disk can give."""

from iowhy.lab.disks import MIB
from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _dd(stage: Stage) -> Plan:
    count = stage.choice.size(512) // MIB
    filesystem = stage.scratch_filesystem(1024 + 2 * count)
    out = filesystem.path / "stream"
    words = ("if=/dev/zero", f"of={out}", "bs=1M", f"count={count}", "oflag=direct", "status=none")
    return Plan(("dd", *words))


SCENARIO = Scenario(
    name="stream",
    title="dd in order, past the cache, at the disk's full rate",
    variants=(Variant("dd", "1 MiB writes in order", _dd, ("device-saturated",)),),
    devices=("hdd", "ssd", "file"),
    tools=("dd",),
)
