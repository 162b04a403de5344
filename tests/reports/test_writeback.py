"""Writeback, throttled writers and the journal."""

import pytest

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, S, filesystem, wait


def test_writeback(make: Make) -> None:
    def one(at: int, ino: int, pages: int, reason: str = "background") -> dict[str, object]:
        row = {"ts_ns": T0 + at, "dev": 1, "ino": ino, "reason": reason, "pages_written": pages}
        return row | {"tgid": 5, "tid": 5, "dur_ns": 10}

    rec = make(
        {
            "filesystems": [filesystem()],
            "writeback": [one(i, i % 4, 16) for i in range(9)] + [one(20, 0, 1000, "fsync")],
        }
    )
    rows = {r["reason"]: r for r in run(rec, "writeback").to_pylist()}
    row = rows["background"]
    assert (row["filesystem"], row["passes"], row["inodes"], row["pages"]) == ("/srv", 9, 4, 144)
    assert (row["pages_per_pass"], row["small_share"], row["hop_share"]) == (16, 1, 1)
    assert rows["fsync"]["small_share"] == 0
    assert rows["fsync"]["hop_share"] == 0  # the pass before was over the same inode
    assert row["mean_age_ns"] is None


def test_throttle_and_journal(make: Make) -> None:
    pause = {"tgid": 10, "tid": 10, "dirty_pages": 90, "limit_pages": 100}
    commit = {"dev": 1, "kind": "jbd2", "handles": 4, "blocks": 8}
    rec = make(
        {
            "filesystems": [filesystem()],
            "threads": [{"tid": 10, "tgid": 10, "comm": "writer", "start_ns": T0}],
            "dirty_throttle": [
                pause | {"ts_ns": T0 + S // 2, "pause_ns": 10 * MS},
                pause | {"ts_ns": T0 + S, "pause_ns": 30 * MS, "limit_pages": 90},
            ],
            "waits": [wait(0, 44 * MS, "dirty_throttle"), wait(50 * MS, MS, "page_read")],
            "journal_commits": [
                commit | {"ts_ns": T0, "dur_ns": 100 * MS, "logging_ns": 10},
                commit | {"ts_ns": T0 + S, "dur_ns": 300 * MS, "logging_ns": 30, "blocks": 4},
            ],
        },
        end_s=2,
    )
    (row,) = run(rec, "throttle").to_pylist()
    assert (row["comm"], row["pauses"], row["paused_ns"]) == ("writer", 2, 40 * MS)
    assert (row["waited_ns"], row["max_pause_ns"]) == (44 * MS, 30 * MS)
    assert row["dirty_share"] == pytest.approx(0.95)
    assert (row["first_s"], row["last_s"]) == (0.5, 1)
    (row,) = run(rec, "journal").to_pylist()
    assert (row["filesystem"], row["commits"], row["commits_per_s"], row["mean_ns"]) == (
        "/srv",
        2,
        1,
        200 * MS,
    )
    assert row["busy_share"] == pytest.approx(0.2)
    assert (row["logging_ns"], row["locked_ns"]) == (20, None)
    assert (row["blocks"], row["blocks_per_commit"], row["handles_per_commit"]) == (12, 6, 4)
