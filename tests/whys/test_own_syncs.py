"""A setting of a program is about what that program itself syncs."""

from pathlib import Path

import pytest

from iowhy.whys.facts import Facts
from iowhy.whys.facts.synced import Own, share_of_syncs
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


def synced_by(
    name: str, tid: int, *files: str, argv: tuple[str, ...] = ("made",), of: int | None = None
) -> Story:
    """A program (process 11) that works beside who syncs, or syncs itself."""
    story = Story(2.0, argv=argv).caller(
        "fsync", 100, tid=tid, blocked=15 * MS, bytes_=None, gap_share=0.1, ino=of
    )
    story.thread(21 - tid, 21 - tid, user=0.9).file(900, f"/usr/bin/{name}")
    for row in (*story.tables["threads"], *story.tables["thread_time"]):
        row["tgid"] = row["tid"]
    for row in story.tables["threads"]:
        row["comm"] = name if row["tid"] == 11 else "made"
    for number, path in enumerate(files, 901):
        story.file(number, path)
    return story


def _told(folder: Path, story: Story) -> str:
    with Facts(story.made(folder)) as facts:
        found = remedies(facts, at_work(facts), "sync-storm", of_syncs=True)
    return " ".join(one.named for one in found)


def test_of_several_programs_each_is_told_of_its_own_syncs(tmp_path: Path) -> None:
    assert "eatmydata" in _told(tmp_path / "own", synced_by("dpkg", 11))
    assert "eatmydata" not in _told(tmp_path / "others", synced_by("dpkg", 10, "/srv/a", of=901))


def test_the_library_that_its_executable_maps_makes_nobody_elses_syncs_its_own(
    tmp_path: Path,
) -> None:
    library = "/usr/lib/libsqlite3.so.0"
    others = synced_by("sqlite3", 10, "/srv/a", library, "/srv/x.db-journal", of=901)
    assert "BEGIN" not in _told(tmp_path / "others", others)
    own = synced_by("sqlite3", 11, "/srv/a", library, "/srv/x.db-journal", of=901)
    assert "BEGIN" in _told(tmp_path / "own", own)


def test_who_uses_a_java_database_is_told_of_transactions(tmp_path: Path) -> None:
    files = ("/srv/app.mv.db", "/usr/lib/jvm/lib/server/libjvm.so")
    assert "setAutoCommit" in _told(tmp_path / "x", synced_by("java", 11, *files, of=901))
    others = synced_by("java", 10, *files, "/srv/other", of=903)
    assert "setAutoCommit" not in _told(tmp_path / "others", others)


@pytest.mark.parametrize(("where", "share"), [("/srv", 1.0), ("/home", 0.5)])
def test_the_directory_of_its_journal_is_synced_for_it(
    where: str, share: float, tmp_path: Path
) -> None:
    story = Story(2.0).file(301, "/srv/x.db-journal").file(302, where, kind="directory")
    story.caller("fsync", 100, blocked=15 * MS, bytes_=None, ino=[301, 302])
    with Facts(story.made(tmp_path / "x")) as facts:
        found = share_of_syncs(facts.relations, (), (), "", Own(files=("*-journal",)))
    assert found == pytest.approx(share, abs=0.05)
