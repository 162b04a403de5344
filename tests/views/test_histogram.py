"""Buckets as bars: long where many are, never empty where any is, and whole at every width."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from iowhy.relations.sql_header import Column
from iowhy.reports.batches import Rows
from iowhy.reports.drawing import Histogram
from iowhy.views import histogram

COLUMNS = [
    Column("name", "call", "text"),
    Column("low_ns", "from", "ns"),
    Column("high_ns", "to", "ns"),
    Column("calls", "calls", "count"),
    Column("p999_ns", "few", "ns"),
    Column("max_ns", "longest", "ns"),
]


def drawn(width: int, *rows: tuple[object, ...]) -> list[str]:
    names = [column.name for column in COLUMNS]
    table = Rows.of([dict(zip(names, row, strict=True)) for row in rows])
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    histogram.show(
        console, table.to_pylist(), Histogram("calls", "low_ns", "high_ns", ("name",)), COLUMNS
    )
    return out.getvalue().split("\n")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_bars_are_as_long_as_their_share_and_fit(width: int) -> None:
    rows = [("a\x1b[2J", 1024, 2048, 1000, 3000, 9000), ("a\x1b[2J", 2048, 4096, 500, 3000, 9000)]
    lines = drawn(width, *rows, ("a\x1b[2J", 8192, 16384, 1, 3000, 9000))
    assert max(map(cell_len, lines)) <= width
    assert not any("\x1b" in line for line in lines)
    assert any("1,501 calls" in line for line in lines) and any(
        "p99.9 3 µs" in line for line in lines
    )
    bars = [line.split("  ")[-1] for line in lines if " to " in line]
    assert [line for line in lines if line.strip() == "…"], "buckets in between are not passed over"
    whole = bars[0].count("█")
    assert whole == len(bars[0]) and abs(len(bars[1]) - whole / 2) <= 1
    assert bars[2] == "▏"


def test_each_of_its_own_and_unknown_has_no_bounds() -> None:
    lines = drawn(100, ("a", 1, 2, 1, None, None), ("b", None, None, 4, None, None))
    assert any(line == "  a  1 call" for line in lines) and any(
        line == "  b  4 calls" for line in lines
    )
    assert any(line.strip().startswith("not known") for line in lines)
