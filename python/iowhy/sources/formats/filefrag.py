"""`filefrag -v` (and -e, -b, -k, -x): a file's extents.

Layout: filefrag(8) of e2fsprogs. Numbers are in the block size that the line above says; -x prints them
in hexadecimal. Without -v only the count is known.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed, as_word

NAME = "filefrag"
HINT = r"^(?:Filesystem type is: |File size of |.*: \d+ extents? found)"

_SIZE = re.compile(r"File size of (.*) is (\d+) \((\d+) blocks? of (\d+) bytes\)")
_EXTENT = re.compile(
    r"\s*(\d+):\s*([0-9a-f]+)\.\.\s*([0-9a-f]+):\s*([0-9a-f]+)\.\.\s*([0-9a-f]+):\s*([0-9a-f]+):"
    r"\s*(?:([0-9a-f]+):)?\s*([\w,]*)\s*"
)
_FOUND = re.compile(r"(.*): (\d+) extents? found(?:, perfection would be \d+ extents?)?")
#: filefrag's words → the schema's (FIEMAP_EXTENT_*, linux/fiemap.h).
_FLAGS = {
    "last": "last", "unknown_loc": "unknown", "delalloc": "delalloc", "encoded": "encoded",
    "encrypted": "encrypted", "not_aligned": "not_aligned", "inline": "inline",
    "tail_packed": "inline", "unwritten": "unwritten", "merged": "merged", "shared": "shared",
}  # fmt: skip
SURE = 0.95


def read(block: Block) -> Parsed:
    """Into extents (phase after) and files; counts of files without -v into measurements."""
    parsed = Parsed(NAME)
    hexadecimal = any(re.fullmatch(r"-[a-wyz]*x\w*", word) for word in block.command or ())
    path, unit = "", 4096
    extents = 0
    pending: list[tuple[int, re.Match[str]]] = []
    for n, line in enumerate(block.lines, block.first_line):
        text = line.rstrip()
        if match := _SIZE.fullmatch(text):
            path, unit = match[1], int(match[4])
            parsed.units = f"blocks of {unit} bytes"
        elif match := _EXTENT.fullmatch(text):
            pending.append((n, match))
        elif match := _FOUND.fullmatch(text):
            if pending:
                extents += _emit(parsed, block, path or match[1], unit, pending, hexadecimal)
            else:
                parsed.measure(match[1], "extents", float(match[2]))
                parsed.missing.append(f"filefrag -v {as_word(match[1])}")
            pending, path = [], ""
        elif not text.strip() or text.startswith(
            (
                " ext:",
                "Filesystem type is:",
                "Filesystem cylinder",
                "Blocksize of file",
                "Discontinuity",
            )
        ):
            pass
        else:
            parsed.reject(n, line)
            continue
        parsed.lines_understood += bool(text.strip())
    if pending:  # the end is cut off
        _emit(parsed, block, path, unit, pending, hexadecimal)
        parsed.note(f"{path or 'a file'}: the list of extents is cut off")
    return parsed


def _emit(
    parsed: Parsed,
    block: Block,
    path: str,
    unit: int,
    found: Sequence[tuple[int, re.Match[str]]],
    hexadecimal: bool,
) -> int:
    # Letters anywhere, or lengths that only add up that way, tell hexadecimal numbers.
    base = (
        16
        if hexadecimal or any(re.search("[a-f]", "".join(m.group(2, 3, 4, 5, 6))) for _, m in found)
        else 10
    )
    dev, ino = block.names.file(path)
    count = 0
    for n, match in found:
        first, last, place, blocks = (int(match[at], base) for at in (2, 3, 4, 6))
        flags = [word for word in match[8].split(",") if word and word not in ("eof",)]
        if last - first + 1 != blocks or blocks * unit >= 1 << 63 or place * unit >= 1 << 63:
            parsed.reject(n, match[0])
            parsed.lines_understood -= 1
            continue
        nowhere = "unknown_loc" in flags or "delalloc" in flags or "inline" in flags
        parsed.add(
            "extents",
            {
                "phase": "after",
                "dev": dev,
                "ino": ino,
                "logical_bytes": first * unit,
                "physical_bytes": None if nowhere else place * unit,
                "bytes": blocks * unit,
                "flags": [_FLAGS[word] for word in flags if word in _FLAGS],
            },
        )
        count += 1
    return count
