"""Shared by the tests of formats: read one text with one format, or with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.sources.format import Block, Interval, Parsed
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import Split, decode, split
from iowhy.whys.verdict import Verdict, judge
from tests.examples import TIMES, costly

FIXTURES = Path(__file__).parent / "fixtures"

#: Property tests here build texts, which is fast; few examples find what is wrong with a reader.
quick = costly(10)


def read(name: str, text: str, command: str = "") -> Parsed:
    """The text as one block of the format `name`."""
    form = next(form for form in formats() if form.name == name)
    assert form.read is not None
    lines = decode(text.encode(), "text")
    return form.read(Block(lines, 1, "text", Names(), tuple(command.split()) or None))


def fixture(name: str, file: str, command: str = "") -> Parsed:
    """A fixture, read by the format that its content is found to be: it must be `name`."""
    result = taken_apart((FIXTURES / file).read_text())
    assert [part.format for part in result.parts] == [name]
    return read(name, (FIXTURES / file).read_text(), command) if command else result.parts[0].parsed


def one_of_each(*, costly: bool = False) -> list[Path]:
    """The first of the fixtures of each format, and the last: as a rule two versions. `costly`: the last in torture alone (mark `more`)."""
    return sorted(
        {
            path
            for of in _by_format().values()
            for path in (of[:1] if costly and TIMES == 1 else (of[0], of[-1]))
        }
    )


@cache
def _by_format() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted(FIXTURES.glob("*.txt")):
        found.setdefault(taken_apart(path.read_text()).parts[0].format, []).append(path)
    return found


def taken_apart(text: str) -> Split:
    """The text as a paste."""
    return split(decode(text.encode(), "text"), "text", Names())


def intervals(parsed: Parsed, table: str, **key: object) -> list[Interval]:
    """The intervals of one table (and key), in order."""
    return [
        one
        for one in parsed.intervals
        if one.table == table and all(one.key.get(k) == v for k, v in key.items())
    ]


def values(parsed: Parsed, subject: str) -> dict[str, float]:
    """Metric → value of one subject of measurements."""
    rows = parsed.tables.get("measurements", [])
    assert isinstance(rows, list)
    return {
        str(row["metric"]): float(str(row["value"])) for row in rows if row["subject"] == subject
    }


def near(numbers: Sequence[float]) -> object:
    """Equal but for rounding of the printed digits."""
    return pytest.approx(list(numbers), rel=1e-6, abs=1e-6)


def verdict(folder: Path, text: str) -> Verdict:
    """What `iowhy diagnose` finds in one text; all that it makes lies in `folder`."""
    folder.mkdir(exist_ok=True)
    (folder / "in.txt").write_text(text)
    return judge(diagnose([str(folder / "in.txt")], folder / "out.iowhy").recording)
