"""Percona's pt-query-digest: statements by the time that all of their runs take, and how long InnoDB read for them."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "pt-query-digest"
HINT = r"^# (?:\S+ user time, \S+ system time|Overall: .* total, \S+ unique|Profile$|Query \d+: )"

_PROFILE = re.compile(
    r"# +(\d+) 0x[0-9A-F]{8,32} +([\d.]{1,15}) +([\d.]{1,6})% +(\d{1,12}) +[\d.]+ +\S+ +(\S.*)"
)
_QUERY = re.compile(r"# Query (\d+): ")
_TIME = re.compile(r"# (Exec time|IO r wait) +\d+ +([\d.]+(?:ms|us|s|m|h))\b")


def read(block: Block) -> Parsed:
    """Into measurements of each statement; what is not marked as a comment is its text."""
    parsed = Parsed(NAME, units="times of all runs together")
    names: dict[str, str] = {}
    times: dict[str, dict[str, float]] = {}
    query = ""
    for _, line in parsed.lines(block):
        if found := _PROFILE.match(line):
            name = names[found[1]] = f"statement {found[1]} ({found[5].strip()})"
            parsed.measure(name, "of_all_share", float(found[3]) / 100)
            parsed.measure(name, "runs", float(found[4]))
        elif found := _QUERY.match(line):
            query = found[1]
        elif query and (found := _TIME.match(line)):
            times.setdefault(query, {})[found[1]] = _lines.duration_ns(found[2]) or 0.0
    for number, of in times.items():
        took = of.get("Exec time")
        if took and "IO r wait" in of:
            name = names.get(number, f"statement {number}")
            parsed.measure(name, "reading_share", min(1.0, of["IO r wait"] / took))
    return parsed
