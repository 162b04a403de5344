"""AIX `fileplace` (-p, -l, -v): where a file's blocks are.

Layout: the fileplace command in IBM's AIX documentation. -v adds the two summary lines with the space
efficiency and the sequentiality.
"""

import re

from iowhy.sources.format import Block, Parsed, as_word
from iowhy.sources.formats import _lines

NAME = "fileplace"
HINT = r"^File: \S.*\s+Size: \d+ bytes|frags? over space of \d+ frags?|(?:extents?|fragments?|frags?) out of \d+ possible"

_LINES = (
    re.compile(r"^\s*File: (?P<subject>.+?)\s+Size: (?P<size_bytes>\d+) bytes\s+Vol: \S+"),
    re.compile(r"^\s*(?P<fragments>\d+) frags? over space of \d+ frags?:\s+space efficiency = (?P<space_efficiency_of_100>\d+(?:\.\d+)?)%\s*$"),
    re.compile(r"^\s*(?P<extents>\d+) (?:extents?|fragments?|frags?) out of (?P<extents_possible>\d+) possible:\s+sequentiality = (?P<sequentiality_of_100>\d+(?:\.\d+)?)%\s*$"),
    re.compile(r"^\s*Blk Size: (?P<block_bytes>\d+)\s+Frag Size: \d+\s+Nfrags: \d+"),
)  # fmt: skip
_PASSED = re.compile(
    r"^[\s-]*$|^\s*(?:\d+(?:-\d+)?|unallocated)\s+.*\d+ frags?\b"
    r"|^\s*(?:Inode:|Physical (?:Address|blocks)|Logical (?:Extent|Fragment|Block))"
)


def read(block: Block) -> Parsed:
    """Into measurements: sequentiality and space_efficiency (0..1), extents, fragments."""
    parsed = Parsed(NAME, units="shares of 1", host={"os": "AIX"})
    rows = _lines.measured(_lines.read(block, "(file)", _LINES, _PASSED, parsed))
    sized = next((str(row["subject"]) for row in rows if row["metric"] == "size_bytes"), None)
    if sized is not None and not any(row["metric"] == "sequentiality" for row in rows):
        parsed.missing.append(f"fileplace -pv {as_word(sized)}")
    return parsed
