"""Case 3: one-row SQLite transactions, where the processor is the limit and where the device's flush is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iowhy.lab import shell
from iowhy.lab.scenario import CPU, FINE, Figure, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

_DISK_MIB = 512


def _script(path: Path, transactions: int, per_transaction: int, seed: int) -> None:
    """Inserts, updates and deletes of one row each, `per_transaction` of them in a transaction."""
    lines = [
        "PRAGMA journal_mode=WAL;",
        "PRAGMA synchronous=FULL;",
        "PRAGMA wal_autocheckpoint=1000;",
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER);",
    ]
    third = transactions // 3
    for number in range(transactions):
        key = number % third if third else number
        statement = (
            f"INSERT INTO item VALUES({key}, 'item {seed} {key}', {number});"
            if number < third or not third
            else f"UPDATE item SET amount = amount + {seed} WHERE id = {key};"
            if number < 2 * third
            else f"DELETE FROM item WHERE id = {key};"
        )
        if per_transaction > 1 and number % per_transaction == 0:
            lines.append("BEGIN;")
        lines.append(statement)
        if per_transaction > 1 and (
            number % per_transaction == per_transaction - 1 or number == transactions - 1
        ):
            lines.append("COMMIT;")
    path.write_text("\n".join(lines) + "\n")


def _run(stage: Stage, transactions: int, per_transaction: int) -> Plan:
    shell.need("sqlite3")
    filesystem = stage.scratch_filesystem(_DISK_MIB)
    count = stage.choice.count(transactions) // 3 * 3 or 3
    script = stage.folder / "script.sql"
    _script(script, count, per_transaction, stage.choice.seed)
    return Plan(
        ("sqlite3", "-bail", str(filesystem.path / "items.db"), f".read {script}"),
        printed=lambda _text: {"statements": count},
    )


def _transactions(stage: Stage) -> int:
    """Enough for a second or more on the device."""
    return {"memory": 30_000, "zram": 60_000, "file": 6_000, "ssd": 600}.get(
        stage.choice.device, 150
    )


def _rate(printed: Mapping[str, Any]) -> float | None:
    return float(printed["statements"] / printed["elapsed_s"])


SCENARIOS = (
    Scenario(
        name="sqlite-cpu",
        title="one-row transactions on a device that costs nothing but processor time",
        case=3,
        variants=(
            Variant(
                "one-row",
                "a transaction for each row",
                lambda s: _run(s, 120_000, 1),
                CPU,
                # A loop device's work is done by a thread of the kernel, which the caller waits for.
                {"memory": ("sync-storm",)},
            ),
            Variant(
                "batched",
                "100 rows in a transaction",
                lambda s: _run(s, 120_000, 100),
                FINE,
                {"memory": ("sync-storm",)},
            ),
        ),
        devices=("zram", "memory"),
        filesystems=("ext4", "xfs"),
        chain=("syncs-look-long", "syncs-compute"),
        figures=(Figure("statements", "/s", 849, None, _rate),),
        # More processor would be the fix; batching only takes work away from it.
        share_is_gain=False,
        remedy=("sqlite.batch-changes",),
        tools=("sqlite3",),
    ),
    Scenario(
        name="sqlite-flush",
        title="one-row transactions on a disk with a volatile write cache",
        case=3,
        variants=(
            Variant(
                "one-row",
                "a transaction for each row",
                lambda s: _run(s, _transactions(s), 1),
                ("sync-storm", "flush-cost"),
                {"zram": CPU, "memory": CPU},
            ),
            Variant(
                "batched",
                "50 rows in a transaction",
                lambda s: _run(s, _transactions(s), 50),
                ("sync-storm", "flush-cost", "healthy", "device-slow", "not-io"),
                dict.fromkeys(("ssd", "file", "zram", "memory"), CPU),
            ),
        ),
        devices=("hdd", "flush-slow", "ssd", "file", "memory", "zram"),
        filesystems=("ext4", "xfs"),
        chain=("cost-of-calls", "flushes"),
        figures=(Figure("statements", "/s", None, None, _rate),),
        remedy=("sqlite.batch-changes",),
        tools=("sqlite3",),
    ),
)
