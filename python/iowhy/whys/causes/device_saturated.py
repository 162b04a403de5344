"""The device never rests: its queue is full, or it moves all it can."""

from msgspec.structs import replace

from iowhy.whys import classes, evidence, health, links, next_command, saving, thresholds
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.stalls import written_in_runs_of
from iowhy.whys.finding import Candidate, Claim, Link, Saving

BUSY = 0.9
DEPTH = 4.0
LARGE_BYTES = 128 * 1024
STREAMED_BYTES = 32 * 1024
#: Share of vmstat's lines with blocked processes that is called "at any time".
ALWAYS = 0.9
#: Share of seeks up to which requests are in order.
IN_ORDER = 0.1


_WELL_USED = (
    "move less: nothing is wrong with the way the device is used",
    "split the load over devices",
    "use a faster device",
)


#: Who moves less saves as much; what can be left out is not known here.
_HALF = Saving(0.5, "with half of the bytes, or on two devices")


def find(facts: Facts) -> Candidate | None:
    """While the command waits, the device is busy, with more queued or with large requests."""
    found = _found(facts)
    return None if found is None else replace(found, chain=(*found.chain, *health.reported(facts)))


def _found(facts: Facts) -> Candidate | None:
    if not facts.budget.known:
        return _device_alone(facts)
    if facts.budget.elapsed(*classes.STORAGE) < thresholds.LISTED:
        # BSD has no iowait: what is known are processes that are blocked, in which direction is not.
        return None if facts.machine.iowait else _blocked_only(facts)
    requests, device = facts.requests, facts.devices.top
    if requests.known and requests.count:
        depth = requests.own_depth if evidence.alone_on_its_device(facts) else requests.depth
        median = requests.median_bytes
    elif evidence.requests_were_recorded(facts):
        # It made none: what others' devices do is not what it waits for.
        return None
    elif device is not None:
        if evidence.others_by_counters(facts):
            # What keeps it busy is not the command: device-contended.
            return None
        depth, median = device.depth, device.request_bytes
    else:
        return _device_alone(facts) or _large_in_order(facts) or _blocked_only(facts)
    busy = evidence.busy_while_waiting(facts)
    if busy is None:
        return _large_in_order(facts) or _blocked_only(facts)
    if busy < BUSY or depth is None:
        return None
    large = median is not None and median >= _large_from(facts)
    run = None if large else _bulk_sync(facts)
    if depth < DEPTH and not large and run is None:
        return None
    others = requests.others_share if requests.known else None
    # Whether large requests lie in order is not known where no single ones are.
    in_order = requests.jump_share is not None and requests.jump_share < thresholds.JUMPS
    well_used = run is not None or (large and in_order)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=1.0 if others is None else 1 - others),),
        chain=_chain(facts, busy, median, run),
        summary="waits for a device that is busy all that time"
        + (
            " and moves its data in long runs"
            if run is not None
            else " and moves large requests"
            if large and median is not None and median >= LARGE_BYTES
            else " and moves in order what it is given"
            if large
            else ""
        ),
        saving=_HALF
        if well_used
        else saving.all_but_moving(
            facts, classes.STORAGE, requests.bytes, "with large requests in order, or from memory"
        ),
        remedies=_WELL_USED if well_used else (),
        remedy=None if well_used or not _in_turns(facts) else _TAKE_TURNS,
        needs=("block_requests", "waits"),
    )


def _large_from(facts: Facts) -> int:
    """The size from which moving the data is most of what a request takes."""
    return STREAMED_BYTES if evidence.streams_on_a_disk_that_turns(facts) else LARGE_BYTES


_TAKE_TURNS = "read one file after the other: each is read in order, but at once the device goes from one to the next"


def _in_turns(facts: Facts) -> bool:
    """Whether every thread reads in order, in files that lie in order, and the requests jump all the same."""
    jumping, own = facts.requests.jump_share, facts.calls.reading.jump_share
    return (
        jumping is not None
        and own is not None
        and own < thresholds.JUMPS <= jumping
        and (facts.threads.count or 1) > 1
    )


def _chain(facts: Facts, busy: float, median: float | None, run: float | None) -> tuple[Link, ...]:
    """How loaded the device is, what requests move, and how busy it is while they are waited for."""
    reads = "with reads " if evidence.only_reads_count(facts) else ""
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "waits for storage"),
        links.device_load(facts),
        links.request_shape(facts),
        None
        if facts.requests.known or median is None
        else link(f"a request moves {size(median)}", median, "bytes", "devices"),
        None
        if run is None
        else link(
            f"half of the bytes are moved in runs of {size(run)} and more",
            run,
            "bytes",
            "request-pattern",
        ),
        link(
            f"in the time spent waiting for storage, it is busy {reads}{percent(busy)}",
            busy,
            "share",
            "devices",
        ),
    )


def _bulk_sync(facts: Facts) -> float | None:
    """When it waits for a sync of much data, which goes to the device in long runs: their length.

    The kernel chooses the requests of such a sync, not the caller, so that small ones in a row move
    data as large ones do; nor does it matter that the flush at its end is where a disk writes them.
    """
    syncing = facts.budget.elapsed(classes.SYNC)
    each = evidence.bytes_per_sync(facts)
    if 2 * syncing < facts.budget.elapsed(*classes.STORAGE) or facts.calls.by_write:
        return None
    if each is None or each <= thresholds.BYTES_PER_SYNC:
        return None
    run = written_in_runs_of(facts.relations, facts.requests)
    return run if run is not None and run >= LARGE_BYTES else None


def _device_alone(facts: Facts) -> Candidate | None:
    """iostat -dx or sar -d: the device's own figures, without or beside those of the CPUs."""
    if not facts.run.pasted:
        return None
    found, known = links.most_loaded(facts), facts.budget.known
    if found is None or found.busy_share is None or found.depth is None:
        return None
    if found.busy_share < BUSY or found.depth < DEPTH or found.completed_per_s == 0:
        return None  # one that completes nothing is stuck (device-slow)
    return Candidate(
        claims=(Claim(classes.STORAGE),) if known else (),
        chain=chain_of(found.shown),
        summary="waits for a device that has no rest" if known else "it has no rest",
        saving=_HALF,
        confidence=0.7 if known else 0.5,
        lowered_by=() if known else ("whether anything waits for the device is not in the text",),
        fixed_share=None if known else found.busy_share,
        share_of=f"{found.name}'s time",
    )


def _large_in_order(facts: Facts) -> Candidate | None:
    """Sizes and seeks of a volume alone: large requests in order, the best that a disk can be asked for."""
    if not facts.run.pasted:
        return None
    seeks = facts.measured.metric("seek_share")
    for kind in ("write", "read"):
        sizes = facts.measured.metric(f"{kind}_mean_bytes")
        volume = max((name for name in sizes if name in seeks), key=sizes.__getitem__, default=None)
        if volume and sizes[volume] >= LARGE_BYTES and seeks[volume] < IN_ORDER:
            return Candidate(
                claims=(Claim(classes.STORAGE),),
                chain=(
                    link(
                        f"a {kind} to {volume} moves {size(sizes[volume])} on average",
                        sizes[volume],
                        "bytes",
                        "measurements",
                    ),
                    link(
                        f"{percent(seeks[volume])} of the requests need a seek",
                        seeks[volume],
                        "share",
                        "measurements",
                    ),
                ),
                summary="waits for a device that moves large requests in order",
                saving=_HALF,
                remedies=_WELL_USED,
                confidence=0.6,
                lowered_by=("how busy the device is is not in the text (iostat prints it)",),
            )
    return None


def _blocked_only(facts: Facts) -> Candidate | None:
    """vmstat alone: no CPU is missed, processes are blocked all the time, CPUs idle."""
    machine = facts.machine
    blocked, share = machine.blocked, machine.blocked_share
    if not facts.run.pasted or not machine.waits_for_disks or blocked is None or share is None:
        return None
    disks = sorted(facts.measured.metric("operations_per_s").items(), key=lambda pair: -pair[1])
    if disks and not any(rate > 0 for _, rate in disks):
        # The disks that are listed do nothing: what is waited for is not there.
        return None
    always = share >= ALWAYS
    return Candidate(
        claims=(
            Claim(classes.STORAGE),
            Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({NO_DIRECTION})),
        ),
        chain=chain_of(
            link(
                f"{blocked:.1f} processes are blocked {'at any time' if always else 'on average'} and none waits for a CPU",
                blocked,
                "processes",
                "system",
            ),
            None
            if machine.idle is None
            else link(
                f"the CPUs are {percent(machine.idle)} idle meanwhile",
                machine.idle,
                "share",
                "system",
            ),
            link(
                "the load is on "
                + ", ".join(
                    f"{name} ({rate:.0f} operations/s)" for name, rate in disks if rate > 0
                ),
                sum(rate for _, rate in disks),
                "operations/s",
                "measurements",
            )
            if any(rate > 0 for _, rate in disks)
            else None,
        ),
        summary="waits for disks while CPUs idle",
        saving=_HALF,
        confidence=0.5 if always else 0.4,
        lowered_by=(
            "how busy the disks are is not in the text (iostat -x 1 prints it)",
            *(() if always else (f"no process is blocked in {percent(1 - share)} of the samples",)),
        ),
        remedy="split the load over devices",
    )


CAUSE = Cause(
    name="device-saturated",
    title="The device does all it can",
    meaning=(
        "There is always work in the device's queue, or requests are so large that it moves data "
        "at its best rate. More parallelism only makes requests wait longer."
    ),
    measured=(
        "Union of the requests' intervals from queue to completion against the time that the "
        "command waits for storage, mean number in flight, request sizes; from other tools the "
        "utilisation and queue of iostat, and beside them what smartctl, nvme smart-log, /proc/mdstat and "
        "the kernel's log report of that disk."
    ),
    thresholds=(
        Threshold(
            "device busy while the command waits", BUSY, "share",
            "below it, the device rests between requests and something else sets the pace",
        ),
        Threshold(
            "requests in flight", DEPTH, "requests",
            "with four, another is ready when one ends, and a disk can order them",
        ),
        Threshold(
            "large request", LARGE_BYTES, "bytes",
            "from here on moving the data takes longer than reaching it, so depth adds nothing; "
            "in a sync of more than 1 MiB, requests in a row count as one",
        ),
        Threshold(
            "the same of requests in order on a disk that turns", STREAMED_BYTES, "bytes",
            "at 150 MB/s they take 0.2 ms to move, and reach their place without a seek in some 0.05 ms",
        ),
    ),
    fooled_by=(
        "utilisation of a device that serves many at once (SSD, array) says busy, not full: "
        "hence the depth",
        "a throttle below the queue looks like a slow device",
    ),
    remedies=(
        "move fewer bytes or make fewer requests (larger, in order, cached)",
        "split the load over devices",
        "use a faster device",
    ),
    experiment="io-contention",
    find=find,
    settled_by=next_command.DEVICE,
)  # fmt: skip
