"""Control: a reader whose control group may read little from its disk."""

from iowhy.lab.disks import MIB
from iowhy.lab.scenario import Plan, Scenario, Variant
from iowhy.lab.scenarios._work import make_file
from iowhy.lab.stage import Stage

_RATE = 20 * MIB


def _dd(stage: Stage, *, limited: bool) -> Plan:
    filesystem = stage.scratch_filesystem(1024)
    size = stage.choice.size(80)
    path = make_file(filesystem.path / "data", size, stage.choice.seed)
    prefix: tuple[str, ...] = ()
    if limited:
        number = filesystem.disk.number
        prefix = stage.limited(
            "io",
            {
                "blkio.throttle.read_bps_device": {1: f"{number} {_RATE}"},
                "io.max": {2: f"{number} rbps={_RATE}"},
            },
        )
    return Plan(
        (*prefix, "dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none")
    )


SCENARIO = Scenario(
    name="io-throttled",
    title="dd reads in a control group that is limited to 20 MiB/s",
    variants=(
        Variant("limited", "20 MiB/s", lambda s: _dd(s, limited=True), ("io-throttled",)),
        Variant("free", "no limit", lambda s: _dd(s, limited=False), ("device-saturated",)),
    ),
    devices=("hdd", "ssd"),
    remedy=(
        "group.no-io-limit",
        "io-throttled.lift-limit",
    ),
    filesystems=("ext4", "xfs"),
    tools=("dd",),
)
