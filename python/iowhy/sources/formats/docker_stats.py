"""`docker stats`: each container's CPU, memory, and bytes read from and written to block devices since it began.

Docker's reference, "docker container stats". CPU % is of one CPU. kB, MB, GB are powers of 1000 in BLOCK I/O, KiB and the like of
1024; before version 1.12 all were printed with a blank. NET I/O is not storage.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "docker-stats"
TOOL = "docker stats"
HINT = r"^(?:(?:CONTAINER(?: ID)?|NAME)\s+)+CPU %\s+MEM USAGE.*MEM %"
SURE = 0.95

_SIZE = r"([\d.]{1,20}) ?([kKMGTP]?i?B)"
_ROW = re.compile(
    rf"\s*(\S+)\s+(?:(\S+)\s+)?([\d.]{{1,12}}|--)%?\s+(?:{_SIZE} ?/ ?{_SIZE}|-- / --)\s+([\d.]{{1,8}}|--)%?"
    rf"(?:\s+(?:{_SIZE} ?/ ?{_SIZE}|--))?(?:\s+(?:{_SIZE} ?/ ?{_SIZE}|--))?(?:\s+(\d{{1,9}}|--))?\s*"
)
_POWERS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def read(block: Block) -> Parsed:
    """Into measurements: subject is the container's name. Screens are of a stream: the last one of each counts."""
    parsed = Parsed(TOOL, units="kB, MB, GB of powers of 1000; KiB, MiB, GiB of 1024")
    rows: dict[str, re.Match[str]] = {}
    peaks: dict[str, float] = {}
    blocks: int | None = None
    for at, line in parsed.lines(block):
        if "CPU %" in line:
            # The pairs behind the memory are in the order of the titles.
            blocks = None if "BLOCK I/O" not in line else 12 if "NET I/O" in line else 8
        elif match := _ROW.fullmatch(line):
            name = match[2] or match[1]
            rows[name] = match
            used, limit = _bytes(match[4], match[5]), _bytes(match[6], match[7])
            if used is not None and limit:
                peaks[name] = max(peaks.get(name, 0.0), used / limit)
        else:
            parsed.reject(at, line)
    for name, match in rows.items():
        _emit(parsed, name, match, blocks)
        parsed.measure(name, "memory_peak_share", peaks.get(name))
    if rows:
        parsed.missing.append("sudo iowhy run -- CMD")
    return parsed


def _emit(parsed: Parsed, name: str, match: re.Match[str], blocks: int | None) -> None:
    groups = match.groups()
    cpu = number(groups[2])
    parsed.measure(name, "container_cpu_share", None if cpu is None else cpu / 100)
    used, limit = _bytes(groups[3], groups[4]), _bytes(groups[5], groups[6])
    parsed.measure(name, "memory_bytes", used)
    parsed.measure(name, "memory_limit_bytes", limit)
    if used is not None and limit and used >= 0.95 * limit:
        parsed.note(
            f"{name} uses {100 * (used / limit):.0f} % of its memory limit, page cache not counted"
        )
    if blocks is not None:
        read, written = groups[blocks : blocks + 2], groups[blocks + 2 : blocks + 4]
        parsed.measure(name, "since_start_read_bytes", _bytes(*read))
        parsed.measure(name, "since_start_written_bytes", _bytes(*written))


def _bytes(text: str | None, unit: str | None) -> float | None:
    value = number(text) if text else None
    if value is None or unit is None:
        return None
    return value * (1024.0 if "i" in unit else 1000.0) ** _POWERS[unit[0].upper()]
