"""Durations, sizes and percentages as people type them: one grammar for every option and file.

A duration is a number and a unit (`500ms`, `30s`, `2m`), or several (`1h30m`); without a unit it is seconds. A
size is a number and a unit as in GNU coreutils: `64KiB` and `64K` are 65,536 bytes, `64kB` and `64KB` are
64,000; without a unit it is bytes. What iowhy prints itself (`12.3 ms`, `4 KiB`) is read, too. `units.py` is the
other direction.
"""

import re

from iowhy.errors import Problem

_MINUTE_NS = 60 * 10**9
DURATIONS_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # the micro sign
    "μs": 10**3,  # the Greek letter, which some keyboards have instead
    "ms": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "m": _MINUTE_NS,
    "min": _MINUTE_NS,
    "h": 60 * _MINUTE_NS,
    "d": 24 * 60 * _MINUTE_NS,
}
SIZES_BYTES = {"b": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate("kmgt", 1)
    for suffix, base in (("", 1024), ("ib", 1024), ("b", 1000))
}
DURATION_EXAMPLES = "500ms, 30s, 2m or 1h"
SIZE_EXAMPLES = "64KiB, 10MB or 2.5GiB"

MOST = 2**62  # what a signed column of 64 bits holds, with room to add
_MOST_DIGITS = 40
_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PART = re.compile(_NUMBER + r"\s*([a-zµμ]+)\s*")
_BARE = re.compile(_NUMBER + r"\Z")
_SIZE = re.compile(_NUMBER + r"\s*([A-Za-z]*)\Z")


def duration_ns(text: str) -> int | None:
    """The duration that `text` says, in whole nanoseconds (a rest is cut off); None when it says none.

    It may be more than 64 bits hold.
    """
    text = text.strip()
    if len(text) > _MOST_DIGITS:
        return None
    bare = _BARE.match(text)
    if bare:
        return _times(bare[1], 10**9)
    total, at = 0, 0
    before = 0
    while at < len(text):
        part = _PART.match(text, at)
        scale = DURATIONS_NS.get(part[2]) if part else None
        # `1h30m`, and not `30m1h` or `1s1s`, which are slips of the hand.
        if part is None or scale is None or (before and scale >= before):
            return None
        total += _times(part[1], scale)
        before, at = scale, part.end()
    return total if before else None


def size_bytes(text: str) -> int | None:
    """The size that `text` says, in whole bytes (a rest is cut off); None when it says none.

    It may be more than 64 bits hold.
    """
    found = _SIZE.match(text.strip()) if len(text) <= _MOST_DIGITS else None
    scale = SIZES_BYTES.get((found[2] or "b").lower()) if found else None
    return None if found is None or scale is None else _times(found[1], scale)


def positive_duration_ns(option: str, text: str) -> int:
    """A duration above 0. Raises Problem that names the option and shows examples."""
    found = duration_ns(text)
    if not found or found > MOST:
        raise Problem("not-a-time", option=option, text=text, duration_examples=DURATION_EXAMPLES)
    return found


def positive_size_bytes(option: str, text: str) -> int:
    """A size above 0. Raises Problem that names the option and shows examples."""
    found = size_bytes(text)
    if not found or found > MOST:
        raise Problem("not-a-size", option=option, text=text, size_examples=SIZE_EXAMPLES)
    return found


def percentage(option: str, text: str) -> float:
    """`5%` or `5` as a share, 0.05; from 0 on. Raises Problem that names the option."""
    found = re.match(_NUMBER + r"\s*%?\Z", text.strip()) if len(text) <= _MOST_DIGITS else None
    if found is None:
        raise Problem("not-a-percentage", option=option, text=text)
    return float(found[1]) / 100


def share(name: str, text: str) -> float:
    """A share that is left of something: `50%`, `0.5` or `1/2`, from 0.01 to below 1. Raises Problem."""
    found = re.match(_NUMBER + r"\s*(?:(%)|/\s*" + _NUMBER + r")?\Z", text.strip())
    value = -1.0
    if found and len(text) <= _MOST_DIGITS:
        below = 100.0 if found[2] else float(found[3] or 1)
        value = float(found[1]) / below if below else -1.0
    if not 0.01 <= value < 1:
        raise Problem("not-a-share", name=name, text=text)
    return value


def _times(number: str, scale: int) -> int:
    """Exact: a double has not the digits for the nanoseconds of a long recording."""
    whole, _, fraction = number.partition(".")
    return int(whole or 0) * scale + int(fraction or 0) * scale // int(10 ** len(fraction))
