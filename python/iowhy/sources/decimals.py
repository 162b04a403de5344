"""Is the comma of a text its decimal sign, or does it group thousands? The text itself decides.

`1,234` alone can be either. Where other numbers of the same output settle it, such tokens are rewritten
with a point or without the comma; else they stay, and `number` reads them as unknown.
"""

import re
from collections.abc import Sequence

from iowhy.sources.numbers import AMBIGUOUS

_TOKEN = re.compile(r"(?<![\w.,])[-+]?(\d{1,3}(?:,\d{3})+)(\.\d+)?(?=[\s%)a-zA-Z]|$)")
#: Only a decimal comma has other than three digits behind it, or a lone zero before.
_DECIMAL = re.compile(r"(?<![\w.,])(?:\d+,(?:\d{1,2}|\d{4,9})|0,\d{3})(?=[\s%)a-zA-Z]|$)")
#: Only where commas group, a point or a second comma follows.
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:(?:,\d{3})+\.\d|(?:,\d{3}){2})")
_POINT = re.compile(r"(?<![\w.,:])\d+\.\d{1,6}(?=[\s%)a-zA-Z]|$)")


def settled(lines: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The lines with their commas settled; whether some could not be."""
    at = [index for index, line in enumerate(lines) if "," in line and _TOKEN.search(line)]
    if not at:
        return lines, False
    decimal = any(_DECIMAL.search(line) for line in lines)
    grouped = any(_GROUPED.search(line) or _POINT.search(line) for line in lines)
    if decimal == grouped:
        lone = any(AMBIGUOUS.fullmatch(match[0]) for i in at for match in _TOKEN.finditer(lines[i]))
        return lines, lone
    result = list(lines)
    for index in at:
        result[index] = _TOKEN.sub(
            lambda match: match[0].replace(",", "." if decimal else ""), result[index]
        )
    return result, False
