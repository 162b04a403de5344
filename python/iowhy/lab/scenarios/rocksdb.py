"""RocksDB: writes that are durable each, and not."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _fill(stage: Stage, sync: int) -> Plan:
    folder = stage.scratch_filesystem(512).path / "db"
    count = stage.choice.count(250)
    return Plan(
        ("db_bench", "--benchmarks=fillrandom", f"--db={folder}", f"--num={count}", f"--sync={sync}",
         "--compression_type=none", f"--seed={stage.choice.seed}")
    )  # fmt: skip


SCENARIO = Scenario(
    name="rocksdb-sync",
    title="RocksDB with WriteOptions.sync",
    variants=(
        Variant("sync", "sync=true", lambda s: _fill(s, 1), ("flush-cost", "sync-storm")),
        Variant(
            "buffered",
            "sync=false: what was written last can be lost",
            lambda s: _fill(s, 0),
            (*FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=("rocksdb.write-without-waiting-log",),
    tools=("db_bench",),
)
