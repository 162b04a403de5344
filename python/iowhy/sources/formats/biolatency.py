"""bcc's (and libbpf-tools') `biolatency`: latency of block requests, also -m, -D (per disk), -F (flags), -Q."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _histogram

NAME = "biolatency"
TOOL = "biolatency"
HINT = r"^Tracing block device I/O|^\s*disk = |^\s*[um]secs\s+: count\s+distribution"

_HEAD = re.compile(r"^\s*[um]?n?secs\s+: count\s+distribution")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, or a disk's name above a histogram of times; weakly, such a histogram alone."""
    line = lines[at]
    if line.startswith("Tracing block device I/O"):
        # biosnoop and the like begin the same way; a histogram follows only here.
        rest = [text for text in lines[at + 1 : at + 8] if text.strip() and text.strip() != "^C"]
        return Claim(0.95) if not rest or any(_HEAD.match(text) for text in rest) else None
    if "disk = " in line:
        near = lines[at + 1 : at + 2]
        return Claim(0.8, again=True) if near and _HEAD.match(near[0]) else None
    # Any tool of bcc may print such a histogram: whoever knows better has a higher claim.
    return Claim(0.3, again=True)


def read(block: Block) -> Parsed:
    """Into histograms, metric request_latency_ns."""
    parsed = Parsed(TOOL)
    if not block.lines[0].startswith("Tracing") and "disk = " not in block.lines[0]:
        parsed.note("a histogram of times without a title is taken for biolatency's")
    _histogram.read(block, parsed, "request_latency_ns")
    return parsed
