"""Others use the device that the command waits for."""

from iowhy.whys import classes, evidence, links, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.devices import scheduler
from iowhy.whys.finding import Candidate, Claim

OTHERS = 0.5
BUSY = 0.6
BESIDE = 0.5
OURS = 0.5


def find(facts: Facts) -> Candidate | None:
    """Most of the time of the device's requests belongs to other processes."""
    requests = facts.requests
    others = requests.others_share
    if not requests.known and not facts.run.pasted:
        return _by_counters(facts)
    if not requests.known or others is None or others < OTHERS:
        return None
    busy = evidence.busy_while_waiting(facts)
    if busy is None or busy < BUSY:
        return None
    beside = requests.others_beside_share if _has_requests(facts) else None
    if beside is not None and beside < BESIDE:
        return None
    dirtier = requests.dirtied_by if _waits_for_writeback(facts) else None
    named = requests.others_name if dirtier is None else f"writing what {dirtier.who()} made dirty"
    who = f", most by {named}" if named else ""
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=others),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "waits for storage"),
            links.device_load(facts),
            link(
                f"{percent(others)} of the time of its requests belongs to other processes{who}",
                others,
                "share",
                "devices",
            ),
            None if dirtier is None else links.dirtied_by_others(facts),
            None
            if beside is None
            else link(
                f"theirs are in flight in {percent(beside)} of the time that those of {facts.run.who} are",
                beside,
                "share",
                "devices",
            ),
            link(
                f"they moved {size(requests.others_bytes)}, {facts.run.who} {size(requests.bytes)}",
                requests.others_bytes,
                "bytes",
                "devices",
            ),
        ),
        summary=f"waits for {requests.device}, which others keep busy{who}",
        saving=saving.all_of_it("with nobody else on the device"),
        remedies=(
            _LATER,
            _LESS_DIRTY if dirtier is not None else _weight(facts, requests.device),
            _ANOTHER,
        ),
        needs=("block_requests",),
    )


def _weight(facts: Facts, device: str | None) -> str:
    """Priorities are for the scheduler of the disk, and not each knows any (bfq does, mq-deadline since Linux 5.14)."""
    found = scheduler(facts.relations, facts.requests.dev)
    if found is None or found in WEIGHS:
        return _WEIGHT
    return (
        f"limit the others (io.max); the scheduler of {device} ({found}) knows no priorities: ionice helps only with "
        "another (bfq)"
    )


def _has_requests(facts: Facts) -> bool:
    """Whether requests that may be its own (shared ones too) are what it mostly waits for: else when others' are beside them says nothing."""
    waiting, ours = facts.budget.elapsed(*classes.STORAGE), facts.requests.ours_busy_share
    return ours is not None and ours >= OURS * waiting


def _waits_for_writeback(facts: Facts) -> bool:
    """Whether most of its waiting is for writes, which others' dirty pages go before."""
    return 2 * facts.budget.elapsed(classes.READ) < facts.budget.elapsed(*classes.STORAGE)


def _by_counters(facts: Facts) -> Candidate | None:
    """Without requests (--mode proc): its own counters against the device's."""
    own, device = facts.devices.own_share, facts.devices.top
    busy = evidence.busy_while_waiting(facts)
    if own is None or device is None or 1 - own < OTHERS or busy is None or busy < BUSY:
        return None
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=1 - own),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "waits for storage"),
            links.device_load(facts),
            link(
                f"{percent(1 - own)} of the bytes that it moved are not {facts.run.who}'s",
                1 - own,
                "share",
                "devices",
            ),
        ),
        summary=f"waits for {device.name}, which others keep busy",
        saving=saving.all_of_it("with nobody else on the device"),
        confidence=0.6,
        lowered_by=("single requests are not known, only counters: see them as root",),
    )


# Schedulers that heed ionice(1).
WEIGHS = frozenset({"bfq", "mq-deadline"})
_LATER = "run them at another time"
_WEIGHT = "give the command a higher I/O weight (ionice, io.weight) or limit the others (io.max)"
_LESS_DIRTY = "limit what the others leave dirty: io.max or memory.high of their group, a lower vm.dirty_bytes"
_ANOTHER = "put them on another device"

CAUSE = Cause(
    name="device-contended",
    title="Others keep the device busy",
    meaning="The command's requests stand in a queue with those of other processes.",
    measured=(
        "Every request of the machine is recorded; those not submitted by the command and not for "
        "its files are others'. Shared work of kernel threads (journal, flush) is charged to nobody. "
        "The device is the one that the command's waits are for, by the filesystem of their files; whoever "
        "made pages dirty there is named."
    ),
    thresholds=(
        Threshold(
            "others' share of the request time", OTHERS, "share",
            "then most of what the device does is for somebody else",
        ),
        Threshold(
            "device busy while the command waits", BUSY, "share",
            "others on a device that rests do not delay anybody",
        ),
        Threshold(
            "others' requests in flight beside the command's", BESIDE, "share",
            "what others do while the command asks for nothing does not delay it",
        ),
        Threshold(
            "time with a request in flight that may be its own, of its waiting, for that to count", OURS, "share",
            "who syncs what others made dirty waits for their requests first, and for the commit and its own after them",
        ),
    ),
    fooled_by=(
        "a service that works on the command's behalf (a database server, a loop device's worker) "
        "counts as another process",
    ),
    remedies=(
        _LATER,
        _WEIGHT,
        _ANOTHER,
    ),
    experiment="fast-device",
    find=find,
    settled_by=next_command.DEVICE,
    beats=(
        "device-saturated", "device-slow", "queue-shallow", "random-access", "small-requests",
        "cache-cold", "sync-storm", "flush-cost", "writeback-scattered",
    ),
)  # fmt: skip
