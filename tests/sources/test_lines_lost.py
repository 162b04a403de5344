"""Each line of a text is read, or listed as not read: rows that were damaged in the middle, wrapped or made bold."""

import random

import pytest

from .reading import FIXTURES, taken_apart
from .ways_to_paste import WHOLE

#: Fixture → (line, what became of it).
DAMAGED = {
    "systat-9.txt": (16, "MB/s   0.00  0.00  0.00  0.00  0.??  ?.??          ?????? cache"),
    "collectl-4.3-verbose.txt": (18, "### RECORD    2 >>> vm <<< (179534707"),
    "nmon-16n.txt": (53, "CPU_ALL,T0003,90.3,9.7,0xx.0,0.0,0.0,,2"),
    "nmon-aix.txt": (9, "CPU01,T0009,58"),
    "innodb-pending.txt": (18, "Pending writes: LRU 0, fl"),
    "pg-stat-io-18-wal.txt": (4, " client backend | wal    | normal  |     0 |          0 |         0 |   45?? |    41320448 |          0 |      2 |          0"),
    "iozone-3-auto.txt": (11, "           65536       4   812345    1423456   3012345   3112345   2012345    "),
}  # fmt: skip


def unread(text: str) -> int:
    found = taken_apart(text)
    return len(found.unread) + sum(len(part.parsed.rejects) for part in found.parts)


def values(text: str) -> int:
    parsed = [part.parsed for part in taken_apart(text).parts]
    return sum(sum(map(len, one.tables.values())) + len(one.intervals) for one in parsed)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_row_is_listed(name: str) -> None:
    line, damaged = DAMAGED[name]
    lines = (FIXTURES / name).read_text().split("\n")
    before = unread("\n".join(lines))
    lines[line - 1] = damaged
    assert unread("\n".join(lines)) == before + 1


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("way", ["wrapped", "in_markdown_table", "emphasised"])
def test_what_a_way_to_paste_loses_is_listed(name: str, way: str) -> None:
    text = (FIXTURES / name).read_text()
    other = WHOLE[way](text, random.Random(1))
    assert values(other) == values(text) or unread(other) > unread(text)


def test_a_table_in_a_table_counts_as_skipped() -> None:
    text = (FIXTURES / "pg-stat-io-18-wal.txt").read_text()
    (part,) = taken_apart(WHOLE["in_markdown_table"](text, random.Random(1))).parts
    assert part.parsed.skipped == 2


def test_the_rest_of_a_wrapped_row_is_no_row() -> None:
    """Cells of PostgreSQL's view as mail wraps them fit the titles of the first line by number."""
    text = (FIXTURES / "pg-stat-io-18-wal.txt").read_text()
    (part,) = taken_apart(WHOLE["wrapped"](text, random.Random(1))).parts
    assert not part.parsed.tables.get("measurements") and part.parsed.skipped == 2
