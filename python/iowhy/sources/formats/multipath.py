"""`multipath -ll`: the paths of each device, and those that failed. Manual: multipath(8)."""

import re

from iowhy.sources.format import Block, Parsed

NAME = "multipath"
TOOL = "multipath -ll"
HINT = r"^\S+ (?:\([^)]+\) )?dm-\d+ \S"
SURE = 0.9
BEGINS = ""
NEAR = (r"^\s*\[?size=.*(?:features|hwhandler)=", 3)

_DEVICE = re.compile(r"(\S{1,128}) (?:\([^)]{1,128}\) )?dm-\d+ \S.*")
_PATH = re.compile(r"[\s|`\\_-]*\d+:\d+:\d+:\d+ +(\S+) +\d+:\d+ +(.*)")


def read(block: Block) -> Parsed:
    """Into measurements: paths of each device, and those that failed."""
    parsed = Parsed(TOOL)
    device = ""
    paths: dict[str, list[bool]] = {}
    for at, line in parsed.lines(block):
        if found := _DEVICE.fullmatch(line):
            device = found[1]
        elif device and (found := _PATH.fullmatch(line)):
            paths.setdefault(device, []).append(bool(re.search(r"\b(?:failed|faulty)\b", found[2])))
        elif not re.search(r"size=|policy=|prio=|round-robin", line):
            parsed.reject(at, line)
    for name, failed in paths.items():
        parsed.measures(name, {"paths": float(len(failed)), "failed_paths": float(sum(failed))})
    return parsed
