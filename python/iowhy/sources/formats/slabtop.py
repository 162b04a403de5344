"""`slabtop`: the kernel's caches of its own objects (dentries, inodes), and how much memory they take.

Manual: slabtop(1). K are 1024 bytes; OBJ SIZE is of one object, CACHE SIZE of all pages of a cache.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number

NAME = "slabtop"
HINT = r"^\s*Active / Total Objects \(% used\)|^\s*OBJS ACTIVE\s+USE OBJ SIZE"
BEGINS = r"\s*Active"

_TOTAL = re.compile(
    r"\s*Active / Total (Objects|Slabs|Caches|Size) \(% used\)\s*:\s*([\d.]{1,20})K? / ([\d.]{1,20})K? \([\d.]+%\)\s*"
)
_ROW = re.compile(
    r"\s*(\d{1,15})\s+(\d{1,15})\s+(\d{1,3})%\s+([\d.]{1,12})K\s+(\d{1,15})\s+(\d{1,9})\s+(\d{1,15})K?\s+(\S{1,64})\s*"
)
#: Caches that hold what lookups of names and inodes find.
_NAMES = re.compile(r"dentry|.*inode_cache|.*_inode|dnode_t|zfs_znode_cache|btrfs_inode|xfs_ili")


def read(block: Block) -> Parsed:
    """Into measurements, subject is the cache; and the slab's size into memory_samples."""
    parsed = Parsed(NAME, units="K are 1024 bytes")
    names = total = 0.0
    seen: set[str] = set()
    for at, line in parsed.lines(block):
        if match := _TOTAL.fullmatch(line):
            value = number(match[3])
            if match[1] == "Size" and value is not None and not total:
                total = value * KIB
                parsed.add("memory_samples", {"ts_ns": 0, "slab_bytes": round(total)})
        elif match := _ROW.fullmatch(line):
            if match[8] not in seen:
                seen.add(match[8])
                size = float(match[7]) * KIB
                parsed.measure(match[8], "objects", float(match[1]))
                parsed.measure(match[8], "active_objects", float(match[2]))
                parsed.measure(match[8], "size_bytes", size)
                names += size if _NAMES.fullmatch(match[8]) else 0.0
        elif not re.match(r"\s*(?:Minimum / Average|OBJS ACTIVE)", line):
            parsed.reject(at, line)
    if total and 0 < names <= total:
        parsed.note(
            f"names and inodes take {names / KIB**3:.2f} GiB of {total / KIB**3:.2f} GiB of the kernel's own memory (slab)"
        )
    return parsed
