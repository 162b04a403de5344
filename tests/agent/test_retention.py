"""What is kept is whole, and within its bounds."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from iowhy.agent import retention
from iowhy.recordings.manifest import Clock, Host, Manifest

DAY_NS = 86400 * 10**9
AT = datetime(2026, 11, 23, 10, 15, tzinfo=UTC)


def kept(root: Path, day: int, name: str, kib: int = 8) -> Path:
    path = root / f"date=2026-11-{day:02}" / "host=db-1" / f"{name}.iowhy"
    path.mkdir(parents=True)
    (path / "manifest.json").write_bytes(bytes(kib * 1024))
    return path


def now_s(root: Path) -> float:
    return max(one.written_s for one in retention.kept(root))


def test_the_oldest_go_first_until_the_others_fit(tmp_path: Path) -> None:
    paths = [
        kept(tmp_path, 9, "101500-agent"),
        kept(tmp_path, 10, "000000-agent"),
        kept(tmp_path, 10, "100000-agent"),
    ]
    each = retention.kept(tmp_path)[0].bytes
    assert retention.prune(tmp_path, each * 3, DAY_NS, now_s(tmp_path)) == []
    assert retention.prune(tmp_path, each * 2, DAY_NS, now_s(tmp_path)) == paths[:1]
    # The day's folder went with the last of it, and nothing else is left of it.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["date=2026-11-10"]


def test_what_is_being_made_counts_and_stays(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    made = retention.begin(tmp_path, "trigger-a")
    made.mkdir()
    (made / "a").write_bytes(bytes(64 * 1024))
    each = retention.kept(tmp_path)[0].bytes
    assert retention.prune(tmp_path, each + 1024, DAY_NS, now_s(tmp_path)) == [path]
    assert made.exists()


def test_what_is_whole_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A week of hours is thousands of files; one that is written to again is measured again."""
    paths = [kept(tmp_path, 9, f"{hour:02}0000-agent") for hour in range(5)]
    asked: list[Path] = []
    size = retention._size
    monkeypatch.setattr(retention, "_size", lambda path: asked.append(path) or size(path))
    known: dict[Path, retention.Kept] = {}
    first = retention.kept(tmp_path, known)
    assert sorted(asked) == paths and [one.path for one in first] == paths
    asked.clear()
    assert [one.bytes for one in retention.kept(tmp_path, known)] == [one.bytes for one in first]
    now = first[0].written_s
    assert retention.prune(tmp_path, 1 << 40, DAY_NS, now, known=known) == []
    assert set(asked).isdisjoint(paths)
    asked.clear()
    (paths[0] / "more").write_bytes(bytes(1 << 16))
    (paths[1] / "manifest.json").unlink()
    paths[1].rmdir()
    again = {one.path: one.bytes for one in retention.kept(tmp_path, known)}
    assert asked == [paths[0]] and again[paths[0]] > first[0].bytes
    assert known.keys() == again.keys() == {*paths} - {paths[1]}


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    path = kept(tmp_path, 9, "101500-agent")
    now = now_s(tmp_path)
    assert retention.prune(tmp_path, 1 << 40, DAY_NS, now + 86300) == []
    assert retention.prune(tmp_path, 1 << 40, DAY_NS, now + 86500) == [path]


def made(
    root: Path, what: str, host: str, wall_ns: int | None = int(AT.timestamp()) * 10**9
) -> Path:
    path = retention.begin(root, what)
    path.mkdir()
    manifest = Manifest(host=Host(name=host), clock=Clock(0, wall_ns))
    (path / "manifest.json").write_text(manifest.as_json())
    return path


def test_what_a_killed_agent_left_is_moved_to_its_place(tmp_path: Path) -> None:
    assert made(tmp_path, "agent", "a/b").name == "agent.1.iowhy"
    made(tmp_path, "trigger-disk-2", "../..", None)
    retention.begin(tmp_path, "agent").mkdir()
    (tmp_path / retention.GONE / "x").mkdir(parents=True)
    first, second = retention.recover(tmp_path)
    assert first == tmp_path / "date=2026-11-23/host=a-b/101500-agent.iowhy"
    # What has no time of its own has that of the file system.
    assert second.parent.name == "host=-.." and second.name.endswith("-trigger-disk-2.iowhy")
    assert (
        not any((tmp_path / retention.OPEN).iterdir()) and not (tmp_path / retention.GONE).exists()
    )


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    closed = [retention.close(tmp_path, made(tmp_path, "agent", "a")).name for _ in range(2)]
    assert closed == ["101500-agent.iowhy", "101500-agent-2.iowhy"]


@pytest.mark.parametrize("wall_ns", [-(2**63), 2**63 - 1])
def test_a_clock_that_is_anywhere_gives_a_name(tmp_path: Path, wall_ns: int) -> None:
    path = retention.close(tmp_path, made(tmp_path, "agent", "a", wall_ns))
    assert path.exists() and retention.kept(tmp_path)[0].path == path


def test_who_still_writes_is_waited_for(tmp_path: Path) -> None:
    with retention.writing(tmp_path, 0) as held:
        assert held is not None
        writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[held])
    with writer:
        # Who started it is gone; it goes on.
        with retention.writing(tmp_path, 0) as held:
            assert held is None
        writer.communicate()
    with retention.writing(tmp_path, 0) as held:
        assert held is not None
