"""What filefrag prints of a file, which the kernel tells it (FIEMAP)."""

import re
from pathlib import Path

from machine import run

#: Words of filefrag for bits of FIEMAP that the recording does not keep.
NOT_KEPT = {"eof", "merged", ""}


def filefrag(path: Path) -> tuple[list[tuple[int, int, int, set[str]]], int]:
    """Logical and physical offset, length in bytes and flags of each extent, and filefrag's count."""
    printed = run("filefrag", "-v", "-b1", str(path))
    row = r"\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):(?:\s*\d+:)?\s*(\S*)"
    found = []
    for match in re.finditer(rf"^{row}$", printed, re.MULTILINE):
        logical, physical, length = (int(match[number]) for number in (1, 2, 3))
        found.append((logical, physical, length, set(match[4].split(",")) - NOT_KEPT))
    count = re.search(r"(\d+) extents? found", printed)
    assert count is not None, printed
    return found, int(count[1])
