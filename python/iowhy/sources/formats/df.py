"""`df`, plain, -h, -H, -k, -m, -T and -i: how full filesystems are.

Manual: df(1). Without a unit in its title or behind the numbers, blocks are of 1 KiB.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number, size

NAME = "df"
HINT = r"^(?:Filesystem|Dateisystem|Sys\. de fichiers)\s+(?:Type\s+)?\S+.*\s(?:Use%|IUse%|Capacity|%iused)"

_TITLE = re.compile(HINT)
_UNIT = re.compile(r"\s(\d+)([KMGT]?)-blocks\s|\s1([KMGT])-\S+\s")
_ROW = re.compile(
    r"(\S.{0,200}?)\s+(?:[a-z][\w.]{1,20}\s+)?([\d.,]+[KMGTPE]?i?B?|-)\s+([\d.,]+[KMGTPE]?i?B?|-)\s+(-?[\d.,]+[KMGTPE]?i?B?|-)\s+"
    r"(\d{1,3}|-)%?\s+(/\S*(?: \S+)*)\s*"
)
#: Not of storage: full or not, nobody waits for them.
_OF_MEMORY = re.compile(
    r"(?:tmpfs|devtmpfs|udev|none|overlay|shm|efivarfs|squashfs|/dev/loop\d+)\b"
)


def read(block: Block) -> Parsed:
    """Into measurements of mount points; those of memory and images that cannot be written are passed over."""
    parsed = Parsed(NAME)
    inodes, unit = False, KIB
    for at, line in parsed.lines(block):
        if _TITLE.match(line):
            inodes = "IUse%" in line or "Inodes" in line
            unit = _unit(line)
        elif (match := _ROW.fullmatch(line)) is None:
            parsed.reject(at, line)
        elif not _OF_MEMORY.match(match[1]):
            _row(parsed, match, inodes, unit)
    return parsed


def _unit(title: str) -> int:
    """Bytes of a block."""
    found = _UNIT.search(title)
    if found is None:
        return KIB
    letter = found[2] if found[1] else found[3]
    return int(found[1] or 1) * int(KIB ** " KMGT".index(letter or " "))


def _row(parsed: Parsed, match: re.Match[str], inodes: bool, unit: int) -> None:
    mount = match[6]
    used = number(match[5])
    if inodes:
        parsed.measure(mount, "inodes_used_share", used, unit=0.01)
        parsed.measure(mount, "inodes_free", size(match[4]))
        return
    parsed.measure(mount, "used_share", used, unit=0.01)
    for metric, text in (("size_bytes", match[2]), ("free_bytes", match[4])):
        bytes_ = size(text) if text[-1:].isalpha() else number(text)
        parsed.measure(mount, metric, bytes_, unit=1 if text[-1:].isalpha() else unit)
