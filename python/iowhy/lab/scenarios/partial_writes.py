"""Records smaller than a block are written over a file that no cache knows, by dd."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MIB = 4


def _overwrite(stage: Stage, bytes_: int) -> Plan:
    path = stage.scratch_filesystem(256).path / "records"
    size = stage.choice.size(_MIB)
    path.write_bytes(bytes(size))
    argv = ("dd", "if=/dev/zero", f"of={path}", f"bs={bytes_}", f"count={size // bytes_}", "conv=notrunc", "status=none")  # fmt: skip
    return Plan(argv, cold=True)


SCENARIOS = (
    Scenario(
        name="partial-writes",
        title="dd writes over an old file, 512 bytes at a time",
        variants=(
            Variant(
                "part",
                "512 B",
                lambda s: _overwrite(s, 512),
                ("partial-writes",),
                also=("small-requests",),
            ),
            Variant("whole", "4 KiB", lambda s: _overwrite(s, 4096), FINE),
        ),
        devices=("hdd",),
        remedy=("dd.larger-blocks",),
        tools=("dd",),
    ),
)
