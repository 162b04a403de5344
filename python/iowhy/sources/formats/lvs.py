"""`lvs`: how full thin pools are, their data and their description. Manual: lvs(8)."""

import math
import re

from iowhy.sources.format import Block, Parsed

NAME = "lvs"
HINT = r"^\s*LV\s+VG\s+Attr\s+LSize\b"
SURE = 0.9
BEGINS = ""
NEAR = (r"\bData%", 1)

_CELL = re.compile(r"\S+")


def read(block: Block) -> Parsed:
    """Into measurements of each thin pool (attributes begin with t); cells are found by their title's place."""
    parsed = Parsed(NAME)
    places: dict[str, tuple[int, int]] = {}
    for at, line in parsed.lines(block):
        words = line.split()
        if words[:3] == ["LV", "VG", "Attr"]:
            places = {
                title: (line.index(title), line.index(title) + len(title))
                for title in words
                if title.endswith("%")
            }
            continue
        if len(words) < 4 or not places:
            parsed.reject(at, line)
            continue
        if not words[2].startswith("t"):
            continue
        for title, metric in (("Data%", "data_used_share"), ("Meta%", "metadata_used_share")):
            share = _percent(line, places.get(title))
            if share is not None:
                parsed.measure(f"{words[1]}/{words[0]}", metric, share)
    return parsed


def _percent(line: str, place: tuple[int, int] | None) -> float | None:
    """The number in the columns of its title, or in some of them."""
    if place is None:
        return None
    start, end = place
    cell = next((c for c in _CELL.finditer(line) if c.start() < end and c.end() > start), None)
    try:
        number = float(cell[0]) if cell else math.nan
    except ValueError:
        return None
    return number / 100 if 0 <= number <= 100 else None
