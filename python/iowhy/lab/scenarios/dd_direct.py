"""dd past the page cache, in small blocks and in large ones."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage


def _read(stage: Stage, block: str) -> Plan:
    path = stage.scratch_filesystem(512).path / "data"
    make_file(path, stage.choice.size(48), stage.choice.seed)
    return Plan(("dd", f"if={path}", "of=/dev/null", f"bs={block}", "iflag=direct", "status=none"))


SCENARIO = Scenario(
    name="dd-direct",
    title="dd reads with O_DIRECT in blocks of 4 KiB",
    variants=(
        Variant("small", "4 KiB", lambda s: _read(s, "4K"), ("small-requests",)),
        Variant(
            "large", "4 MiB", lambda s: _read(s, "4M"), ("device-saturated", *FINE, "queue-shallow")
        ),
    ),
    devices=("ssd",),
    remedy=("dd.larger-blocks",),
    tools=("dd",),
)
