"""RocksDB by a program of somebody else: writes that are durable each, and not."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _fill(stage: Stage, *starts_it: str) -> Plan:
    folder = stage.scratch_filesystem(512).path / "db"
    count = stage.choice.count(250)
    return Plan(
        (*starts_it, "db_bench", "--benchmarks=fillrandom", f"--db={folder}", f"--num={count}", "--sync=1",
         "--compression_type=none", f"--seed={stage.choice.seed}")
    )  # fmt: skip


SCENARIO = Scenario(
    name="rocksdb-sync",
    title="RocksDB with WriteOptions.sync",
    variants=(
        Variant("sync", "sync=true", _fill, ("flush-cost", "sync-storm")),
        Variant(
            "eatmydata",
            "nothing is made durable",
            lambda s: _fill(s, "eatmydata"),
            (*FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    # Who types this command decides on no WriteOptions.
    remedy=("shared.without-syncs",),
    tools=("db_bench", "eatmydata"),
)
