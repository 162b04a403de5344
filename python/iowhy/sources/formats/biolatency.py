"""bcc's (and libbpf-tools') `biolatency`: latency of block requests, also -m, -D (per disk), -F (flags), -Q."""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _histogram

NAME = "biolatency"
HISTOGRAMS = True
HINT = r"^Tracing block device I/O|^\s*disk = |^\s*[um]secs\s+: count\s+distribution"

#: Tools of bcc whose histogram looks the same below its first line.
_OF_COMMAND = {
    "runqlat": "run_queue_latency_ns",
    "ext4dist": "filesystem_latency_ns",
    "xfsdist": "filesystem_latency_ns",
    "btrfsdist": "filesystem_latency_ns",
    "nfsdist": "filesystem_latency_ns",
    "zfsdist": "filesystem_latency_ns",
    "funclatency": "function_latency_ns",
}
_HEAD = re.compile(r"^\s*[um]?n?secs\s+: count\s+distribution")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, or a disk's name above a histogram of times; weakly, such a histogram alone.

    A histogram without a title can be of anything: its metric says no more than that it is of times.
    """
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
    parsed = Parsed(NAME)
    command = block.command[0] if block.command else ""
    titled = any(line.startswith("Tracing block") or "disk = " in line for line in block.lines[:4])
    metric = "request_latency_ns"
    if not titled and command != NAME:
        metric = _OF_COMMAND.get(command, "latency_ns")
        parsed.tool = command or "a histogram of times"
        if metric == "latency_ns":
            parsed.note("a histogram of times has no title: what they are of is not known")
    _histogram.read(block, parsed, metric)
    return parsed
