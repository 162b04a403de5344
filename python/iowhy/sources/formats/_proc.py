"""Copies of /proc files that have one name and one number a line, one copy after the other."""

import re
from collections.abc import Mapping

from iowhy.sources.format import Block, Parsed

#: No counter or size is larger; such digits are damage.
LARGEST = 2**50


def copies(
    block: Block, parsed: Parsed, line_is: re.Pattern[str], first: str, wanted: Mapping[str, object]
) -> list[dict[str, int]]:
    """The numbers of the names in `wanted`, copy by copy; each copy begins with the name `first`."""
    found: list[dict[str, int]] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        match = line_is.fullmatch(text)
        if match is None:
            parsed.reject(at, line)
            continue
        if match[1] == first or not found:
            found.append({})
        if match[1] in wanted:
            found[-1][match[1]] = min(int(match[2]), LARGEST)
    return found
