"""Statements of SQLite by probes: as many, and with the calls, that the program itself counts."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.reports import run as report
from machine import record

pytestmark = pytest.mark.usefixtures("live")

WORK = """
import json, os, sqlite3, sys
folder = sys.argv[1]
log = {}
db = sqlite3.connect(f"{folder}/a.db", isolation_level=None)
def run(text, *values):
    log[text] = log.get(text, 0) + 1
    return db.execute(text, values).fetchall()
run("PRAGMA synchronous = FULL")
run("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
for n in range(40):
    run("INSERT INTO item(name) VALUES (?)", f"secret {n}")
run("BEGIN")
for n in range(300):
    run("UPDATE item SET name = ? WHERE id = ?", "x", n % 40)
run("COMMIT")
for n in range(200):
    run("SELECT count(*), name FROM item GROUP BY name HAVING id > ?", n)
for row in db.execute("SELECT id FROM item ORDER BY id"):
    os.stat(folder)
log["SELECT id FROM item ORDER BY id"] = 1
db.execute("SELECT name FROM item WHERE name = 'literal'").fetchone()
log["SELECT name FROM item WHERE name = ?"] = 1
db.close()
json.dump(log, open(f"{folder}/log", "w"))
"""


#: A package brings its own library, next to the program that loads it: as SQLite's own for Python does.
PACKAGE = """
import ctypes, sys
lite = ctypes.CDLL(sys.argv[1])
db = ctypes.c_void_p()
assert not lite.sqlite3_open(sys.argv[2].encode(), ctypes.byref(db))
for text in ["CREATE TABLE a(b)"] + ["INSERT INTO a VALUES (7)"] * 5:
    assert not lite.sqlite3_exec(db, text.encode(), None, None, None)
"""


def test_a_package_s_library_is_probed_before_its_first_statement(tmp_path: Path) -> None:
    """A moment after it is opened it is used; it is in a folder of the program's."""
    system = next(Path("/usr/lib").glob("*-linux-gnu/libsqlite3.so.0"), None)
    if system is None:
        pytest.skip("the system has no library of SQLite")
    package = tmp_path / "app/node_modules/fast-sqlite/build/Release"
    package.mkdir(parents=True)
    library = package / "fast_sqlite.node"
    shutil.copy(system, library)
    (tmp_path / "app/a.py").write_text(PACKAGE)
    out = tmp_path / "r.iowhy"
    command = [sys.executable, "-I", "-S", tmp_path / "app/a.py", library, tmp_path / "a.db"]
    record(command, out, "--statements")
    made = open_recording(out)
    runs = {row["statement"]: row["runs"] for row in report(made, "statements").to_pylist()}
    assert runs["CREATE TABLE a(b)"] == 1 and runs["INSERT INTO a VALUES (?)"] == 5
    assert not made.manifest.notes


def test_each_statement_of_sqlite_is_counted_with_its_calls(tmp_path: Path) -> None:
    out = tmp_path / "r.iowhy"
    (tmp_path / "app.py").write_text(WORK)
    record([sys.executable, "-I", "-S", tmp_path / "app.py", tmp_path], out, "--statements")
    log = json.loads((tmp_path / "log").read_text())
    made = open_recording(out)
    rows = {row["statement"]: row for row in report(made, "statements").to_pylist()}
    # A number is a literal in a PRAGMA too; what Python asks itself is not in the log.
    counted = {text: rows[text]["runs"] for text in log if text in rows}
    assert counted == log
    assert all(rows[text]["exact_share"] == 1.0 for text in log)
    # Each transaction syncs its own: 40 inserts, one commit of 300 updates; selects from memory sync nothing.
    assert (
        rows["COMMIT"]["syncs"] > 0 and rows["UPDATE item SET name = ? WHERE id = ?"]["syncs"] == 0
    )
    insert = rows["INSERT INTO item(name) VALUES (?)"]
    assert insert["syncs"] == 40 * rows["COMMIT"]["syncs"] and insert["calls"] > insert["syncs"]
    # What the program calls itself between two rows is not the statement's.
    syncs = sum(row["syncs"] or 0 for row in rows.values())
    (all_syncs,) = [
        row for row in report(made, "syscalls").to_pylist() if row["name"] == "fdatasync"
    ]
    assert syncs == all_syncs["calls"]
    kept = b"".join(one.read_bytes() for one in out.rglob("*") if one.is_file())
    assert b"literal" not in kept
