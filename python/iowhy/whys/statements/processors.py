"""How long CPUs wait for I/O, where the text does not say for what."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.units import size
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import TELLING, WRONG, Statement

#: Less waiting than this is not worth a sentence.
LEAST = 0.1
#: Of the time that CPUs are busy: then it is not what programs compute.
MOSTLY = 0.5
#: Fewer blocked processes are there for a moment.
BLOCKED = 1.0
#: With a smaller part of the memory left, the kernel must take pages back.
SHORT = 0.1


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
    elif machine.blocked and machine.blocked >= BLOCKED:
        said = worded(
            "processes-blocked",
            "{blocked:.1f} processes are blocked on average",
            blocked=machine.blocked,
        )
        yield Statement(0.5, link(said, machine.blocked, "processes", "system"))
    load = facts.measured.of("top", "load_average").get("all")
    if load is not None:
        said = worded(
            "load-of-sleepers",
            "the load average is {load:.1f} or more although the CPUs are idle {idle:share} of the time: threads that hang (state D) count in it",
            load=load,
            idle=machine.idle or 0.0,
        )
        yield Statement(WRONG, link(said, load, "threads", "system"))
    share = machine.interrupts or 0.0
    if share >= LEAST:
        most = share >= MOSTLY * (machine.busy or 1.0)
        said = worded(
            "cpus-interrupts",
            "the CPUs handle interrupts {share:share} of the time (network or devices, no program's code)",
            share=share,
        )
        yield Statement(TELLING + 0.01 if most else 0.2, link(said, share, "share", "system"))
    left = machine.left_bytes
    if left is not None and machine.memory_bytes:
        said = worded(
            "memory-available",
            "{left:bytes} of {total:bytes} of memory are available",
            left=left,
            total=machine.memory_bytes,
        )
        yield Statement(0.1, link(said, left, "bytes", "system"))


def _memory(facts: Facts) -> str:
    machine = facts.machine
    for left, how in ((machine.available_bytes, "available"), (machine.free_bytes, "free")):
        if left is not None and machine.memory_bytes:
            short = left < SHORT * machine.memory_bytes
            of = f"{size(left)} of {size(machine.memory_bytes)} of memory {how}"
            return f", with {of}" if short else ""
    return ""
