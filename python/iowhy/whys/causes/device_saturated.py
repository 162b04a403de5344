"""The device never rests: its queue is full, or it moves all it can."""
# long: a device is seen busy in four ways, each with its own evidence

from msgspec.structs import replace

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, health, links, named, next_command, saving, thresholds
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, size
from iowhy.whys.facts import Facts, below_ceiling, ceilings
from iowhy.whys.facts.stalls import written_in_runs_of
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

BUSY = 0.9
DEPTH = 4.0
#: Busy for so much of the wait, with more than one request at a time (that one is always there is the wait itself): what is waited
#: for, if no other cause explains it.
NEVER_RESTS = 0.95
TWO = 1.5
_MORE_AT_ONCE = "with more requests in flight it might do more"
#: Of the requests that its driver gives it at a time, in flight, from which its queue is full.
FULL = 0.9
LARGE_BYTES = 128 * 1024
STREAMED_BYTES = 32 * 1024
#: Share of vmstat's lines with blocked processes that is called "at any time".
ALWAYS = 0.9
#: Share of seeks up to which requests are in order.
IN_ORDER = 0.1
#: Of the pages that it reads, what it wrote past the cache itself from which that is what to change.
BACK = 0.5


_THROUGH = Remedy(
    worded(
        "device-saturated.page-cache",
        "Write through the page cache (without O_DIRECT) what is read back soon",
    ),
    risk="it takes that much memory from others",
)
_SPLIT = Remedy(
    worded("device-saturated.stripe", "Stripe the data over two devices (RAID 0)"),
    risk="downtime while data moves; all of it is lost if one device fails",
)
_FASTER = Remedy(
    worded("device-saturated.faster-device-any", "Move its data to a faster device"),
    risk="downtime for the move; the device costs money",
)
_LARGER = Remedy(
    worded("device-saturated.in-order-any", "Ask for its data in order, 1 MiB at a time"),
    risk="results come in another order",
    for_authors=True,
)

#: How much can be left out is not known here.
_HALF = Saving(0.5, "with half the bytes")
_SHORTER = Saving(0.5, "if its requests take half as long then")
_BY_DEVICES = {
    _SPLIT: Saving(0.5, "with two devices"),
    _FASTER: Saving(0.5, "with a device twice as fast"),
}


def find(facts: Facts) -> Candidate | None:
    """While the program waits, the device is busy, with more queued or with large requests."""
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
        # It made none: it does not wait for what devices do for others.
        return None
    elif device is not None:
        if evidence.others_by_counters(facts):
            # Others keep it busy: device-contended.
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
    last = depth < DEPTH and not large and run is None
    if last and (busy < NEVER_RESTS or depth < TWO):
        return None
    others = requests.others_share if requests.known else None
    # Without single requests it is not known whether they are in order.
    in_order = requests.jump_share is not None and requests.jump_share < thresholds.JUMPS
    well_used = run is not None or (large and in_order)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=1.0 if others is None else 1 - others),),
        chain=_chain(facts, busy, depth, median, run),
        summary=_says(facts, large, run, median, depth),
        saving=_HALF
        if well_used
        else saving.all_but_moving(
            facts, classes.STORAGE, requests.bytes, "with large requests in order, or from memory"
        ),
        remedies=_well_used(facts) if well_used else _in_order(facts),
        remedy=_THROUGH
        if facts.cache.written_past_share >= BACK
        else None
        if well_used or not _in_turns(facts)
        else _TAKE_TURNS,
        by_remedy=_by_remedy(facts),
        needs=("block_requests", "waits"),
        last=last,
        confidence=0.6 if last else 0.9,
        lowered_by=(_MORE_AT_ONCE,) if last else (),
    )


def _says(
    facts: Facts, large: bool, run: float | None, median: float | None, depth: float
) -> Sentence:
    """What it did in that time."""
    way = {"read": "reads from ", "write": "writes to "}.get(facts.requests.direction or "", "")
    words = f"waiting for {way}{{device}}, which is nearly always busy" + (
        " and moves data in runs of {run:bytes}"
        if run is not None
        else " and moves large requests (median {each:bytes})"
        if large and median is not None and median >= LARGE_BYTES
        else " and moves data in order"
        if large
        else " (queue depth {depth:.1f})"
    )
    return worded(
        "device-saturated.no-rest", words, device=_name(facts), run=run, each=median, depth=depth
    )


def _by_remedy(facts: Facts) -> dict[Remedy, Saving]:
    return {**_with_devices(facts), _THROUGH: _not_read_back(facts)}


def _with_devices(facts: Facts) -> dict[Remedy, Saving]:
    return {**_BY_DEVICES, _faster(facts): _BY_DEVICES[_FASTER]}


def _well_used(facts: Facts) -> tuple[Remedy, ...]:
    return (evidence.compress(facts), _faster(facts), _SPLIT)


def _faster(facts: Facts) -> Remedy:
    return replace(
        _FASTER,
        do=worded(
            "device-saturated.faster-device",
            "Move {data} to a faster device",
            data=named.data(facts),
        ),
    )


def _in_order(facts: Facts) -> tuple[Remedy, ...]:
    """In large pieces; by who cannot change the program, from memory."""
    path, room = named.file(facts), facts.machine.cache_room_bytes
    large = _pieces(facts)
    fits = room is not None and facts.requests.bytes <= room / 2
    reads = facts.requests.direction == "read" and not evidence.direct_io(facts)
    if path is None or not fits or not reads:
        return (large, _faster(facts), _SPLIT)
    return (large, evidence.read_first(facts), _faster(facts), _SPLIT)


def _pieces(facts: Facts) -> Remedy:
    """Large ones, in order."""
    data, pieces = named.data(facts), "{data} in order, 1 MiB at a time"
    if not evidence.only_writes(facts):
        do = worded("device-saturated.in-order", f"Ask for {pieces}", data=data)
        return Remedy(do, risk=_LARGER.risk, for_authors=True)
    do = worded("device-saturated.write-in-order", f"Write {pieces}", data=data)
    return Remedy(do, risk="a crash loses more of what was not written yet", for_authors=True)


def _not_read_back(facts: Facts) -> Saving:
    """What it writes waits for nothing then, and is in memory when it reads it; unless it syncs that."""
    syncing = facts.budget.elapsed(classes.SYNC) / facts.budget.elapsed(*classes.STORAGE)
    return Saving(
        facts.cache.written_past_share * (1 - syncing),
        "if what it writes is in memory when it reads it, and the disk has it later",
    )


def _name(facts: Facts) -> str:
    """The device that is waited for."""
    if facts.requests.known and facts.requests.count and facts.requests.device:
        return facts.requests.device
    return "its device" if facts.devices.top is None else facts.devices.top.name


def _large_from(facts: Facts) -> int:
    """The size from which moving the data is most of what a request takes."""
    return STREAMED_BYTES if evidence.streams_on_a_disk_that_turns(facts) else LARGE_BYTES


_TAKE_TURNS = Remedy(
    worded(
        "device-saturated.one-by-one",
        "Read one file after the other: read at once, they make the device jump between them",
    ),
    risk="fewer threads work at the same time",
)


def _in_turns(facts: Facts) -> bool:
    """Whether every thread reads in order, in files that are in order, and the requests jump nevertheless."""
    jumping, own = facts.requests.jump_share, facts.calls.reading.jump_share
    return (
        jumping is not None
        and own is not None
        and own < thresholds.JUMPS <= jumping
        and (facts.threads.count or 1) > 1
    )


def _chain(
    facts: Facts, busy: float, depth: float, median: float | None, run: float | None
) -> tuple[Link, ...]:
    """How loaded the device is, what requests move, and how busy it is while they are waited for."""
    reads = " with reads" if evidence.only_reads_count(facts) else ""
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
        links.device_load(facts),
        _full(facts, depth),
        links.request_shape(facts),
        None
        if facts.requests.known or median is None
        else link(
            f"each request moves {size(median)}",
            median,
            "bytes",
            "devices",
            "device-saturated.median",
        ),
        None
        if run is None
        else link(
            f"half of the bytes move in runs of {size(run)} or more",
            run,
            "bytes",
            "request-pattern",
            "device-saturated.run",
        ),
        link(
            f"{_name(facts)} is busy{reads} for {percent(busy)} of that waiting time",
            busy,
            "share",
            "devices",
            "device-saturated.busy",
        ),
    )


def _bulk_sync(facts: Facts) -> float | None:
    """The length of the runs, if it waits for a sync of much data that goes to the device in long runs.

    The kernel chooses the requests of such a sync, not the caller: small ones in a row move data as
    large ones do. It does not matter that a disk writes them only in the flush at the end.
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
    """iostat -dx or sar -d: the device's own figures, with or without those of the CPUs."""
    if not facts.run.pasted:
        return None
    found, known = links.most_loaded(facts), facts.budget.known
    if found is None or found.busy_share is None or found.depth is None:
        return None
    if found.busy_share < BUSY or found.depth < DEPTH or found.completed_per_s == 0:
        return None  # if it completes nothing it is stuck (device-slow)
    top = facts.devices.top
    large = top is not None and (top.request_bytes or 0.0) >= LARGE_BYTES
    stands = _stands_still(facts)
    return Candidate(
        claims=(Claim(classes.STORAGE),) if known else (),
        chain=chain_of(found.shown, stands),
        summary=worded(
            "device-saturated.queue",
            (
                "waiting for {device}, which is nearly always busy"
                if known
                else "serving requests without rest"
            )
            + " (queue depth {depth:.1f})",
            device=found.name,
            depth=found.depth,
        ),
        saving=_HALF if large else _SHORTER,
        by_remedy=_with_devices(facts),
        remedies=_well_used(facts) if large else _in_order(facts),
        confidence=0.7 if known and stands is None else 0.5,
        lowered_by=(
            *(() if known else ("the text does not show whether anything waits for the device",)),
            *(() if stands is None else (_WHOSE,)),
        ),
        fixed_share=None if known else found.busy_share,
        share_of=f"{found.name}'s time",
    )


_WHOSE = "one request at a time (fio's `--iodepth=1`) would show whether the limit is its own or was bought"


def _stands_still(facts: Facts) -> Link | None:
    """That its rate does, where nothing shows whose limit that is."""
    top = facts.devices.top
    found = ceilings.standing(facts.relations, None if top is None else top.dev)
    if found is None or facts.ceiling is not None:
        return None
    said = worded(
        "device-saturated.same-rate",
        "its rate stands still at {requests:count} requests/s ({spread:share} more or less), and more at once only wait longer",
        requests=found.requests_per_s,
        spread=found.spread,
    )
    return link(said, found.requests_per_s, "1/s", "devices-over-time")


def _full(facts: Facts, depth: float) -> Link | None:
    """That as many requests are in flight as its driver gives it at a time."""
    dev = facts.requests.dev
    most = None if dev is None else below_ceiling.stack(facts.relations, dev)[0].at_once
    if most is None or depth < FULL * most:
        return None
    said = worded(
        "device-saturated.at-once",
        "its driver gives it {most:count request} at a time, and {depth:.1f} are in flight",
        most=most,
        depth=depth,
    )
    return link(said, most, "requests", "device-facts")


def _large_in_order(facts: Facts) -> Candidate | None:
    """Only sizes and seeks of a volume: large requests in order, the best that a disk can be asked for."""
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
                        f"each {kind} {'to' if kind == 'write' else 'from'} {volume} moves {size(sizes[volume])} on average",
                        sizes[volume],
                        "bytes",
                        "measurements",
                        "device-saturated.sizes",
                    ),
                    link(
                        f"{percent(seeks[volume])} of the requests need a seek",
                        seeks[volume],
                        "share",
                        "measurements",
                        "device-saturated.seeks",
                    ),
                ),
                summary=worded(
                    "device-saturated.large-in-order",
                    "waiting for {volume}, which moves large requests in order ({request:bytes} each)",
                    volume=volume,
                    request=sizes[volume],
                ),
                saving=_HALF,
                by_remedy=_BY_DEVICES,
                remedies=_well_used(facts),
                confidence=0.6,
                lowered_by=("the text does not show how busy the device is (`iostat -x 1` does)",),
            )
    return None


def _blocked_only(facts: Facts) -> Candidate | None:
    """vmstat alone: nothing waits for a CPU, processes are blocked all the time, CPUs idle."""
    machine = facts.machine
    blocked, share = machine.blocked, machine.blocked_share
    if not facts.run.pasted or not machine.waits_for_disks or blocked is None or share is None:
        return None
    disks = sorted(facts.measured.metric("operations_per_s").items(), key=lambda pair: -pair[1])
    active = [one for one in disks if one[1] > 0]
    if disks and not active:
        # The listed disks do nothing: what is waited for is not among them.
        return None
    always = share >= ALWAYS
    return Candidate(
        claims=(
            Claim(classes.STORAGE),
            Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({NO_DIRECTION})),
        ),
        chain=chain_of(
            link(
                f"{blocked:.1f} processes are blocked {'at any time' if always else 'on average'}, and none waits for a CPU",
                blocked,
                "processes",
                "system",
                "device-saturated.blocked",
            ),
            None
            if machine.idle is None
            else link(
                f"the CPUs are {percent(machine.idle)} idle",
                machine.idle,
                "share",
                "system",
                "device-saturated.idle",
            ),
            link(
                "the load is on "
                + ", ".join(f"{name} ({rate:.0f} operations/s)" for name, rate in active),
                sum(rate for _, rate in disks),
                "operations/s",
                "measurements",
                "device-saturated.sum",
            )
            if active
            else None,
        ),
        summary=worded(
            "device-saturated.cpus-idle",
            "waiting for {device} while CPUs idle",
            device=active[0][0] if len(active) == 1 else "disks",
        ),
        saving=_HALF,
        by_remedy=_BY_DEVICES,
        confidence=0.5 if always else 0.4,
        lowered_by=(
            "the text does not show how busy the disks are (`iostat -x 1` does)",
            *(() if always else (f"no process is blocked in {percent(1 - share)} of the samples",)),
        ),
        remedy=_SPLIT,
    )


CAUSE = Cause(
    name="device-saturated",
    title="A device at its limit",
    meaning=(
        "The device's queue always holds work, or requests are so large that it moves data at its "
        "best rate. More parallelism only makes requests wait longer."
    ),
    measured=(
        "The time in which the device has requests (from queue to completion), as a share of the time that the "
        "program waits for storage; the mean queue depth; the request sizes. From other tools: iostat's "
        "utilisation and queue, and what smartctl, nvme smart-log, /proc/mdstat and the kernel's log report "
        "about that disk."
    ),
    thresholds=(
        Threshold(
            "device busy while the program waits", BUSY, "share",
            "below it, the device rests between requests, and something else sets the pace",
        ),
        Threshold(
            "requests in flight", DEPTH, "requests",
            "with four, the next is ready when one ends, and a disk can choose their order",
        ),
        Threshold(
            "device busy, with two requests, if no other cause explains the wait", NEVER_RESTS, "share",
            "the wait is for it, though it might serve more",
        ),
        Threshold("requests in flight then, at least", TWO, "requests", "with one at a time, that the device is busy is the wait itself"),
        Threshold(
            "large request", LARGE_BYTES, "bytes",
            "from this size on, moving the data takes longer than reaching it, and more depth adds nothing; "
            "in a sync of more than 1 MiB, adjacent requests count as one",
        ),
        Threshold(
            "large request, if in order on a rotating disk", STREAMED_BYTES, "bytes",
            "at 150 MB/s moving it takes 0.2 ms, reaching its place without a seek about 0.05 ms",
        ),
    ),
    fooled_by=(
        "a device that serves many requests at once (SSD, array): 100 % utilisation means busy, not full, "
        "so the depth counts too",
        "a throttle below the queue, which looks like a slow device",
    ),
    remedies=(_LARGER, evidence.COMPRESS, _FASTER, _SPLIT),
    experiment="io-contention",
    find=find,
    explains=classes.named("read write sync"),
    settled_by=next_command.DEVICE,
)  # fmt: skip
