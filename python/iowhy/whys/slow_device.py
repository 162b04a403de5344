"""What makes a device slow or failing, in words: links of both causes, and how to look at the device."""

import re

from iowhy.invocation import quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.silent import NOTICED_NS
from iowhy.whys.facts.uneven import Uneven
from iowhy.whys.finding import Link
from iowhy.whys.remedy import Remedy

#: Linux disks that SMART can be read from: not virtual ones, arrays or volumes.
_HAS_SMART = re.compile(r"sd[a-z]+|nvme\d+n\d+")
#: How many stalls, and who waited for them, are listed.
SHOWN = 3


def excess(facts: Facts) -> float:
    """Of the waiting for storage, what its device takes longer than if it were well."""
    return max(facts.stalled.share, 0.0 if facts.uneven is None else facts.uneven.part)


def stalls(facts: Facts) -> Sentence:
    """What was waited for, of a device that stalls."""
    stalled = facts.stalled
    return worded(
        "slow-device.stalls",
        "waiting for {device}, which "
        + (
            "answered nobody for {silent:ns}"
            + (" ({times:count stall})" if len(stalled.silences) > 1 else "")
            if stalled.silences
            else "stalled for {requests:count request}"
        ),
        device=facts.requests.device,
        silent=sum(one.lasted_ns for one in stalled.silences),
        times=len(stalled.silences),
        requests=stalled.requests,
    )


def waits_long(facts: Facts) -> bool:
    """Whether any wait, or sleep for what is asked, is so long that a silence that somebody notices may be in it."""
    if facts.budget.asleep(*classes.STORAGE) * (facts.run.elapsed_ns or 0) >= NOTICED_NS:
        return True
    if not facts.relations.has("waits"):
        return False
    longest = facts.relations.value(int, "SELECT max(max_ns) AS ns FROM wait_sums")
    return (longest or 0) >= NOTICED_NS / 2


def noticed(facts: Facts) -> Sentence:
    """That it answered nobody for a while, and what that cost whoever waited, however little it is of all."""
    stalled = facts.stalled
    return worded(
        "slow-device.noticed",
        "{device} answered nobody for {lasted:ns} from {at:ns} on"
        + (" ({times:count stall} in all)" if len(stalled.silences) > 1 else "")
        + ": {who} waited {waited:ns} for it.",
        device=facts.requests.device,
        lasted=stalled.silences[0].lasted_ns,
        at=stalled.silences[0].at_ns,
        times=len(stalled.silences),
        who=stalled.waiters[0].name,
        waited=stalled.waiters[0].waited_ns,
    )


def silences(facts: Facts) -> tuple[Link, ...]:
    """When its device answered nobody, for how long, what it had then, and who waited."""
    stalled, device = facts.stalled, facts.requests.device
    found = [
        link(
            worded(
                "slow-device.silence",
                "{device} answered nobody for {lasted:ns} from {at:ns} on; it had {asked}",
                device=device,
                lasted=one.lasted_ns,
                at=one.at_ns,
                asked=one.asked,
            ),
            one.lasted_ns,
            "ns",
            "stalls",
        )
        for one in stalled.silences[:SHOWN]
    ]
    more = stalled.silences[SHOWN:]
    if more:
        lasted = sum(one.lasted_ns for one in more)
        said = worded(
            "slow-device.silences",
            "{times:count more stall}, {lasted:ns} in all",
            times=len(more),
            lasted=lasted,
        )
        found.append(link(said, lasted, "ns", "stalls"))
    if stalled.waiters:
        said = worded(
            "slow-device.waited",
            "waiting for it then: {waiters}",
            waiters=", ".join(
                worded(
                    "slow-device.waiter", "{name} {waited:ns}", name=one.name, waited=one.waited_ns
                )
                for one in stalled.waiters[:SHOWN]
            ),
        )
        found.append(link(said, stalled.waiters[0].waited_ns, "ns", "stalls"))
    return tuple(found)


def later(uneven: Uneven) -> Sentence:
    """What was waited for, of a device that takes longer than at other times, or than its twin."""
    return worded(
        "slow-device.later",
        "waiting for {device}, which takes {late:ns} per {op}"
        + (
            " at times, and {usual:ns} at others"
            if uneven.twin is None
            else "; {twin}, a disk like it, takes {usual:ns}"
        ),
        device=uneven.name,
        op=uneven.op,
        late=uneven.late_ns,
        usual=uneven.usual_ns,
        twin=uneven.twin,
    )


def unevenness(uneven: Uneven | None) -> tuple[Link, ...]:
    """The same requests at other times, or of another disk."""
    if uneven is None:
        return ()
    said = worded(
        "slow-device.uneven",
        "with its queue all but empty, {device} takes {late:ns} per {op} of {bytes:bytes}"
        + (
            " between {since:ns} and {until:ns}, and {usual:ns} at other times"
            if uneven.twin is None
            else "; {twin} takes {usual:ns}"
        ),
        device=uneven.name,
        op=uneven.op,
        late=uneven.late_ns,
        usual=uneven.usual_ns,
        bytes=uneven.bytes,
        since=uneven.since_ns,
        until=uneven.until_ns,
        twin=uneven.twin,
    )
    return (link(said, uneven.late_ns, "ns", "request-latency-over-time"),)


def look(name: str) -> Remedy:
    """A disk reports on itself, a virtual one can only be seen from its host."""
    if _HAS_SMART.fullmatch(name):
        return Remedy(
            worded(
                "slow-device.see-smart",
                "Ask {name} for its own errors: `smartctl -a /dev/{name}`",
                name=name,
            ),
            looks=True,
        )
    return Remedy(
        worded(
            "slow-device.see-errors",
            "Look for errors from {name}: `dmesg -T | grep {word}`",
            name=name,
            word=quoted(name),
        ),
        looks=True,
    )
