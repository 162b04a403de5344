"""AIX `fileplace` (-p, -l, -v): where a file's blocks are.

Layout: the fileplace command in IBM's AIX documentation. -v adds the two summary lines with the space
efficiency and the sequentiality.
"""

import re

from iowhy.sources.format import Block, Parsed, as_word

NAME = "fileplace"
HINT = r"^File: \S.*\s+Size: \d+ bytes|frags? over space of \d+ frags?|(?:extents?|fragments?|frags?) out of \d+ possible"

_NO_NAME = "(file)"
_FILE = re.compile(r"File: (?P<path>.+?)\s+Size: (?P<size>\d+) bytes\s+Vol: (?P<volume>\S+).*")
_SPACE = re.compile(
    r"(\d+) frags? over space of (\d+) frags?:\s+space efficiency = (\d+(?:\.\d+)?)%"
)
_EXTENTS = re.compile(
    r"(\d+) (?:extents?|fragments?|frags?) out of (\d+) possible:\s+sequentiality = (\d+(?:\.\d+)?)%"
)
_BLOCKS = re.compile(r"Blk Size: (\d+)\s+Frag Size: (\d+)\s+Nfrags: (\d+).*")
_EXTENT_ROW = re.compile(r"(?:\d+(?:-\d+)?|unallocated)\s+.*\d+ frags?\b.*")
_TITLE = re.compile(r"(?:Inode:|Physical (?:Address|blocks)|Logical (?:Extent|Fragment|Block)).*")


def read(block: Block) -> Parsed:
    """Into measurements: sequentiality and space_efficiency (0..1), extents, fragments."""
    parsed = Parsed(NAME, units="shares of 1", host={"os": "AIX"})
    subject = _NO_NAME
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-", " "}:
            continue
        if match := _FILE.fullmatch(text):
            subject = match["path"]
            parsed.measure(subject, "size_bytes", float(match["size"]))
        elif match := _SPACE.fullmatch(text):
            parsed.measure(subject, "fragments", float(match[1]))
            parsed.measure(subject, "space_efficiency", float(match[3]) / 100)
        elif match := _EXTENTS.fullmatch(text):
            parsed.measure(subject, "extents", float(match[1]))
            parsed.measure(subject, "extents_possible", float(match[2]))
            parsed.measure(subject, "sequentiality", float(match[3]) / 100)
        elif match := _BLOCKS.fullmatch(text):
            parsed.measure(subject, "block_bytes", float(match[1]))
        elif not (_EXTENT_ROW.fullmatch(text) or _TITLE.fullmatch(text)):
            parsed.reject(at, line)
    rows = parsed.tables.get("measurements", [])
    assert isinstance(rows, list)
    if subject != _NO_NAME and not any(row["metric"] == "sequentiality" for row in rows):
        parsed.missing.append(f"fileplace -pv {as_word(subject)}")
    return parsed
