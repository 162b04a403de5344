"""Control: flash that answers a few requests late."""

from iowhy.lab.scenario import Scenario, Variant
from iowhy.lab.scenarios._work import FLASH_IS_FINE, MOVE, read_directly

SCENARIO = Scenario(
    name="late-answers",
    title="dd reads from flash that takes 200 ms longer for one request in a hundred",
    variants=(
        Variant(
            "late",
            "one in a hundred",
            lambda s: read_directly(s, "--late-share=0.01"),
            ("device-slow",),
        ),
        Variant("in-time", "none", read_directly, FLASH_IS_FINE),
    ),
    devices=("ssd",),
    filesystems=("ext4", "xfs"),
    remedy=MOVE,
    share_is_gain=False,
    tools=("dd",),
)
