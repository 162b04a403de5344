"""The device takes long for a request although it has few."""
# long: a stuck, a stalling and a slow device differ in evidence and remedies

from msgspec import Struct
from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import (
    classes,
    evidence,
    health,
    links,
    named,
    next_command,
    saving,
    slow_device,
    thresholds,
)
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.requests import slow_ns
from iowhy.whys.facts.silent import NOTICED_NS, SILENT_NS, paused, silent, waits_for
from iowhy.whys.facts.stalls import LONG_FLUSH, OUTLIERS, SCATTERED, SHALLOW
from iowhy.whys.facts.uneven import FLASH_NS as LATE_FLASH_NS
from iowhy.whys.facts.uneven import TIMES
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

SERVICE_NS = 20e6
# The most that a healthy disk takes that says it does not rotate: flash answers in 0.1 ms, behind a network in 1 ms.
FLASH_NS = 1e6
# 50 MB/s: the inner tracks of an old disk.
SLOWEST_BYTES_PER_NS = 0.05
REQUESTS_MIN = 16
# The part of a request's time beyond what any disk takes; from it on, all of the waiting is for the device.
LATE = 0.3
# A device that works less than this is not what is waited for.
WORKS = 0.3
# Without the machine's CPU time: a device that is used less may just have been woken.
USED = 0.1
# With a longer queue, of a device that rests (is busy less than ALWAYS), how much longer than allowed a request must take.
ALWAYS = 0.9
BURSTS = 2.0
# Of a time in which it completes nothing that was asked in it.
MOST_OF = 0.5


class Part(Struct, frozen=True):
    """Of the waiting for storage, the part that is claimed, and of that the part that can be saved."""

    claimed: float
    saved: float

    @classmethod
    def of(cls, allowed_ns: float, taken_ns: float, usual_ns: float) -> "Part":
        """For a device that takes longer than allowed. If only a little longer, this cause claims only the excess.

        `usual_ns` is what its kind takes. What is allowed is the slowest of all kinds, so it is not a bound of what can be saved.
        """
        late = 1 - allowed_ns / taken_ns
        return cls(1.0, 1 - usual_ns / taken_ns) if late >= LATE else cls(late, 1.0)


def find(facts: Facts) -> Candidate | None:
    """Long service at a shallow queue, longer than at other times or than a twin's, or a few requests that take most of the time."""
    found = _found(facts)
    return None if found is None else replace(found, chain=(*found.chain, *health.reported(facts)))


def _found(facts: Facts) -> Candidate | None:
    requests = facts.requests
    stuck = (_stuck if facts.run.pasted else _silent)(facts)
    if not facts.budget.known:
        return stuck or _paused(facts) or _counters(facts)
    waits = facts.budget.elapsed(*classes.STORAGE) >= thresholds.LISTED
    if stuck is not None:
        return stuck
    if not requests.count and not evidence.requests_were_recorded(facts):
        return _paused(facts) or (_counters(facts) if waits else None)
    median = requests.median_service_ns
    if waits and facts.narrowed:
        # What was asked before the time that is looked at is in no request of it.
        paused_then = _paused(facts, MOST_OF * (facts.run.elapsed_ns or 0))
        if paused_then is not None:
            return paused_then
    if median is None:
        return None
    if not (waits or (slow_device.waits_long(facts) and facts.stalled.noticed)):
        return None
    moving = (requests.median_bytes or 0.0) / SLOWEST_BYTES_PER_NS
    allowed = SERVICE_NS + moving
    usual = allowed if requests.rotational is not False else FLASH_NS + moving
    shallow = requests.depth is not None and requests.depth <= SHALLOW
    if requests.count < REQUESTS_MIN or median <= allowed or not (shallow and waits):
        return _than_usual(facts, median)
    beyond = Part.of(allowed, median, usual)
    # If it has no request in that time, it is not its answer that is waited for (but a limit above the queue, say).
    busy = None if facts.stalled.share else evidence.busy_while_waiting(facts)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=beyond.claimed * (1.0 if busy is None else busy)),),
        chain=_chain(facts, median),
        summary=worded(
            "device-slow.requests",
            "waiting for {device}, which takes {each:ns} per request though its queue is short",
            device=requests.device,
            each=median,
        ),
        saving=Saving(beyond.saved, f"if {requests.device} answers in {duration(usual)}"),
        remedies=_remedies(facts, requests.device),
        needs=("block_requests",),
    )


def _than_usual(facts: Facts, median: float) -> Candidate | None:
    """It stalls, or takes longer than it usually does, or than a disk like it."""
    stalled, uneven, failing = facts.stalled, facts.uneven, facts.failing
    if not stalled.share and uneven is None:
        return None
    if failing is not None and failing.dev == facts.requests.dev:
        return None  # it is part of that (device-failing)
    stalls = uneven is None or stalled.share >= uneven.part
    name = facts.requests.device if uneven is None or stalls else uneven.name
    # Of what a limit above the queue holds back, it has only a part; while it is silent, or behind a deep queue, all wait for it.
    shallow = facts.requests.depth is not None and facts.requests.depth <= SHALLOW
    busy = evidence.busy_while_waiting(facts) if shallow and not stalled.silences else None
    # What waits at a ceiling is late for that, but nothing is silent for so long.
    held = facts.ceiling is not None
    part = stalled.share if held and stalled.noticed else slow_device.excess(facts)
    excess = part * (1.0 if busy is None else busy)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=excess),),
        chain=_chain(facts, median, *slow_device.unevenness(uneven)),
        summary=slow_device.stalls(facts)
        if uneven is None or stalls
        else slow_device.later(uneven),
        saving=saving.all_of_it(
            f"if {name} always answers as at other times"
            if uneven is None or uneven.twin is None or stalls
            else f"if {name} answers as {uneven.twin} does"
        ),
        remedies=_remedies(facts, name),
        headline=slow_device.noticed(facts) if stalled.noticed else None,
        excess=not held or stalled.noticed,
        moment=stalled.noticed,
        needs=("block_requests",),
    )


def _chain(facts: Facts, median: float, *more: Link) -> tuple[Link, ...]:
    """When it answered nobody, what its requests take, and how many take far longer."""
    requests, stalled = facts.requests, facts.stalled
    shallow = requests.depth is not None and requests.depth <= SHALLOW
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
        *slow_device.silences(facts),
        *more,
        link(
            f"{requests.device} takes a median of {duration(median)} per request"
            + ("" if requests.depth is None else f", at a queue depth of {requests.depth:.1f}"),
            median,
            "ns",
            "request-latency",
            "device-slow.median",
        ),
        None
        if not stalled.late
        else link(
            f"{plural(stalled.requests, 'request')} of more than {duration(slow_ns(requests.rotational))} {'takes' if stalled.requests == 1 else 'take'} "
            f"{percent(stalled.late)} of all requests' service time"
            + ("" if shallow else ", and the device completes hardly any other then"),
            stalled.late,
            "share",
            "request-latency",
            "device-slow.late",
        ),
    )


def _paused(facts: Facts, least_ns: float = NOTICED_NS) -> Candidate | None:
    """By its counters it completed nothing for a while, with requests in flight."""
    found = paused(facts.relations, min(NOTICED_NS, least_ns))
    if found is None or not (facts.run.pasted or waits_for(facts.relations, found.dev)):
        return None
    known, longest = facts.budget.known, found.pauses[0]
    pause = worded(
        "device-slow.paused",
        "{device} had requests and answered nobody for at least {lasted:ns} from {at:ns} on"
        + (" ({times:count stall} in all)" if len(found.pauses) > 1 else ""),
        device=found.name,
        lasted=longest.lasted_ns,
        at=longest.at_ns,
        times=len(found.pauses),
    )
    cost = worded(
        "device-slow.pause-cost",
        "its requests waited {waited:ns} in all then"
        + ("; at other times it completes {per_s:count}/s" if found.per_s else ""),
        waited=sum(one.waited_ns for one in found.pauses),
        per_s=found.per_s,
    )
    writes = found.written >= SCATTERED
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=found.busy_share),) if known else (),
        chain=(
            link(pause, longest.lasted_ns, "ns", "devices-over-time"),
            link(cost, found.per_s, "1/s", "devices-over-time"),
        ),
        summary=worded(
            "device-slow.pauses",
            ("waiting for {device}, which completes" if known else "completing")
            + " no request for {lasted:ns}",
            device=found.name,
            lasted=sum(one.lasted_ns for one in found.pauses),
        ),
        saving=saving.all_of_it(f"if {found.name} always answers"),
        remedies=_remedies(facts, found.name),
        headline=worded("device-slow.paused-headline", "{pause}.", pause=pause),
        confidence=0.6 if writes else 0.8,
        lowered_by=(*((_EMPTIES,) if writes else ()), *(() if known else (_NOBODY_WAITS,))),
        fixed_share=None if known else found.share,
        share_of=f"{found.name}'s time",
        excess=True,
        moment=True,
    )


def _stuck(facts: Facts) -> Candidate | None:
    """Requests in flight all the time, none of them completed."""
    found = links.most_loaded(facts)
    if found is None or not found.stuck:
        return None
    name, depth, busy = found.name, found.depth or 0.0, found.busy_share
    return Candidate(
        claims=(
            Claim(classes.STORAGE),
            Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({NO_DIRECTION})),
        ),
        chain=chain_of(
            found.shown,
            link(
                f"{plural(round(depth), 'request')} {'is' if round(depth) == 1 else 'are'} in flight, "
                "and none completes",
                depth,
                "requests",
                "devices",
                "device-slow.depth",
            ),
        ),
        summary=worded(
            "device-slow.stuck",
            "waiting for {name}, which is stuck: it completes no request",
            name=name,
        )
        if facts.budget.known
        else worded("device-slow.completes-none", "completing no request (the device is stuck)"),
        saving=saving.all_of_it(f"if {name} answers at all"),
        remedies=_remedies(facts, name),
        confidence=0.8,
        lowered_by=(_ONLY_MEANS,),
        fixed_share=None if facts.budget.known else busy,
        share_of=f"{name}'s time",
    )


def _silent(facts: Facts) -> Candidate | None:
    """It has requests, and completes none until the end; of a command only where that waits for it."""
    found = silent(facts.relations)
    if found is None:
        return None
    waits = facts.budget.elapsed(*classes.STORAGE) >= thresholds.LISTED
    if facts.run.mode != "machine" and not (waits and waits_for(facts.relations, found.dev)):
        return None
    where = found.name if found.mount is None else f"{found.name} (mounted on {found.mount})"
    return Candidate(
        claims=(Claim(classes.STORAGE),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
            link(
                f"{plural(found.requests, 'request')} of {found.name} {'is' if found.requests == 1 else 'are'} in flight, "
                f"and none completed in the last {duration(found.silent_ns)}",
                found.silent_ns,
                "ns",
                "devices-over-time",
                "device-slow.silent",
            ),
        ),
        summary=worded(
            "device-slow.no-answer", "waiting for {where}, which does not answer", where=where
        ),
        saving=saving.all_of_it(f"if {found.name} answers at all"),
        remedies=_remedies(facts, found.name),
        confidence=0.85,
        comes_first=True,
        needs=("disk_samples",),
    )


def _counters(facts: Facts) -> Candidate | None:
    device = facts.devices.top
    if device is None or device.depth is None or device.wait_ns is None:
        return None
    if evidence.others_by_counters(facts):
        return None
    busy, known = device.busy_share or 0.0, facts.budget.known
    allowed = SERVICE_NS + (device.request_bytes or 0.0) / SLOWEST_BYTES_PER_NS
    # Of the time in which the command waits, where that is known: it may be little of all.
    works = evidence.busy_while_waiting(facts) if known else busy
    if device.wait_ns <= allowed or (works or 0.0) < (WORKS if known else USED):
        return None
    # That requests come many at a time explains some waiting, if the device rests in between not all of it.
    bursts = device.depth > SHALLOW
    if bursts and (busy >= ALWAYS or device.wait_ns <= BURSTS * allowed):
        return None
    beyond = Part.of(allowed, device.wait_ns, allowed)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=beyond.claimed),) if known else (),
        chain=chain_of(links.device_load(facts)),
        summary=worded(
            "device-slow.waits",
            ("waiting for {device}, which takes" if known else "taking")
            + " {each:ns} per request "
            + (
                "though it is only {busy:share} busy"
                if bursts or not known
                else "though its queue is short"
            ),
            device=device.name,
            each=device.wait_ns,
            busy=busy,
        ),
        saving=Saving(beyond.saved, f"if {device.name} answers in {duration(allowed)}"),
        remedies=_remedies(facts, device.name),
        confidence=0.7 if known and not bursts else 0.5,
        lowered_by=(_IN_BURSTS if bursts else _ONLY_MEANS, *(() if known else (_NOBODY_WAITS,))),
        fixed_share=None if known else busy,
        share_of=f"{device.name}'s time",
    )


_IN_BURSTS = "requests come many at a time, and wait for each other in part"
_NOBODY_WAITS = "the text does not show whether anything waits for the device"


_EMPTIES = "a disk that empties its write cache completes nothing either"
_ONLY_MEANS = "only the counters' averages are known, not single requests"
_MOVE = Remedy(
    worded("device-slow.other-device-any", "Move its data to another device"),
    risk="downtime while it is copied",
)
_CHECK = Remedy(
    worded(
        "device-slow.see-errors-any",
        "Look for the device's errors in the kernel's log: `dmesg -T --level err,warn`",
    ),
    looks=True,
)


def _remedies(facts: Facts, name: str | None) -> tuple[Remedy, ...]:
    """How to look at this device, then what to do if it stays slow."""
    move = replace(
        _MOVE,
        do=worded(
            "device-slow.other-device",
            "Move {data} to another device",
            data=named.data(facts),
        ),
    )
    return (_CHECK if name is None else slow_device.look(name), move)


CAUSE = Cause(
    name="device-slow",
    title="A slow device",
    meaning=(
        "Requests take far longer than reaching and moving the data should, than the same requests take at other times, or than a disk "
        "of the same kind takes for them, though the queue is short. Or the device answers nobody for a while. "
        "The disk may be about to fail, the network behind it full, its array or host overloaded."
    ),
    measured=(
        "Time from issue to completion, without flushes, at the queue depth of the run. The share of "
        "service time in requests above 100 ms (50 ms if it does not turn) and 20 times the median. In a deep queue, only those count "
        "during which the device completes less than half as many requests as at other times: that it serves "
        "others first is not its fault. Times in which it has requests and answers none: when, how long, what was asked, who waited. Of requests "
        "that find its queue all but empty, and no flush, those of one size, direction and order: what half of them take in each 100 ms, "
        "compared with its own quick tenth, and with disks of its model, size and driver, or of its array. A device that the command waits for and that, by its own counters, has requests in flight but completes none until the recording ends, does not answer. With another tool's figures, also what smartctl, nvme "
        "smart-log, /proc/mdstat and the kernel's log report about that disk."
    ),
    thresholds=(
        Threshold(
            "no request completed at the end", SILENT_NS, "ns",
            "a disk that empties its write cache may complete none for a second",
        ),
        Threshold(
            "no request completed in between", NOTICED_NS, "ns",
            "whoever waits notices",
        ),
        Threshold(
            "median service at a shallow queue", SERVICE_NS, "ns",
            "the longest seek and a full turn of a 5,400 rpm disk; the time to move the data at "
            "50 MB/s is added",
        ),
        Threshold(
            "usual access time of a disk that does not rotate, for what can be saved", FLASH_NS, "ns",
            "flash answers in 0.1 ms, behind a network in 1 ms",
        ),
        Threshold(
            "part of a request's time above the allowed one, from which all waiting counts", LATE, "share",
            "below it, the disk explains only that part; the rest has other causes",
        ),
        Threshold(
            "requests in flight, at most", SHALLOW, "requests",
            "with more, requests wait for each other, and that time is not the device's",
        ),
        Threshold(
            "share of service time in outliers", OUTLIERS, "share",
            "if a few requests take a third of all time, they are the problem",
        ),
        Threshold(
            "writes that jump, from which they are called scattered", SCATTERED, "share",
            "with more, emptying a write cache takes as long as seeking to all of them",
        ),
        Threshold(
            "or, in another tool's figures of a device that is busy less than 90 %, beyond the allowed time", BURSTS, "times",
            "requests that come together wait for each other, but a device that rests in between is behind no more than twice",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "with fewer, the median is chance"),
        Threshold(
            "longer than usual, or than a disk like it, at least", TIMES, "times",
            "less is the spread of seeks, of a queue of two, or of work in the background",
        ),
        Threshold(
            "and if it does not turn, at least", LATE_FLASH_NS, "ns",
            "flash answers in 0.1 ms, behind a network in 1 ms; a disk that turns may take 20 ms",
        ),
        Threshold(
            "a flush, longer than usual, from which it is a stall", LONG_FLUSH, "times",
            "below it, flash may be busy with what was written",
        ),
        Threshold(
            "busy without completing a request, at least", links.STUCK, "share",
            "all of the time, but for what the rounding of a percentage hides",
        ),
    ),
    fooled_by=(
        "another user of the same array or host, whose load cannot be seen from here",
        "a power-saving disk that spins up once",
        "a volume of which a part is in its host's memory: that part is quick",
        "two volumes of one size on different storage, which are taken for twins",
        "a request that a device with a deep queue postpones while it answers others at full rate: not "
        "counted",
        "stalls under a deep queue of scattered writes, which a disk that empties its write cache shows too: "
        "not counted",
    ),
    remedies=(_CHECK, _MOVE),
    experiment="fast-device",
    find=find,
    explains=classes.named("read write sync"),
    settled_by=next_command.DEVICE,
    beats=("device-saturated", "queue-shallow", "random-access", "small-requests", "cache-cold", "metadata-cold", "readahead-poor"),
)  # fmt: skip
