"""Control: of two disks of one kind, one is slower."""

from collections.abc import Sequence

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import FLASH_IS_FINE, MOVE, make_file
from iowhy.lab.stage import Stage


def _two(stage: Stage, changes: Sequence[str] = ()) -> Plan:
    paths = []
    for faults in ((), changes):
        filesystem = stage.filesystem(stage.disk(512, changes=faults))
        paths.append(make_file(filesystem.path / "data", stage.choice.size(8), stage.choice.seed))
    reads = [f"dd if={path} of=/dev/null bs=4K iflag=direct status=none" for path in paths]
    return Plan(("sh", "-c", " & ".join(reads) + " & wait"))


SCENARIO = Scenario(
    name="slow-twin",
    title="two readers, each of one of two disks of one kind; one takes 3 ms for what takes the other 80 µs",
    variants=(
        Variant(
            "twin", "3 ms an access", lambda s: _two(s, ("--access-us=3000",)), ("device-slow",)
        ),
        Variant("alike", "80 µs on both", _two, FLASH_IS_FINE),
    ),
    devices=("ssd",),
    filesystems=("ext4", "xfs"),
    chain=("slow-device.uneven",),
    remedy=MOVE,
    share_is_gain=False,
    tools=("dd",),
)
