"""SQLite with the journal that it uses by default, against its write-ahead log."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _rows(stage: Stage, *pragmas: str) -> Plan:
    filesystem = stage.scratch_filesystem(512)
    script = stage.folder / "rows.sql"
    script.write_text(
        "".join(f"PRAGMA {pragma};\n" for pragma in pragmas)
        + "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);\n"
        + "".join(
            f"INSERT INTO item VALUES({number}, 'item {stage.choice.seed}');\n"
            for number in range(stage.choice.count(60))
        )
    )
    return Plan(("sqlite3", "-bail", str(filesystem.path / "items.db"), f".read {script}"))


SCENARIO = Scenario(
    name="sqlite-journal",
    title="SQLite inserts rows, each in its own transaction, with a rollback journal",
    variants=(
        Variant(
            "rollback", "journal_mode=DELETE", lambda s: _rows(s), ("sync-storm", "flush-cost")
        ),
        Variant(
            "wal",
            "journal_mode=WAL, synchronous=NORMAL",
            lambda s: _rows(s, "journal_mode=WAL", "synchronous=NORMAL"),
            (*FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=r"journal_mode=WAL; PRAGMA synchronous=NORMAL",
    tools=("sqlite3",),
)
