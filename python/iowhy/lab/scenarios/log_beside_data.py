"""A log that is synced for each record while the same job writes data in bulk: to the same disk, and to another."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: The log has its blocks already, so that no commit of the journal has to write the data (data=ordered).
_JOB = """
while :; do dd if=/dev/zero of="$1" bs=1M count=48 conv=fsync,notrunc; sleep 0.2; done & pid=$!
dd if=/dev/zero of="$0" bs=4k count="$2" oflag=dsync conv=notrunc
kill $pid
wait
"""


def _log(stage: Stage, *, same: bool) -> Plan:
    own = stage.filesystem(stage.disk(512))
    data = own if same else stage.filesystem(stage.disk(512))
    count = stage.choice.count(120)
    log, bulk = own.path / "log", data.path / "data"
    log.write_bytes(bytes(count * 4096))
    bulk.write_bytes(bytes(48 << 20))
    own.sync()
    data.sync()
    return Plan(("sh", "-c", _JOB, str(log), str(bulk), str(count)))


SCENARIO = Scenario(
    name="log-beside-data",
    title="a log whose records are synced, while the same job writes 48 MiB of data again and again",
    variants=(
        Variant(
            "same-disk",
            "log and data on one disk",
            lambda s: _log(s, same=True),
            ("syncs-behind-writes",),
            also=("device-saturated",),
        ),
        Variant(
            "own-disk",
            "a disk for each",
            lambda s: _log(s, same=False),
            (*FINE, "sync-storm", "flush-cost"),
        ),
    ),
    devices=("hdd",),
    remedy=("syncs-behind-writes.apart", "syncs-behind-writes.apart-any"),
    tools=("dd", "sh"),
)
