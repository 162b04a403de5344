"""`btrfs device stats`: requests that failed and blocks whose checksum was wrong, of each disk since mkfs or `-z`."""

import re

from iowhy.sources.format import Block, Parsed

NAME = "btrfs-device-stats"
TOOL = "btrfs device stats"
HINT = r"^\[\S+\]\.(?:write|read|flush)_io_errs\s+\d"

_COUNT = re.compile(r"\[([\w.:@+/-]{1,200})\]\.(\w{1,20})_errs\s+(\d{1,15})")
SURE = 0.95


def read(block: Block) -> Parsed:
    """Into measurements: subject is the disk."""
    parsed = Parsed(TOOL)
    found: dict[str, dict[str, float]] = {}
    for at, line in parsed.lines(block):
        if not (match := _COUNT.fullmatch(line.strip())):
            parsed.reject(at, line)
            continue
        metric = "failed_requests" if match[2].endswith("_io") else "corrupt_blocks"
        disk = found.setdefault(match[1].removeprefix("/dev/"), {})
        disk[metric] = disk.get(metric, 0.0) + float(match[3])
    for name, counts in found.items():
        block.names.disk(name)
        parsed.measures(name, counts)
    return parsed
