"""AIX `filemon`: what files, logical and physical volumes read, wrote and sought.

Layout: the filemon command in IBM's AIX documentation. Sizes of volumes are in blocks of 512 bytes,
those of files in bytes; times are ms.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "filemon"
HINT = (
    r"^Most Active (?:Files|Segments|Logical Volumes|Physical Volumes)|^(?:FILE|VOLUME): /"
    r"|^Detailed (?:File|Logical Volume|Physical Volume|VM Segment) Stats|^System: AIX "
    r"|^Cpu utilization:|^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}$"
)

_SIDES = tuple(
    re.compile(pattern.replace("SIDE", side))
    for side in ("read", "write")
    for pattern in (
        r"^\s*SIDEs:\s+(?P<SIDE_count>\d+)\s+\((?P<SIDE_errors>\d+) errs\)\s*$",
        r"^\s*SIDE sizes \(bytes\):\s+avg\s+(?P<SIDE_mean_bytes>[\d.]+)\s+min\s+(?P<SIDE_min_bytes>[\d.]+)\s+max\s+(?P<SIDE_max_bytes>[\d.]+)(?:\s+sdev\s+[\d.]+)?\s*$",
        r"^\s*SIDE sizes \(blks\):\s+avg\s+(?P<SIDE_mean_blks>[\d.]+)\s+min\s+(?P<SIDE_min_blks>[\d.]+)\s+max\s+(?P<SIDE_max_blks>[\d.]+)(?:\s+sdev\s+[\d.]+)?\s*$",
        r"^\s*SIDE times \(msec\):\s+avg\s+(?P<SIDE_mean_ms>[\d.]+)\s+min\s+(?P<SIDE_min_ms>[\d.]+)\s+max\s+(?P<SIDE_max_ms>[\d.]+)(?:\s+sdev\s+[\d.]+)?\s*$",
        r"^\s*SIDE sequences:\s+(?P<SIDE_sequences>\d+)\s*$",
    )
)
_LINES = (
    re.compile(r"^\s*(?:FILE|VOLUME|SEGMENT): (?P<subject>\S+)"),
    *_SIDES,
    re.compile(r"^\s*seeks:\s+(?P<seeks>\d+)\s+\(\s*(?P<seek_percent>[\d.]+)%\)\s*$"),
    re.compile(r"^\s*throughput:\s+(?P<_kib_per_s>[\d.]+) KB/sec\s*$"),
    re.compile(r"^\s*utilization:\s+(?P<busy_share>[\d.]+)\s*$"),
    # The tables of the most active: of volumes, and of files.
    re.compile(r"^\s*(?P<busy_share>\d+(?:\.\d+)?)\s+\d+\s+\d+\s+(?P<_kib_per_s>\d+(?:\.\d+)?)\s+(?P<subject>/\S+)"),
    re.compile(r"^\s*(?P<_mib>\d+(?:\.\d+)?)\s+\d+\s+(?P<read_count>\d+)\s+(?P<write_count>\d+)\s+(?P<subject>\S+)"),
)  # fmt: skip
_DATE = r"^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}$"
_SYSTEM = re.compile(r"System: (AIX \S+)")
_PASSED = re.compile(
    rf"^[\s=-]*$|^System: AIX|{_DATE}|^\s*(?:#MBs|util)\s+#|^\s*(?:avg\s+\d+(?:\.\d+)? min|opens:|total bytes xfrd:"
    r"|(?:read|write) seq\. lengths:|seek dist|time to next req|(?:lseeks|time to open|time to close|segtype|segments):?"
    r"|Cpu utilization:|Most Active|Detailed|\d+\.\d+ secs? in measured interval)"
)
BEGINS = _DATE
#: A detailed section's title may be cut off.
FIRST = (
    r"Most Active|Detailed|(?:System|Cpu utilization):[\s\S]*^(?:Most Active|Detailed)|[A-Z][a-z]{2} .*\nSystem: AIX"
    r"|(?:FILE|VOLUME):(?:.*\n){0,5}.*(?:reads|writes):\s+\d+\s+\(\d+ errs\)",
    12,
)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the file or volume."""
    units = "volumes in blocks of 512 bytes, files in bytes, times in ms"
    parsed = Parsed(NAME, units=units, host={"os": "AIX"})
    _lines.read(block, NAME, _LINES, _PASSED, parsed)
    system = next((found for line in block.lines if (found := _SYSTEM.match(line))), None)
    parsed.version = system[1] if system else None
    # The summary and the details give some numbers both: the later, more exact one stays.
    last = {(row["subject"], row["metric"]): row for row in _lines.measured(parsed)}
    if last:
        parsed.tables["measurements"] = list(last.values())
    return parsed
