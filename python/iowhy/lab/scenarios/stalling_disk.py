"""Control: flash that answers nobody for a while."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import FLASH_IS_FINE, MOVE, make_file
from iowhy.lab.stage import Stage


def _read(stage: Stage, *faults: str) -> Plan:
    filesystem = stage.filesystem(stage.disk(512, changes=faults))
    path = make_file(filesystem.path / "data", stage.choice.size(256), stage.choice.seed)
    return Plan(("dd", f"if={path}", "of=/dev/null", "bs=64K", "status=none"), cold=True)


SCENARIO = Scenario(
    name="stalling-disk",
    title="dd reads a cold file from flash that answers nobody for three seconds",
    variants=(
        Variant(
            "stalls",
            "three seconds without an answer",
            lambda s: _read(s, "--stall=0.2+3"),
            ("device-slow",),
            also=("cache-cold",),
        ),
        Variant("answers", "the same disk without", _read, ("cache-cold", *FLASH_IS_FINE)),
    ),
    devices=("ssd",),
    filesystems=("ext4", "xfs"),
    chain=("slow-device.silence", "slow-device.waited"),
    remedy=MOVE,
    share_is_gain=False,
    tools=("dd",),
)
