"""Which of bcc's tools prints a histogram: by its first line, else by the command typed before it."""

import re
from collections.abc import Sequence

from iowhy.sources.format import Claim

TITLE = r"^Tracing .*(?:\.\.\.|Hit Ctrl-C)"
_TIMES = re.compile(r"\s*[um]?n?secs\s+: count\s+distribution")


def sniff(lines: Sequence[str], at: int, title: str, keys: str) -> Claim | None:
    """The tool's first line, or a line that only it prints above a histogram of times."""
    line = lines[at]
    if re.match(title, line):
        return Claim(0.95)
    if re.match(keys, line):
        near = [text for text in lines[at + 1 : at + 3] if text.strip()]
        return Claim(0.8, again=True) if near and _TIMES.match(near[0]) else None
    return None
