"""Copies of /proc/pressure/{cpu,io,memory} (Documentation/accounting/psi.rst): totals in µs.

The file's name is not in its text: it is taken from the command at the prompt, from the "==> … <==" of
head and tail, or from the "name:" of grep.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed, Snapshot

NAME = "proc-pressure"
TOOL = "cat /proc/pressure"
HINT = r"^(?:/\S*:)?some avg10=[\d.]+ |^==> /proc/pressure/"

US = 1_000
_ROW = re.compile(
    r"(?:(?P<path>/\S*):)?(?P<kind>some|full) avg10=[\d.]+ avg60=[\d.]+ avg300=[\d.]+ total=(?P<total>\d{1,18})"
)
_RESOURCE = re.compile(r"/proc/pressure/(cpu|io|memory)\b")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A line "some avg10=…", or the name above it."""
    if lines[at].startswith("==>"):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        return Claim(0.9, again=True) if below.startswith("some avg10=") else None
    return Claim(0.9, again=True)


def read(block: Block) -> Parsed:
    """Into pressure_samples of the machine."""
    parsed = Parsed(TOOL, units="µs")
    typed = _RESOURCE.findall(" ".join(block.command or ()))
    current: str | None = None
    unnamed = 0
    copies: dict[tuple[str, str], int] = {}
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            continue
        if text.startswith("==>") and (found := _RESOURCE.search(text)):
            current = found[1]
            parsed.lines_understood += 1
            continue
        match = _ROW.fullmatch(text)
        if match is None:
            parsed.reject(at, line)
            continue
        if match["path"] and (found := _RESOURCE.search(match["path"])):
            current = found[1]
        elif match["kind"] == "some" and typed:
            current = typed[min(unnamed, len(typed) - 1)]
            unnamed += 1
        if current is None:
            parsed.note("whose pressure it is (cpu, io, memory) is not shown: left out")
            parsed.missing.append("grep . /proc/pressure/*")
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
        key = (current, match["kind"])
        copy = copies.get(key, -1) + 1
        copies[key] = copy
        parsed.snapshots.append(
            Snapshot(
                "pressure_samples",
                {"scope": "machine", "resource": current, "kind": match["kind"]},
                copy,
                {"total_ns": int(match["total"]) * US},
            )
        )
    return parsed
