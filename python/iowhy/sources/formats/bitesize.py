"""bcc's `bitesize`: sizes of block requests per process. Its unit is 1024 bytes."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _histogram

NAME = "bitesize"
HINT = r"^Tracing(?: block I/O)?\.\.\. Hit Ctrl-C|^\s*Process Name = |^\s*Kbytes\s+: count\s+distribution"

_MARK = re.compile(r"^\s*(?:Process Name = |Kbytes\s+: count)")
BEGINS = "Tracing"
NEAR = (_MARK.pattern, 6)


def read(block: Block) -> Parsed:
    """Into histograms, metric request_bytes."""
    parsed = Parsed(NAME)
    _histogram.read(block, parsed, "request_bytes")
    return parsed
