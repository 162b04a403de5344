"""bcc's `ext4dist`, `xfsdist`, `btrfsdist`, `nfsdist`, `zfsdist` and libbpf's `fsdist`: latency of a filesystem's operations, cache hits among them."""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _histogram

NAME = "ext4dist"
TOOL = "ext4dist xfsdist btrfsdist nfsdist zfsdist fsdist"
HISTOGRAMS = True
_TITLE = r"Tracing (?:\w+) operation latency"
_KEYS = r"\s*operation = "
HINT = f"^{_TITLE}|^{_KEYS}"
BEGINS = _TITLE
NEAR = (rf"^{_TITLE}|{_histogram.TIMES}", 3)


def read(block: Block) -> Parsed:
    """Into histograms, metric filesystem_latency_ns and the operation."""
    parsed = Parsed(TOOL.split()[0])
    _histogram.read(block, parsed, "filesystem_latency_ns")
    return parsed
