"""bcc's `ext4dist`, `xfsdist`, `btrfsdist`, `nfsdist`, `zfsdist` and libbpf's `fsdist`: latency of a filesystem's operations, cache hits among them."""

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _bcc, _histogram

NAME = "ext4dist"
TOOL = "ext4dist xfsdist btrfsdist nfsdist zfsdist fsdist"
HISTOGRAMS = True
_TITLE = r"Tracing (?:\w+) operation latency"
_KEYS = r"\s*operation = "
HINT = f"^{_TITLE}|^{_KEYS}"


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, or its key above a histogram of times."""
    return _bcc.sniff(lines, at, _TITLE, _KEYS)


def read(block: Block) -> Parsed:
    """Into histograms, metric filesystem_latency_ns and the operation."""
    parsed = Parsed(TOOL.split()[0])
    _histogram.read(block, parsed, "filesystem_latency_ns")
    return parsed
