"""Other processes use the device that the program waits for."""

from msgspec.structs import replace

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.culprits import Culprit
from iowhy.whys.facts.devices import scheduler
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.remedy import Remedy

# As much makes it no longer the program's own device.
OTHERS = thresholds.OTHERS
BUSY = 0.6
BESIDE = 0.5
OURS = 0.5


def find(facts: Facts) -> Candidate | None:
    """Other processes take a good part of the device's time."""
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
    writeback = requests.written_back or _waits_for_writeback(facts)
    dirtier = requests.dirtied_by if writeback else None
    who = _mostly(facts, dirtier)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=others),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
            links.device_load(facts),
            link(
                f"{percent(others)} of the time of {requests.device} goes to other processes{who}",
                others,
                "share",
                "devices",
                "device-contended.others",
            ),
            None if dirtier is None else links.dirtied_by_others(facts),
            None
            if beside is None
            else link(
                f"{percent(beside)} of the time its I/O shares {requests.device} with theirs",
                beside,
                "share",
                "devices",
                "device-contended.beside",
            ),
            link(
                f"others moved {size(requests.others_bytes)}, {facts.run.who} {size(requests.bytes)}",
                requests.others_bytes,
                "bytes",
                "devices",
                "device-contended.others-bytes",
            ),
        ),
        summary=_says(facts, dirtier),
        saving=saving.all_of_it(
            "if nothing was dirty before"
            if _was_dirty(facts, dirtier)
            else "if nothing else uses the device"
        ),
        remedies=_remedies(facts, dirtier),
        needs=("block_requests",),
    )


def _was_dirty(facts: Facts, dirtier: Culprit | None) -> bool:
    """Whether the device works for what nobody is known to have dirtied: the kernel's workers write it back."""
    return facts.requests.written_back and dirtier is None


def _mostly(facts: Facts, dirtier: Culprit | None) -> str:
    if dirtier is not None:
        return f", mostly for writing what {dirtier.who()} dirtied"
    if _was_dirty(facts, dirtier):
        return ", mostly for writing back what was dirty"
    return f", mostly to {facts.requests.others_name}" if facts.requests.others_name else ""


def _says(facts: Facts, dirtier: Culprit | None) -> Sentence:
    """Who keeps the device busy; a file if no process is known."""
    who = facts.requests.others_name if dirtier is None else dirtier.who()
    if _was_dirty(facts, dirtier):
        return worded(
            "device-contended.written-back",
            "waiting for {device}, busy writing back {dirty:bytes} that others dirtied",
            device=facts.requests.device,
            dirty=facts.requests.others_bytes,
        )
    by = (
        "busy writing what {who} dirtied"
        if dirtier is not None
        else "which other processes keep busy"
        if who is None
        else "which others keep busy, mostly " + ("for {who}" if who.startswith("/") else "{who}")
    )
    return worded(
        "device-contended.by-whom",
        "waiting for {device}, " + by,
        device=facts.requests.device,
        who=None if who is None else named.other(facts, who),
    )


def _remedies(facts: Facts, dirtier: Culprit | None) -> tuple[Remedy, ...]:
    """The kernel's workers are no job that could run at another time."""
    if _was_dirty(facts, dirtier):
        return _LESS_DIRTY, _EARLIER
    second = _LESS_DIRTY if dirtier is not None else _weight(facts)
    return _later(facts, dirtier), second, _another(facts)


def _later(facts: Facts, dirtier: Culprit | None) -> Remedy:
    """The same with the name of the process that uses most of the device, if one is known."""
    who = facts.requests.others_name if dirtier is None else dirtier.who()
    if who is None or who.startswith("/"):
        return _LATER
    return replace(
        _LATER,
        do=worded(
            "device-contended.other-time",
            "Run {other} at another time",
            other=named.other(facts, who),
        ),
    )


def _weight(facts: Facts) -> Remedy:
    """Only some schedulers know priorities (bfq does, mq-deadline since Linux 5.14); of another one the device gets one that does."""
    found, device = scheduler(facts.relations, facts.requests.dev), facts.requests.device
    if found is not None and found not in WEIGHS and device is not None:
        return Remedy(
            worded(
                "device-contended.fair-scheduler",
                "Let {device} share its time fairly: `echo bfq > /sys/block/{device}/queue/scheduler`",
                device=device,
            ),
            risk="a quick device moves less in all",
        )
    typed, pids = named.again(facts), named.attached(facts)
    if not typed and not pids:
        return _WEIGHT
    what = typed or f"-p {pids}"
    return replace(
        _WEIGHT,
        do=worded(
            "device-contended.priority",
            "Give it a higher I/O priority: `ionice -c 2 -n 0 {what}`",
            what=what,
        ),
    )


def _another(facts: Facts) -> Remedy:
    """Its own data can be moved by who asks."""
    return replace(
        _ANOTHER,
        do=worded(
            "device-contended.other-device",
            "Move {data} to another device",
            data=named.data(facts),
        ),
    )


def _has_requests(facts: Facts) -> bool:
    """Whether it mostly waits for requests that may be its own (shared ones too): else it does not matter when others' are in flight."""
    waiting, ours = facts.budget.elapsed(*classes.STORAGE), facts.requests.ours_busy_share
    return ours is not None and ours >= OURS * waiting


def _waits_for_writeback(facts: Facts) -> bool:
    """Whether most of its waiting is for writes, which queue behind others' dirty pages."""
    return 2 * facts.budget.elapsed(classes.READ) < facts.budget.elapsed(*classes.STORAGE)


def _by_counters(facts: Facts) -> Candidate | None:
    """Without requests (--mode proc): its own counters compared with the device's."""
    own, device = facts.devices.own_share, facts.devices.top
    busy = evidence.busy_while_waiting(facts)
    if own is None or device is None or 1 - own < OTHERS or busy is None or busy < BUSY:
        return None
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=1 - own),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
            links.device_load(facts),
            link(
                f"{percent(1 - own)} of the bytes that {device.name} moved are other processes'",
                1 - own,
                "share",
                "devices",
                "device-contended.devices",
            ),
        ),
        summary=worded(
            "device-contended.by-others",
            "waiting for {device}, which other processes keep busy",
            device=device.name,
        ),
        saving=saving.all_of_it("if nothing else uses the device"),
        confidence=0.6,
        lowered_by=("only counters are known, not single requests: these need root",),
    )


# Schedulers that respect ionice(1).
WEIGHS = frozenset({"bfq", "mq-deadline"})
_SLOWER = "the others get slower"
_LATER = Remedy(
    worded("device-contended.other-time-any", "Run the other work at another time"),
    risk="it finishes later",
)
_WEIGHT = Remedy(
    worded(
        "device-contended.priority-any",
        "Start it with a higher I/O priority: `ionice -c 2 -n 0`",
    ),
    risk=_SLOWER,
)
_LESS_DIRTY = Remedy(
    worded(
        "device-contended.less-dirty",
        "Let less wait to be written: `sysctl vm.dirty_bytes=67108864`",
    ),
    risk="all programs that write much get slower",
)
_EARLIER = Remedy(
    worded("device-contended.earlier", "Write it back earlier, when nothing waits: `sync`"),
    risk="the device is busy then",
)
_ANOTHER = Remedy(
    worded("device-contended.other-device-any", "Move its data to another device"),
    risk="downtime while data moves",
)

CAUSE = Cause(
    name="device-contended",
    title="Device shared with other processes",
    meaning="The program's requests queue behind those of other processes.",
    measured=(
        "All requests of the machine; those that the program neither submits nor causes through "
        "its files belong to others. Shared work of kernel threads (journal, flush) counts for nobody. "
        "The device is the one that the program waits for, by the filesystem of its files; the process that "
        "dirtied most pages there is named."
    ),
    thresholds=(
        Threshold(
            "others' share of the device's time, at least", OTHERS, "share",
            "with less, what is seen of the device is the program's own doing",
        ),
        Threshold(
            "device busy while the program waits, at least", BUSY, "share",
            "on a device that is mostly idle, others delay nobody",
        ),
        Threshold(
            "share of the program's I/O time with others' requests in flight, at least", BESIDE, "share",
            "what others do while the program has no request does not delay it",
        ),
        Threshold(
            "share of its waiting with a request in flight that may be its own, for that to count", OURS, "share",
            "who syncs what others dirtied waits for their requests first, then for the commit and its own",
        ),
    ),
    fooled_by=(
        "a service that works for the program (a database server, a loop device's worker) "
        "counts as another process",
    ),
    remedies=(
        _LATER,
        _WEIGHT,
        _LESS_DIRTY,
        _EARLIER,
        _ANOTHER,
    ),
    experiment="fast-device",
    find=find,
    explains=classes.named("read write sync"),
    trouble="neighbours",
    settled_by=next_command.DEVICE,
    beats=(
        "device-saturated", "device-slow", "queue-shallow", "random-access", "small-requests",
        "cache-cold", "sync-storm", "flush-cost", "writeback-scattered", "metadata-cold", "readahead-poor", "file-fragmented"),
)  # fmt: skip
