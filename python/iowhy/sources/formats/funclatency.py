"""bcc's (and libbpf-tools') `funclatency`: how long calls of a function take, in the kernel or a program."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _histogram

NAME = "funclatency"
HISTOGRAMS = True
HINT = r"^Tracing \d+ functions? for|^Function = "

_TITLE = re.compile(r"(?:Tracing \d+ functions? for \"?|Function = b?'?)([^\s\"']{1,100})")
BEGINS = "Tracing"
NEAR = (f"^{_TITLE.pattern}", 1)


def read(block: Block) -> Parsed:
    """Into histograms, metric function_latency_ns and the function."""
    parsed = Parsed(NAME)
    match = _TITLE.match(block.lines[0]) if block.lines else None
    name = f" {match[1]}" if match else ""
    _histogram.read(block, parsed, f"function_latency_ns{name}")
    return parsed
