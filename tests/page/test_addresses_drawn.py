"""Addresses over time: rows are of what is used, and long stretches between are left out where most are short."""

from collections.abc import Sequence

from iowhy.recordings import Recording
from tests.page.test_recording_page import all_drawn
from tests.reports.conftest import MS, Make, request

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def drawn(recording: Recording) -> list[dict[str, int]]:
    """Cells from the lowest row on."""
    chart = all_drawn(recording)["addresses-over-time"]
    rows = [dict(zip(chart.columns, values, strict=True)) for values in chart.rows]
    return sorted(rows, key=lambda row: (row["row"], row["at_s"]))


def at(make: Make, places: Sequence[int], length: int = 64 * KIB) -> list[dict[str, int]]:
    """One request after another at each of these addresses."""
    requests = [
        request(number * MS, MS // 2, dev=80, sector=place // 512, bytes=length)
        for number, place in enumerate(places)
    ]
    return drawn(make({"block_requests": requests, "devices": [{"dev": 80, "name": "vda"}]}))


def test_a_file_far_from_the_journal_has_most_rows(make: Make) -> None:
    """64 MiB in order, 180 GiB above 1 MiB: drawn to scale they would be two rows."""
    journal, file = range(0, MIB, 64 * KIB), range(180 * GIB, 180 * GIB + 64 * MIB, 64 * KIB)
    rows = at(make, [*journal, *file])
    far = [row for row in rows if row["address_bytes"] >= 180 * GIB]
    assert len({row["row"] for row in far}) > 120
    assert {row["skipped_bytes"] for row in rows if row not in far} == {0}
    # A stretch that is left out is drawn as long as the least that is (1 MiB).
    assert {row["skipped_bytes"] for row in far} == {180 * GIB - MIB - MIB}
    assert max(row["row"] + row["rows"] for row in rows) <= 128
    assert sum(row["bytes"] for row in rows) == 65 * MIB


def test_what_lies_evenly_is_drawn_to_scale(make: Make) -> None:
    """Reads of 64 KiB all over 64 GiB: what lies between is long, and like everywhere."""
    rows = at(make, [number * 37 % 256 * 256 * MIB for number in range(256)])
    assert {row["skipped_bytes"] for row in rows} == {0}
    assert (rows[0]["row"], rows[-1]["row"]) == (0, 127)
    # Each row has the two reads of its part of the disk.
    assert all(row["address_bytes"] // (512 * MIB) == row["row"] for row in rows)


def test_what_overlaps_is_where_it_is(make: Make) -> None:
    """A short request inside a longer one, and the same place twice."""
    rows = at(make, [0, 32 * KIB, 32 * KIB, 128 * KIB], 128 * KIB)
    assert {row["skipped_bytes"] for row in rows} == {0}
    assert [row["address_bytes"] // row["row"] for row in rows if row["row"]] == [4 * KIB, 4 * KIB]
    assert sum(row["requests"] for row in rows) == 4
