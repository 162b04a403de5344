"""hdparm -t and -T: how fast a disk is read in order, and memory."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "hdparm"
HINT = r"^/dev/\S+:\s*$|^\s*Timing (?:cached|buffered disk|O_DIRECT (?:cached|disk)) reads:"
NEAR = (r"^\s*Timing .* reads:", 3)
_LINES = (
    re.compile(r"^(?P<subject>/dev/\S+):\s*$"),
    re.compile(r"^\s*Timing buffered disk reads:.*= +(?P<read_in_order_mib_per_s>[\d.]+) MB/sec"),
    re.compile(r"^\s*Timing O_DIRECT disk reads:.*= +(?P<read_directly_mib_per_s>[\d.]+) MB/sec"),
    re.compile(
        r"^\s*Timing (?:O_DIRECT )?cached reads:.*= +(?P<from_memory_mib_per_s>[\d.]+) MB/sec"
    ),
)


def read(block: Block) -> Parsed:
    """Into measurements of the disk; its megabytes are powers of two."""
    return _lines.read(block, NAME, _LINES)
