"""Numbers as tools print them: decimal commas, unit letters, stars for overflow."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(\d+)([.,]\d+)?%?")
_SIZE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*([KMGTPE]?)(i?)([Bb]?)", re.IGNORECASE)

KIB = 1024
MIB = 1024**2
NS_PER_S = 1_000_000_000


def number(text: str) -> float | None:
    """A plain number with a decimal point or comma, a % allowed behind; None if it is not one.

    Thousands are never grouped by the tools read here, so a single comma is a decimal comma.
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    return float(text.rstrip("%").replace(",", "."))


def size(text: str, base: int = KIB) -> float | None:
    """A number with a unit letter ("1.2M", "800k", "3Gi", "5B"), powers of `base`; None if not."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    power = " KMGTPE".index(match[2].upper()) if match[2] else 0
    step = KIB if match[3] else base
    return float(match[1].replace(",", ".")) * float(step**power)
