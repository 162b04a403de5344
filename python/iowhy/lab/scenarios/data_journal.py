"""An ext4 that writes data to its journal first (data=journal): all of them are written twice."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_MIB = 160


def _copy(stage: Stage, mode: str) -> Plan:
    filesystem = stage.scratch_filesystem(1024, options=(f"data={mode}",))
    size = stage.choice.size(_MIB)
    argv = ("dd", "if=/dev/zero", f"of={filesystem.path / 'copy'}", "bs=1M", f"count={size >> 20}", "conv=fsync", "status=none")  # fmt: skip
    return Plan(argv)


SCENARIOS = (
    Scenario(
        name="data-journal",
        title="dd writes a large file on an ext4 that journals data",
        variants=(
            Variant("journal", "data=journal", lambda s: _copy(s, "journal"), ("data-journaled",)),
            Variant(
                "ordered",
                "data=ordered",
                lambda s: _copy(s, "ordered"),
                ("device-saturated", *FINE),
            ),
        ),
        devices=("hdd",),
        remedy=(
            "data-journaled.ordered",
            "data-journaled.ordered-any",
        ),
        filesystems=("ext4",),
        tools=("dd",),
    ),
)
