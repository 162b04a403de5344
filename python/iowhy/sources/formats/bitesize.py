"""bcc's `bitesize`: sizes of block requests per process. Its unit is 1024 bytes."""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _histogram

NAME = "bitesize"
TOOL = "bitesize"
HINT = r"^Tracing(?: block I/O)?\.\.\. Hit Ctrl-C|^\s*Process Name = |^\s*Kbytes\s+: count\s+distribution"

_MARK = re.compile(r"^\s*(?:Process Name = |Kbytes\s+: count)")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A process' name, or the unit, above a histogram."""
    if _MARK.match(lines[at]):
        return Claim(0.9, again=True)
    near = lines[at + 1 : at + 6]
    return Claim(0.9) if any(_MARK.match(line) for line in near) else None


def read(block: Block) -> Parsed:
    """Into histograms, metric request_bytes."""
    parsed = Parsed(TOOL)
    _histogram.read(block, parsed, "request_bytes")
    return parsed
