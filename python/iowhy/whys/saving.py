"""What a remedy can save: of the time that a finding is about, the part that goes when it works.

Every number is a bound, with the words on what it takes to reach it. Where the remedy is more of a
resource (another CPU, another device) or less of the work, it is counted for twice as much, or half.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from iowhy import units
from iowhy.units import count, duration, size
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.facts.devices import SAYS_SO_ALWAYS
from iowhy.whys.facts.in_order import ways
from iowhy.whys.facts.requests import Requests
from iowhy.whys.finding import Saving


class Kind(Struct, frozen=True):
    """A kind of device: what it moves in order, and what a request also takes of it (command, answer, interrupt), at least."""

    words: str
    bytes_per_s: float
    request_ns: float

    def could_answer(self, bytes_: float, service_ns: float) -> bool:
        """Whether it could answer requests of this size so quickly, one at a time and from its memory."""
        return service_ns >= self.request_ns + bytes_ * 1e9 / self.bytes_per_s


class Rate(Struct, frozen=True):
    """What a device moves in order, and whence that is known: its own requests, or else what it can be at the slowest."""

    bytes_per_s: float
    known_by: str


#: The slowest first.
KINDS = (
    Kind("a guess: probably a rotating disk", 150e6, 15_000),
    Kind("a guess: probably SATA flash", 500e6, 10_000),
    Kind("a guess: probably PCIe flash", 3e9, 0),
)
#: Half of the reads that jump are answered in less: no disk that turns does so, whose head has to move and to wait for half a
#: turn (2 ms at 15,000 a minute).
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
    return Saving(1 - 1 / number, f"1 {what} instead of {count(number)}")


def in_order_rate(facts: Facts, moved_bytes: float, waiting_ns: float) -> Rate | None:
    """What the device would move in order: by its reads of several sizes, else of the slowest kind that it can be.

    None when it moves the bytes faster than any kind: then their order costs nothing that is known.
    """
    kind = next(
        (one for one in _kinds(facts.requests) if one.bytes_per_s * waiting_ns > moved_bytes * 1e9),
        None,
    )
    if kind is None:
        return None
    seen = facts.in_order
    if seen.fitted is not None:
        # What is beyond the fastest kind is the noise of a slope that is nearly none.
        rate = max(seen.reached or 0.0, min(seen.fitted, KINDS[-1].bytes_per_s))
        if rate * waiting_ns > moved_bytes * 1e9:
            sizes = f"{size(seen.least_bytes)} to {size(seen.most_bytes)}"
            return Rate(rate, f"as its reads of {sizes} show")
    if seen.reached is not None and seen.reached > kind.bytes_per_s:
        return Rate(seen.reached, "which its reads reach")
    return Rate(kind.bytes_per_s, kind.words)


def _kinds(requests: Requests) -> Sequence[Kind]:
    """Those that it can be, by what it says of itself and by how quickly it answers reads."""
    kinds = KINDS if _may_turn(requests) else KINDS[1:]
    middle, service = requests.median_bytes, requests.median_service_ns
    if not _enough_reads(requests) or middle is None or service is None:
        return kinds
    return [one for one in kinds if one.could_answer(middle, service)] or KINDS[-1:]


def _may_turn(requests: Requests) -> bool:
    """Unless it says that it does not, or answers as no disk that turns could."""
    service, jumps = requests.median_service_ns, requests.jump_share
    if requests.rotational is False:
        return False
    if _enough_reads(requests) and service is not None and (jumps or 0.0) >= QUICK_JUMPS:
        return service >= TOO_QUICK_FOR_A_DISK_NS
    return SAYS_SO_ALWAYS.fullmatch(requests.device or "") is None


def _enough_reads(requests: Requests) -> bool:
    """Only reads show it: what is written goes into a disk's memory first."""
    return requests.reads >= QUICK_READS and not requests.writes


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
    remains_ns = moved_bytes * 1e9 / rate.bytes_per_s
    return Saving(
        1 - remains_ns / waiting_ns,
        f"{how}; moving the bytes in order still takes about {duration(remains_ns)}, at "
        f"{units.rate(rate.bytes_per_s)}, {rate.known_by}",
    )


def in_disk_order(facts: Facts, moved_bytes: float) -> Saving:
    """What reading in disk order saves: each place still takes a request and a short seek, as long as the quickest of this run,
    if it is not next to the one before."""
    rate = _by_reading(facts, moved_bytes)
    found = ways(facts.relations, facts.requests, rate)
    if found is None:
        return all_but_moving(facts, (classes.READ,), moved_bytes, "if it is read in disk order")
    return Saving(
        found.part,
        "if every request is as quick as the quickest tenth, or follows the one before: "
        f"{duration(found.ordered_ns)} instead of {duration(found.mean_ns)}",
    )


def _by_reading(facts: Facts, moved_bytes: float) -> float:
    """What the device moves in order, at least."""
    waiting_ns = facts.budget.elapsed(classes.READ) * (facts.shares_of_ns or 0.0)
    found = in_order_rate(facts, moved_bytes, waiting_ns)
    return KINDS[0].bytes_per_s if found is None else found.bytes_per_s
