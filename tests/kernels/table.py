"""The table of kernels in docs/architecture.md: made of what the guests said, which is kept in found.json.

python -m tests.kernels.table writes it anew.
"""

import datetime
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .check import Check

FOUND = Path(__file__).with_name("found.json")
PAGE = Path(__file__).parents[2] / "docs/architecture.md"
BEGIN, END = "<!-- kernels -->\n", "<!-- end of kernels -->\n"
HEAD = "| Kernel | Suite | Counts that hold | Without | Tried on |\n|---|---|---|---|---|\n"


def keep(
    name: str, release: str, title: str, found: Sequence[Check], without: Sequence[str], note: str
) -> None:
    """Keeps what the guest called `name` said, in the place of what it said before, and writes the table."""
    found_before = kept()
    found_before[name] = {
        "release": release,
        "title": title,
        "held": sum(check.holds for check in found),
        "of": len(found),
        "without": sorted(without),
        "note": note,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    FOUND.write_text(json.dumps(dict(sorted(found_before.items())), indent=1) + "\n")
    write()


def rows() -> str:
    """The table, oldest kernels first."""
    lines = [
        f"| {one['release']} | {one['title']} | {one['held']} of {one['of']}{one['note']} "
        f"| {_without(one['without'])} | {one['date']} |\n"
        for one in sorted(kept().values(), key=_age)
    ]
    return HEAD + "".join(lines)


def on_page(text: str) -> str:
    """The text of the page with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + rows() + END + after


def write() -> None:
    PAGE.write_text(on_page(PAGE.read_text()))


def kept() -> dict[str, dict[str, object]]:
    """What each guest said, by its name."""
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


def _without(names: Sequence[str] | None) -> str:
    """None: from before the guests' answers were kept."""
    return "not noted" if names is None else ", ".join(names) or "–"


def _age(one: dict[str, object]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(one["release"]))]


if __name__ == "__main__":
    sys.exit(write())
