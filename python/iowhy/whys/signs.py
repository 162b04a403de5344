"""Signs that more than one cause looks at, so that they agree on what they see."""

from typing import TYPE_CHECKING

from iowhy.whys import classes
from iowhy.whys.cause import Threshold
from iowhy.whys.chain import count, duration, link, percent, plural, rate, size
from iowhy.whys.finding import Link

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts
    from iowhy.whys.facts.layout import File
    from iowhy.whys.facts.requests import Owner

#: Mean extent below which a file counts as fragmented: reading or writing it takes about 1 ms on
#: a disk of 130 MB/s, where the way to the next one takes 8 ms or more.
EXTENT_BYTES = 128 * 1024
#: Extents below which the layout cannot matter: a run that is slow has thousands of requests.
EXTENTS_MIN = 32
#: A seek and half a turn of a disk take 4 to 12 ms, flash and memory answer below 1 ms: from 2 ms
#: on, the way to the data is paid for, not the data.
SEEK_NS = 2e6
#: Bytes made durable by a sync, up to which its fixed price (commit and flush, 1 to 10 ms) is the
#: larger part: moving 1 MiB takes as long at 100 MB/s.
BYTES_PER_SYNC = 1024 * 1024
#: Half of the requests elsewhere than where the last one ended: then the way dominates.
JUMPS = 0.5
#: A finding below this share of the time is not listed, and less of a wait is not looked at: nobody
#: changes a thing for less.
LISTED = 0.05
#: Of the time of all requests on a device, the share of other processes' up to which it counts as the
#: command's own: with more, what is seen of the device is their doing too.
OTHERS = 0.3
#: Requests or calls that jump, up to which they are in order: readers and writers of one stream go back
#: now and then, for metadata or a header.
IN_ORDER = 0.3

#: What several causes decide by, for the documentation.
SHARED = (
    Threshold("share of the time, at least", LISTED, "share", "nobody changes a thing for less"),
    Threshold(
        "device time of others, for a device of its own, below", OTHERS, "share",
        "with more, what is seen of the device is their doing too",
    ),
    Threshold(
        "requests or calls that jump, for in order, below", IN_ORDER, "share",
        "readers and writers of one stream go back now and then, for metadata or a header",
    ),
    Threshold(
        "requests or calls that jump, for jumping, at least", JUMPS, "share",
        "then the device spends more of its moves on the way than on the data",
    ),
    Threshold(
        "service time of a device that seeks, at least", SEEK_NS, "ns",
        "a seek and half a turn of a disk take 4 to 12 ms, flash and memory answer below 1 ms",
    ),
    Threshold(
        "mean extent of a file in pieces, below", EXTENT_BYTES, "bytes",
        "1 ms of transfer at 130 MB/s, against 8 ms and more of the way to the next one",
    ),
    Threshold(
        "extents of a file in pieces, at least", EXTENTS_MIN, "extents",
        "a few jumps cost nothing beside thousands of requests",
    ),
    Threshold(
        "bytes per sync call of a sync of little, at most", BYTES_PER_SYNC, "bytes",
        "a commit and flush take 1 to 10 ms, as long as moving 1 MiB at 100 MB/s",
    ),
)  # fmt: skip


def fragmented(facts: "Facts") -> list[tuple["Owner", "File"]]:
    """The files among those that cost most whose layout makes their requests small and scattered.

    The application must have asked for more at once, or in order: else it is its own doing.
    """
    found = []
    for owner in facts.requests.owners:
        file = facts.layout.file(owner.dev, owner.ino)
        if file is None or file.extents < EXTENTS_MIN or file.mean_extent_bytes > EXTENT_BYTES:
            continue
        if (owner.jump_share or 0.0) < JUMPS or owner.median_bytes is None:
            continue
        if owner.median_bytes > 2 * file.mean_extent_bytes + 4096:
            continue
        if asks_in_order(facts, owner.median_bytes):
            found.append((owner, file))
    return found


def asks_in_order(facts: "Facts", request_bytes: float) -> bool:
    """Whether the calls ask for much at once, or one after the other."""
    calls = facts.calls
    sizes = [
        s
        for s in (
            calls.sync_median_bytes,
            calls.reading.median_bytes if calls.reads.calls else None,
            calls.writing.median_bytes if calls.writes.calls else None,
        )
        if s is not None
    ]
    if any(s >= 4 * request_bytes for s in sizes):
        return True
    walks = [w.jump_share for w in (calls.reading, calls.writing) if w.jump_share is not None]
    return any(share < JUMPS for share in walks) if walks else not sizes


def flush_share(facts: "Facts") -> float | None:
    """Of the time inside sync-like calls, the share in which the device was flushing its cache."""
    wall, sync = facts.requests.flush_wall_ns, facts.calls.sync_wall_ns
    if wall is not None and sync:
        return min(1.0, wall / sync)
    return None


def bytes_per_sync(facts: "Facts") -> float | None:
    """Bytes made durable per sync-like call."""
    syncs = facts.calls.syncs.calls
    if not syncs:
        return None
    if facts.requests.known and facts.requests.write_bytes:
        return facts.requests.write_bytes / syncs
    if facts.calls.writes.done_bytes is not None:
        return facts.calls.writes.done_bytes / syncs
    return facts.calls.sync_median_bytes


def synchronous_writes(facts: "Facts") -> Link | None:
    """That it is writes which make data durable, not calls of their own."""
    if not facts.calls.by_write:
        return None
    return link(
        f"{count(facts.calls.syncs.calls)} writes wait themselves until the data are durable "
        "(O_SYNC, O_DSYNC)",
        facts.calls.syncs.calls,
        "calls",
        "sync",
    )


def sync_looks_long(facts: "Facts") -> tuple[Link, ...]:
    """When sync-like calls seem to take the time but spend it on a CPU: how little was device time."""
    syncs, elapsed = facts.calls.syncs, facts.run.elapsed_ns
    if facts.calls.by_write or not syncs.calls or not elapsed or syncs.cpu_share is None:
        return ()
    wall = (facts.calls.sync_wall_ns or 0.0) / elapsed
    if wall < 0.2 or syncs.cpu_share < 0.5:
        return ()
    name = facts.calls.sync_name or "fsync"
    blocked = syncs.blocked_share or 0.0
    return (
        link(
            f"{name} looks like the cost: {count(syncs.calls)} calls cover {percent(wall)} of the "
            "run",
            wall,
            "share",
            "sync",
        ),
        link(
            f"but {percent(syncs.cpu_share)} of its time is on a CPU or waiting for one, and only "
            f"{percent(blocked)} in uninterruptible wait: the device's time is no more than that",
            blocked,
            "share",
            "sync",
        ),
    )


def in_calls(facts: "Facts", among: frozenset[str], words: str) -> Link | None:
    """`72 % of the time waits to read, most of it in pread64`."""
    share = facts.budget.elapsed(*among)
    heaviest = facts.budget.heaviest_calls(among)
    if share <= 0:
        return None
    name = heaviest[0][0] if heaviest else None
    most = f", most of it in {name}" if name and heaviest[0][1] >= share / 2 else ""
    return link(f"{percent(share)} of the time {words}{most}", share, "share", "budget")


def call_cost(facts: "Facts", name: str) -> Link | None:
    """How often a call was made, how much it moves, how long it takes against its CPU time."""
    group = facts.calls.by_name.get(name)
    if group is None or not group.calls or group.mean_ns is None:
        return None
    each = ""
    if name == "msync" and facts.calls.sync_median_bytes:
        each = f" of {size(facts.calls.sync_median_bytes)}"
    elif group.bytes and name not in classes.SYNC_CALLS:
        each = f" of {size(group.bytes / group.calls)} on average"
    cpu = ""
    if group.mean_cpu_ns is not None:
        cpu = f", of which {duration(group.mean_cpu_ns)} on a CPU"
    calls = plural(group.calls, "call")
    return link(
        f"{name}: {calls}{each}, {duration(group.mean_ns)} each{cpu}",
        group.mean_ns,
        "ns",
        "syscalls",
    )


def request_shape(facts: "Facts") -> Link | None:
    """Size and order of the command's requests."""
    found = facts.requests
    if not found.known or found.median_bytes is None:
        return None
    jumps = ""
    if found.jump_share is not None:
        jumps = f", {percent(found.jump_share)} of them away from where the one before ended"
    return link(
        f"{count(found.count)} requests to {found.device}, {size(found.median_bytes)} in the "
        f"median{jumps}",
        found.median_bytes,
        "bytes",
        "request-size",
    )


def device_load(facts: "Facts") -> Link | None:
    """How busy the device is and how deep its queue."""
    found = facts.requests
    if found.known and found.busy_share is not None and found.depth is not None:
        elapsed = facts.run.elapsed_ns or 0
        speed = f"; {rate(found.bytes * 1e9 / elapsed)} for {facts.run.who}" if elapsed else ""
        return link(
            f"{found.device} is busy {percent(found.busy_share)} of the whole run, then with "
            f"{found.depth:.1f} requests in flight, anybody's{speed}",
            found.busy_share,
            "share",
            "devices",
        )
    device = facts.devices.top
    if device is None:
        return None
    wait = f", {duration(device.wait_ns)} a request" if device.wait_ns else ""
    depth = f" with {device.depth:.1f} requests in flight" if device.depth else ""
    busy = "" if device.busy_share is None else f" is busy {percent(device.busy_share)}{depth},"
    return link(
        f"{device.name}{busy} does {device.reads_per_s:,.0f} reads and {device.writes_per_s:,.0f} "
        f"writes/s, {rate(device.read_bytes_per_s + device.write_bytes_per_s)}{wait}",
        device.busy_share,
        "share",
        "devices",
    )


def flushes(facts: "Facts") -> Link | None:
    """How many flushes the device did, and how long one takes."""
    found = facts.requests
    if not found.known or not found.flushes:
        return None
    mean = found.flush_ns / found.flushes
    return link(
        f"{count(found.flushes)} cache flushes of {found.device}, {duration(mean)} each",
        found.flushes,
        "flushes",
        "sync",
    )


def waits_while_busy(facts: "Facts") -> float | None:
    """How busy the device is in the time that the command waits for storage (0..1, about)."""
    waiting = facts.budget.elapsed(*classes.STORAGE, classes.THROTTLED)
    requests = facts.requests
    busy = requests.busy_share if requests.known else None
    reading = facts.budget.elapsed(classes.READ)
    if reading > 0.75 * waiting and (requests.others_share or 1.0) < 0.3:
        # What it wrote without waiting, to lay out its file say, is not what it waits for.
        busy = requests.own_busy_share
    if busy is None:
        top = facts.devices.top
        busy = None if top is None else top.busy_share
    if busy is None or waiting <= 0.02:
        return None
    if facts.budget.basis == "machine":
        return busy
    return min(1.0, busy / waiting)
