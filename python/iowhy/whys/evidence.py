"""What a recording shows that more than one cause rests on, so that they agree on what they see."""

from iowhy.whys import classes, thresholds
from iowhy.whys.facts import Facts
from iowhy.whys.facts.layout import File
from iowhy.whys.facts.requests import Owner


def fragmented(facts: Facts) -> list[tuple[Owner, File]]:
    """The files among those that cost most whose layout makes their requests small and scattered.

    The application must have asked for more at once, or in order: else it is its own doing.
    """
    found = []
    for owner in facts.requests.owners:
        file = facts.layout.file(owner.dev, owner.ino)
        if (
            file is None
            or file.extents < thresholds.EXTENTS_MIN
            or file.mean_extent_bytes > thresholds.EXTENT_BYTES
        ):
            continue
        if (owner.jump_share or 0.0) < thresholds.JUMPS or owner.median_bytes is None:
            continue
        if owner.median_bytes > 2 * file.mean_extent_bytes + 4096:
            continue
        if asks_in_order(facts, owner.median_bytes):
            found.append((owner, file))
    return found


def asks_in_order(facts: Facts, request_bytes: float) -> bool:
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
    return any(share < thresholds.JUMPS for share in walks) if walks else not sizes


def flush_share(facts: Facts) -> float | None:
    """Of the time inside sync-like calls, the share in which the device was flushing its cache."""
    wall, sync = facts.requests.flush_wall_ns, facts.calls.sync_wall_ns
    if wall is not None and sync:
        return min(1.0, wall / sync)
    return None


def bytes_per_sync(facts: Facts) -> float | None:
    """Bytes made durable per sync-like call."""
    syncs = facts.calls.syncs.calls
    if not syncs:
        return None
    if facts.requests.known and facts.requests.write_bytes:
        return facts.requests.write_bytes / syncs
    if facts.calls.writes.done_bytes is not None:
        return facts.calls.writes.done_bytes / syncs
    return facts.calls.sync_median_bytes


def waits_while_busy(facts: Facts) -> float | None:
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
