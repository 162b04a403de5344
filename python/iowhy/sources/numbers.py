"""Numbers as tools print them: decimal commas, unit letters, stars for overflow."""

import re
from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"[+-]?(\d+)([.,]\d+)?%?", re.ASCII)
_SIZE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*([KMGTPE]?)(i?)([Bb]?)", re.IGNORECASE | re.ASCII)

KIB = 1024
MIB = 1024**2
NS_PER_S = 1_000_000_000

#: Thousands or decimals: only the rest of the text can settle it (`decimals`).
AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}%?", re.ASCII)

#: No tool prints more than a thousand million millions of anything: such digits are damage.
LARGEST = 1e15


def number(text: str) -> float | None:
    """A plain number with a decimal point or comma, a % allowed behind; None if it is not one.

    `1,234` is not known to be one or the other, so it is None.
    """
    if text.isdecimal() and text.isascii() and len(text) < 16:
        return float(text)
    if len(text) > 40 or _NUMBER.fullmatch(text) is None or AMBIGUOUS.fullmatch(text):
        return None
    value = float(text.rstrip("%").replace(",", "."))
    return value if abs(value) <= LARGEST else None


def numbers(
    words: Sequence[str], read: Callable[[str], float | None] = number
) -> list[float] | None:
    """The words as numbers; None when one of them is none."""
    found = [value for word in words if (value := read(word)) is not None]
    return found if len(found) == len(words) else None


def row(
    columns: Sequence[str], words: Sequence[str], read: Callable[[str], float | None] = number
) -> dict[str, float] | None:
    """The words as numbers by column; None when one of them is not a number, or their count differs (or there are no columns)."""
    values = numbers(words, read) if columns and len(words) == len(columns) else None
    return None if values is None else dict(zip(columns, values, strict=True))


def size(text: str, base: int = KIB) -> float | None:
    """A number with a unit letter ("1.2M", "800k", "3Gi", "5B"), powers of `base`; None if not."""
    match = _SIZE.fullmatch(text) if len(text) < 40 else None
    if match is None or AMBIGUOUS.fullmatch(text):
        return None
    power = " KMGTPE".index(match[2].upper()) if match[2] else 0
    step = KIB if match[3] else base
    value = float(match[1].replace(",", ".")) * float(step**power)
    return value if abs(value) <= LARGEST * KIB else None
