"""How long CPUs wait for I/O, where the text does not say for what."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.units import size
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import WRONG, Statement

#: Less waiting than this is not worth a sentence.
LEAST = 0.1
#: With a smaller part of the memory left, the kernel must take pages back.
SHORT = 0.1


_LEFT = """
SELECT CAST(coalesce(max(available_bytes), max(free_bytes + coalesce(cached_bytes, 0))) AS DOUBLE) AS bytes FROM memory_samples
WHERE ts_ns = (SELECT max(ts_ns) FROM memory_samples)
"""


def state(facts: Facts) -> Iterator[Statement]:
    """CPUs in iowait, with memory that is short, or processes that are blocked."""
    machine = facts.machine
    if machine.iowait is not None and machine.iowait >= LEAST:
        more = ""
        if not facts.devices.all:
            more = f"{_memory(facts)}; for which device is not in the text"
            if not machine.blocked:
                more += ", and an idle io_uring reader counts as such, too"
        said = worded(
            "cpus-wait",
            "the CPUs wait for I/O {iowait:share} of the time{more}",
            iowait=machine.iowait,
            more=more,
        )
        yield Statement(WRONG, link(said, machine.iowait, "share", "system"))
    elif machine.blocked and machine.blocked >= LEAST:
        said = worded(
            "processes-blocked",
            "{blocked:.1f} processes are blocked on average",
            blocked=machine.blocked,
        )
        yield Statement(0.5, link(said, machine.blocked, "processes", "system"))
    if facts.relations.has("memory_samples") and machine.memory_bytes:
        left = facts.relations.value(float, _LEFT)
        if left is not None:
            said = worded(
                "memory-available",
                "{left:bytes} of {total:bytes} of memory are available",
                left=left,
                total=machine.memory_bytes,
            )
            yield Statement(0.1, link(said, left, "bytes", "system"))


def _short(facts: Facts) -> bool:
    machine = facts.machine
    return bool(machine.memory_bytes) and (machine.free_bytes or 0) < SHORT * (
        machine.memory_bytes or 0
    )


def _memory(facts: Facts) -> str:
    if not _short(facts) or facts.machine.free_bytes is None or facts.machine.memory_bytes is None:
        return ""
    return f", with {size(facts.machine.free_bytes)} of {size(facts.machine.memory_bytes)} of memory free"
