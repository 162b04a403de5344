"""What a remedy can save: of the time that a finding is about, the part that goes when it works.

Every number is a bound, with the words on what it takes to reach it. Where the remedy is more of a
resource (another CPU, another device) or less of the work, it is counted for twice as much, or half.
"""

from collections.abc import Iterable

from iowhy.units import count, duration
from iowhy.whys.facts import Facts
from iowhy.whys.facts.requests import Requests
from iowhy.whys.finding import Saving

#: What a device moves in order, by kind: a disk, flash behind SATA, flash behind PCIe.
IN_ORDER_BYTES_PER_S = (150e6, 500e6, 3e9)
#: Half of the reads that jump are answered in less: no disk that turns does so, whose head has to move and to wait for half a
#: turn (2 ms at 15,000 a minute). Virtual disks call themselves rotating whatever is behind them.
TOO_QUICK_FOR_A_DISK_NS = 1e6
#: Reads, at least, and of them those that jump, for that to be so.
QUICK_READS = 64
QUICK_JUMPS = 0.5


def all_of_it(condition: str) -> Saving:
    """All of the time; `condition` says when."""
    return Saving(1.0, condition)


def twice(resource: str) -> Saving:
    """What twice as much of a resource saves of the time in which all of it is in use."""
    return Saving(0.5, f"with twice the {resource}")


def half(work: str) -> Saving:
    """What half of some work saves: how much of it can be left out is not in a recording."""
    return Saving(0.5, f"with half of the {work}")


def once(number: float, what: str) -> Saving:
    """What is left when things that are done `number` times are done once."""
    if number <= 1:
        return Saving(0.0, f"there is only one {what}")
    return Saving(1 - 1 / number, f"one {what} in the place of {count(number)}")


def in_order_rate(facts: Facts, moved_bytes: float, waiting_ns: float) -> float | None:
    """Bytes per second that the device would move in order: of the slowest kind that it can be.

    None when it moves them faster than any kind: then their order costs nothing that is known.
    """
    kinds = IN_ORDER_BYTES_PER_S[1 if _does_not_turn(facts.requests) else 0 :]
    return next((kind for kind in kinds if kind * waiting_ns > moved_bytes * 1e9), None)


def _does_not_turn(requests: Requests) -> bool:
    """Whether it says so, or answers as no disk that turns could."""
    if requests.rotational is False:
        return True
    service, jumps = requests.median_service_ns, requests.jump_share
    only_reads = requests.reads >= QUICK_READS and not requests.writes
    return (
        only_reads
        and service is not None
        and service < TOO_QUICK_FOR_A_DISK_NS
        and jumps is not None
        and jumps >= QUICK_JUMPS
    )


def all_but_moving(facts: Facts, waits: Iterable[str], moved_bytes: float, how: str) -> Saving:
    """All of it but the time in which the device moves the same bytes in order.

    `waits` are the classes of the budget in which it moves them now, `how` what makes it do so.
    """
    elapsed_ns = facts.shares_of_ns
    if elapsed_ns is None or not moved_bytes:
        return all_of_it(how)
    waiting_ns = facts.budget.elapsed(*waits) * elapsed_ns
    rate = in_order_rate(facts, moved_bytes, waiting_ns)
    if rate is None:
        return Saving(0.0, "the device moves the bytes as fast as in order already")
    remains_ns = moved_bytes * 1e9 / rate
    return Saving(
        1 - remains_ns / waiting_ns,
        f"{how}; moving the bytes in order still takes some {duration(remains_ns)}",
    )
