"""bcc's (and libbpf-tools') `runqlat`: how long threads that are ready wait for a CPU; -P per process."""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _histogram

NAME = "runqlat"
TOOL = "runqlat runqslower"
HISTOGRAMS = True
_TITLE = r"Tracing run queue latency"
_KEYS = r"\s*pid = \d+ "
HINT = f"^{_TITLE}|^{_KEYS}"
BEGINS = _TITLE
NEAR = (rf"^{_TITLE}|{_histogram.TIMES}", 3)


def read(block: Block) -> Parsed:
    """Into histograms, metric run_queue_latency_ns."""
    parsed = Parsed(TOOL.split()[0])
    _histogram.read(block, parsed, "run_queue_latency_ns")
    return parsed
