"""SQLite with the journal that it uses by default: each row in a transaction, against all in one."""

from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage


def _rows(stage: Stage, *, together: bool) -> Plan:
    filesystem = stage.scratch_filesystem(512)
    script = stage.folder / "rows.sql"
    script.write_text(
        ("BEGIN;\n" if together else "")
        + "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);\n"
        + "".join(
            f"INSERT INTO item VALUES({number}, 'item {stage.choice.seed}');\n"
            for number in range(stage.choice.count(60))
        )
        + ("COMMIT;\n" if together else "")
    )
    return Plan(("sqlite3", "-bail", str(filesystem.path / "items.db"), f".read {script}"))


SCENARIO = Scenario(
    name="sqlite-journal",
    title="SQLite inserts rows, each in its own transaction, with a rollback journal",
    variants=(
        Variant(
            "rollback",
            "journal_mode=DELETE",
            lambda s: _rows(s, together=False),
            ("sync-storm", "flush-cost"),
        ),
        Variant(
            "one-transaction",
            "BEGIN; … COMMIT; around all rows",
            lambda s: _rows(s, together=True),
            (*FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=("sqlite.batch-changes",),
    tools=("sqlite3",),
)
