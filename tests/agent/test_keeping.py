"""What is kept is whole, and within its bounds."""

from datetime import UTC, datetime
from pathlib import Path

from iowhy.agent import keeping

DAY_NS = 86400 * 10**9
AT = datetime(2026, 11, 23, 10, 15, tzinfo=UTC)


def kept(root: Path, day: int, name: str, kib: int = 8) -> Path:
    path = root / f"date=2026-11-{day:02}" / "host=db-1" / f"{name}.iowhy"
    path.mkdir(parents=True)
    (path / "manifest.json").write_bytes(bytes(kib * 1024))
    return path


def now_s(root: Path) -> float:
    return max(one.written_s for one in keeping.kept(root))


def test_the_oldest_go_first_until_the_others_fit(tmp_path: Path) -> None:
    paths = [
        kept(tmp_path, 9, "101500-agent"),
        kept(tmp_path, 10, "000000-agent"),
        kept(tmp_path, 10, "100000-agent"),
    ]
    each = keeping.kept(tmp_path)[0].bytes
    assert keeping.prune(tmp_path, each * 3, DAY_NS, now_s(tmp_path)) == []
    assert keeping.prune(tmp_path, each * 2, DAY_NS, now_s(tmp_path)) == paths[:1]
    # The day's folder went with the last of it, and nothing else is left of it.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["date=2026-11-10"]


def test_what_is_being_made_counts_and_stays(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    made = keeping.begin(tmp_path, "db-1", "trigger-a", AT)
    made.mkdir()
    (made / "a").write_bytes(bytes(64 * 1024))
    each = keeping.kept(tmp_path)[0].bytes
    assert keeping.prune(tmp_path, each + 1024, DAY_NS, now_s(tmp_path)) == [path]
    assert made.exists()


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    now = now_s(tmp_path)
    assert keeping.prune(tmp_path, 1 << 40, DAY_NS, now + 86300) == []
    assert keeping.prune(tmp_path, 1 << 40, DAY_NS, now + 86500) == [path]


def test_what_a_killed_agent_left_is_moved_to_its_place(tmp_path: Path) -> None:
    made = keeping.begin(tmp_path, "a/b", "agent", AT)
    assert made.name == "2026-11-23_a-b_101500-agent.iowhy"
    made.mkdir()
    (made / "manifest.json").write_text("{}")
    empty = keeping.begin(tmp_path, "a", "agent", AT)
    empty.mkdir()
    (tmp_path / keeping.GONE / "x").mkdir(parents=True)
    (moved,) = keeping.recover(tmp_path)
    assert moved == tmp_path / "date=2026-11-23/host=a-b/101500-agent.iowhy"
    assert not any((tmp_path / keeping.OPEN).iterdir()) and not (tmp_path / keeping.GONE).exists()


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    closed = []
    for _ in range(2):
        made = keeping.begin(tmp_path, "a", "agent", AT)
        made.mkdir()
        closed.append(keeping.close(tmp_path, made).name)
    assert closed == ["101500-agent.iowhy", "101500-agent-2.iowhy"]
