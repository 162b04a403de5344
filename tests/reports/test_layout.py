"""Where files lie on the device, and what allocated them."""

import pytest

from iowhy.relations import Relations
from iowhy.reports import run
from tests.reports.conftest import KIB, T0, Make, file, filesystem


def extent(logical: int, physical: int | None, size: int, **more: object) -> dict[str, object]:
    """Sizes in KiB."""
    place = None if physical is None else physical * KIB
    row = {"phase": "after", "dev": 1, "ino": 2, "logical_bytes": logical * KIB}
    return row | {"physical_bytes": place, "bytes": size * KIB, "flags": []} | more


@pytest.mark.parametrize(
    ("extents", "runs", "sequentiality"),
    [
        ([extent(0, 1000, 64)], 1, 1.0),
        ([extent(0, 1000, 4)], 1, 1.0),  # one block has no neighbours to be apart from
        ([extent(0, 1000, 64), extent(64, 1064, 64)], 1, 1.0),  # split, yet contiguous
        ([extent(0, 1000, 64), extent(64, 5000, 64)], 2, 30 / 31),
        ([extent(0, 1000, 64), extent(128, 1128, 64)], 1, 1.0),  # a hole, its place kept
        ([extent(0, 1000, 64), extent(128, 1064, 64)], 1, 1.0),  # a hole, packed
        ([extent(0, 1000, 64), extent(128, 1100, 64)], 2, 30 / 31),
        ([extent(0, None, 1, flags=["inline"])], 1, None),
        ([extent(0, 1000, 64), extent(64, None, 64, flags=["delalloc"])], 2, 1.0),
        ([extent(i * 4, 100_000 - i * 8, 4) for i in range(100)], 100, 0.0),
        ([extent(0, 9000, 4), extent(4, 1000, 4), extent(8, 1004, 8)], 2, 2 / 3),
    ],
)
def test_layout(
    make: Make, extents: list[dict[str, object]], runs: int, sequentiality: float | None
) -> None:
    rec = make({"extents": extents[::-1], "filesystems": [filesystem()], "files": [file(2, "/a")]})
    (row,) = run(rec, "layout").to_pylist()
    assert (row["path"], row["extents"], row["mapped_extents"]) == ("/a", runs, len(extents))
    assert row["sequentiality"] == (None if sequentiality is None else pytest.approx(sequentiality))
    (cost,) = run(rec, "files").to_pylist()
    assert cost["extents_after"] == runs


def test_layout_before_after_and_by_whom(make: Make) -> None:
    def made_by(tid: int, at: int) -> dict[str, object]:
        return {
            "ts_ns": T0 + at,
            "tgid": 10,
            "tid": tid,
            "dev": 1,
            "ino": 2,
            "logical_block": at,
            "blocks": 2,
        }

    rec = make(
        {
            "extents": [
                extent(0, 1000, 100, phase="before"),
                extent(0, 1000, 8, flags=["unwritten"]),
                extent(8, 2000, 16, flags=["shared"]),
                extent(24, 3000, 24),
            ],
            "allocations": [made_by(t, i) for i, t in enumerate([1, 2, 1, 1, 2])],
            "filesystems": [filesystem()],
        }
    )
    before, after = run(rec, "layout").to_pylist()
    assert (before["phase"], before["extents"], before["allocations"]) == ("before", 1, None)
    assert (after["phase"], after["extents"]) == ("after", 3)
    assert (after["median_extent_bytes"], after["largest_extent_bytes"]) == (16 * KIB, 24 * KIB)
    assert (after["unwritten_bytes"], after["shared_bytes"]) == (8 * KIB, 16 * KIB)
    assert (after["allocations"], after["allocating_threads"]) == (5, 2)
    assert after["allocated_bytes"] == 5 * 2 * 4096
    assert after["interleaved_share"] == 0.75


def test_layout_of_a_file_that_was_only_allocated(make: Make) -> None:
    made = {"ts_ns": T0, "dev": 1, "ino": 2, "blocks": 2}
    (row,) = run(make({"allocations": [made]}), "layout").to_pylist()
    assert (row["phase"], row["allocations"]) == ("after", 1)
    unknown = ("extents", "sequentiality", "bytes", "allocated_bytes", "interleaved_share", "path")
    assert [row[name] for name in unknown] == [None] * 6


def test_of_each_file_the_last_that_was_read_is_the_latest(make: Make) -> None:
    """Files 2 to 6: before and after; before alone; before, and allocated then; allocated alone; after alone."""
    allocated = {"ts_ns": T0, "dev": 1, "blocks": 2}
    rec = make(
        {
            "extents": [
                extent(0, 1000, 8, phase="before"),
                extent(0, None, 8),
                extent(8, 2000, 8),
                extent(0, 3000, 8, ino=3, phase="before"),
                extent(0, 4000, 8, ino=4, phase="before"),
                extent(0, 5000, 8, ino=6),
                extent(8, 6000, 8, ino=6),
            ],
            "allocations": [allocated | {"ino": 4}, allocated | {"ino": 5}],
        }
    )
    with Relations(rec) as opened:
        rows = opened.rows(
            "SELECT ino, phase, latest, extents, mean_extent_bytes, allocations FROM file_layout ORDER BY ino, phase DESC"
        )
    assert rows == [
        (2, "before", False, 1, 8 * KIB, None),
        (2, "after", True, 2, 8 * KIB, None),
        (3, "before", True, 1, 8 * KIB, None),
        (4, "before", True, 1, 8 * KIB, 1),
        (4, "after", False, None, None, 1),
        (5, "after", False, None, None, 1),
        (6, "after", True, 2, 8 * KIB, None),
    ]
