"""Control: flash that fails some requests."""

from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import FLASH_IS_FINE, read_directly
from iowhy.lab.stage import Stage


def _read(stage: Stage, *faults: str) -> Plan:
    """A reader that goes on after errors."""
    path = read_directly(stage, *faults).argv[1]
    told = (
        f"dd {path} of=/dev/null bs=64K iflag=direct conv=noerror status=none 2>/dev/null; exit 0"
    )
    return Plan(("sh", "-c", told))


SCENARIO = Scenario(
    name="failing-disk",
    title="dd reads from flash that fails one request in twenty",
    variants=(
        Variant(
            "fails",
            "one in twenty",
            lambda s: _read(s, "--error-share=0.05"),
            ("device-failing",),
            also=("queue-shallow",),
        ),
        Variant("reads", "none", _read, FLASH_IS_FINE),
    ),
    devices=("ssd",),
    filesystems=("ext4", "xfs"),
    chain=("device-failing.errors",),
    remedy=("device-failing.copy-replace", "device-failing.copy-replace-device"),
    share_is_gain=False,
    tools=("dd",),
)
