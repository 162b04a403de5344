"""Control: a disk that answers late, as a failing one or one behind a crowded network does."""

from collections.abc import Sequence

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage


def _read(stage: Stage, changes: Sequence[str] = ()) -> Plan:
    filesystem = stage.filesystem(stage.disk(512, changes=changes))
    path = make_file(filesystem.path / "data", stage.choice.size(4), stage.choice.seed)
    return Plan(("dd", f"if={path}", "of=/dev/null", "bs=64K", "iflag=direct", "status=none"))


SCENARIO = Scenario(
    name="slow-disk",
    title="dd reads in order from a disk that takes 60 ms to answer",
    variants=(
        Variant(
            "late", "60 ms an access", lambda s: _read(s, ("--access-us=60000",)), ("device-slow",)
        ),
        Variant(
            "in-time",
            "80 µs an access",
            _read,
            ("queue-shallow", *FINE, "device-saturated", "small-requests"),
        ),
    ),
    devices=("ssd",),
    remedy=(
        "device-slow.other-device",
        "device-slow.other-device-any",
    ),
    filesystems=("ext4", "xfs"),
    share_is_gain=False,
    tools=("dd",),
)
