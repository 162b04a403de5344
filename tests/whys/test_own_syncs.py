"""A setting of a program is about what that program itself syncs."""

from pathlib import Path

from iowhy.whys.facts import Facts
from iowhy.whys.program import at_work, remedies

from .conftest import Judge, leads
from .made import KIB, MS, Story


def test_not_the_syncs_of_plain_files_beside_a_database(judged: Judge) -> None:
    """It has a database too, of which hardly any sync is."""
    story = Story(4.0)
    inodes = [202, *range(300, 350)]
    story.caller("fsync", 200, blocked=15 * MS, reason="device_flush", bytes_=None, ino=inodes)
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 4 * MS)
    story.file(201, "/usr/lib/libsqlite3.so.0.8.6").file(202, "/srv/x.db-journal")
    for number in range(300, 350):
        story.file(number, f"/srv/out{number}")
    remedies = leads(judged(story), "sync-storm", 0.7).remedies
    assert not any("SQLite" in one for one in remedies)


def _synced_by(folder: Path, tid: int, *files: str) -> str:
    """What is told of a Java program (process 11) that works beside who syncs, or syncs itself."""
    story = Story(2.0).caller("fsync", 100, tid=tid, blocked=15 * MS, bytes_=None, gap_share=0.1)
    story.thread(21 - tid, 21 - tid, user=0.9).file(900, "/usr/bin/java")
    for row in (*story.tables["threads"], *story.tables["thread_time"]):
        row["tgid"] = row["tid"]
    for row in story.tables["threads"]:
        row["comm"] = "java" if row["tid"] == 11 else "dd"
    for number, path in enumerate(files, 901):
        story.file(number, path)
    with Facts(story.made(folder)) as facts:
        found = remedies(facts, at_work(facts), "sync-storm", of_syncs=True)
    return " ".join(one.named for one in found)


def test_of_several_programs_each_is_told_of_its_own_syncs(tmp_path: Path) -> None:
    assert "FileChannel" in _synced_by(tmp_path / "own", 11)
    assert "FileChannel" not in _synced_by(tmp_path / "others", 10)


def test_who_uses_a_java_database_is_told_of_transactions(tmp_path: Path) -> None:
    told = _synced_by(tmp_path / "x", 11, "/srv/app.mv.db", "/usr/lib/jvm/lib/server/libjvm.so")
    assert "setAutoCommit" in told and "FileChannel" not in told
