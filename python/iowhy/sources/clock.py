"""Dates and intervals in the text of tools."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from iowhy.sources.numbers import NS_PER_S

#: Times are signed 64-bit, and are added to: what is later than 2116 is damage.
LATEST_NS = 2**62

_PATTERNS = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S%z",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%y %I:%M:%S %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y %H:%M:%S",
)


def wall_ns(text: str) -> int | None:
    """Nanoseconds since the epoch of a date and time, read as UTC when no zone is given.

    Day and month of "03/04/2024" cannot be distinguished: the US order that the tools' C locale has is
    tried first. Only differences matter to a diagnosis.
    """
    text = text.strip()
    if not text or not text[0].isdigit():
        return None
    for pattern in _PATTERNS:
        try:
            when = datetime.strptime(text, pattern)
        except ValueError:
            continue
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        found = round(when.timestamp()) * NS_PER_S
        return found if abs(found) < LATEST_NS else None
    return None


def interval_of(command: Sequence[str] | None) -> int | None:
    """The interval in the arguments of `tool [options] [interval [count]]`, in nanoseconds.

    The interval is the first bare number; an option's own number ("-p 12") is not bare. FreeBSD's
    `-w 5` is the interval itself, and Linux' -w takes no value, so a number behind -w is bare too.
    """
    takes_value = {"-S", "-p", "-P", "-j", "-o", "-f", "-C", "-G", "-s", "-e", "-n", "-c"}
    before = ""
    for word in list(command or ())[1:]:
        if re.fullmatch(r"\d{1,6}([.,]\d{1,9})?", word) and before not in takes_value:
            return round(float(word.replace(",", ".")) * NS_PER_S) or None
        before = word
    return None
