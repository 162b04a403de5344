"""bcc's (and libbpf-tools') `runqlat`: how long threads that are ready wait for a CPU; -P per process."""

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _bcc, _histogram

NAME = "runqlat"
TOOL = "runqlat runqslower"
HISTOGRAMS = True
_TITLE = r"Tracing run queue latency"
_KEYS = r"\s*pid = \d+ "
HINT = f"^{_TITLE}|^{_KEYS}"


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, or its key above a histogram of times."""
    return _bcc.sniff(lines, at, _TITLE, _KEYS)


def read(block: Block) -> Parsed:
    """Into histograms, metric run_queue_latency_ns."""
    parsed = Parsed(TOOL.split()[0])
    _histogram.read(block, parsed, "run_queue_latency_ns")
    return parsed
