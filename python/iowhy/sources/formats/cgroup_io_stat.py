"""A control group's io.stat (version 2): bytes and requests by device since the group began.

Documentation/admin-guide/cgroup-v2.rst. Devices are MAJOR:MINOR; writes of the page cache count where the memory was
charged, and requests to network filesystems not at all.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _cgroup

NAME = "cgroup-io-stat"
TOOL = "cat io.stat"
HINT = r"^(?:/\S*io\.stat:)?\d{1,4}:\d{1,7} rbytes=\d+|^==> \S*/io\.stat"
BEGINS = "==>"

_LINE = re.compile(r"(\d{1,4}:\d{1,7})((?: [a-z._]{2,20}=[\d.]{1,20})+)")
_METRICS = {
    "rbytes": "read_bytes",
    "wbytes": "written_bytes",
    "rios": "reads",
    "wios": "writes",
    "dbytes": "discarded_bytes",
    "dios": "discards",
}


def read(block: Block) -> Parsed:
    """Into measurements, subject "GROUP DEVICE": what was added between the first copy and the last, or since it began."""
    parsed = Parsed(TOOL, units="bytes, requests")
    copies: dict[str, list[dict[str, float]]] = defaultdict(list)
    for at, group, text, line in _cgroup.lines(block, parsed):
        match = _LINE.fullmatch(text)
        if match is None:
            # A device without requests of the group's has its numbers alone.
            if not re.fullmatch(r"\d{1,4}:\d{1,7}", text):
                parsed.reject(at, line)
            continue
        values = dict(part.split("=", 1) for part in match[2].split())
        copies[f"{group} {match[1]}"].append(
            {_METRICS[k]: float(v) for k, v in values.items() if k in _METRICS and v.isdigit()}
        )
    for subject, found in copies.items():
        _emit(parsed, subject, found)
    if copies and all(len(found) == 1 for found in copies.values()):
        parsed.partial = _cgroup.SINCE_IT_BEGAN
        parsed.missing.append("iostat -x 1 10")
    return parsed


def _emit(parsed: Parsed, subject: str, found: Sequence[dict[str, float]]) -> None:
    grown = {
        metric: value - (found[0].get(metric, 0.0) if len(found) > 1 else 0.0)
        for metric, value in found[-1].items()
    }
    if any(value < 0 for value in grown.values()):
        parsed.note(f"{subject}: counters ran backwards: the copies are not in order")
        return
    parsed.measures(subject, grown)
    for count, size in (("reads", "read_bytes"), ("writes", "written_bytes")):
        if grown.get(count) and size in grown:
            parsed.measure(subject, f"{size}_per_request", grown[size] / grown[count])
