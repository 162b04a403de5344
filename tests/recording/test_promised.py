"""The rows that a manifest counts against those that the files have."""

import pytest
from msgspec.structs import replace

from iowhy.recordings.manifest import Kept, Manifest
from iowhy.recordings.row_counts import Mismatch, mismatches

COUNTED = replace(Manifest.made(), tables={"waits": Kept(10), "syscalls": Kept(0)})


@pytest.mark.parametrize(
    ("rows", "complete", "expected"),
    [
        ({"waits": 10}, True, []),
        ({}, True, [("waits", 10, 0, 1.0)]),
        ({"waits": 9}, True, [("waits", 10, 9, 0.1)]),
        ({"waits": 20}, True, [("waits", 10, 20, 0.5)]),
        ({"waits": 10, "syscalls": 3}, True, [("syscalls", 0, 3, 1.0)]),
        ({"waits": 10, "files": 3}, True, [("files", 0, 3, 1.0)]),
        # It grows: rows came since.
        ({"waits": 20, "files": 3}, False, []),
        ({"waits": 9}, False, [("waits", 10, 9, 0.1)]),
    ],
)
def test_rows(
    rows: dict[str, int], complete: bool, expected: list[tuple[str, int, int, float]]
) -> None:
    found = mismatches(replace(COUNTED, complete=complete), rows)
    assert [(one.table, one.counted, one.found, one.share) for one in found] == expected


def test_a_manifest_without_counts_promises_nothing() -> None:
    assert mismatches(Manifest.made(), {"waits": 3}) == ()


def test_only_of_tables_that_were_looked_at() -> None:
    assert mismatches(COUNTED, {}, ("syscalls",)) == ()
    assert mismatches(COUNTED, {}, ("waits",)) == (Mismatch("waits", 10, 0),)


def test_no_number_of_a_manifest_divides_by_zero() -> None:
    assert [one.found for one in mismatches(replace(COUNTED, tables={"waits": Kept(-5)}), {})] == [
        0
    ]
