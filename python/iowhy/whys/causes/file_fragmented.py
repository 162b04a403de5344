"""The file lies in pieces, so what is asked for in order becomes small scattered requests."""

from iowhy.whys import classes, evidence, links, next_command, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

SEQUENTIALITY = 0.5
SEEKS = 0.5
REQUEST_BYTES = 64 * 1024
#: What a device moves in order, by kind: a disk, flash behind SATA, flash behind PCIe.
IN_ORDER_BYTES_PER_S = (150e6, 500e6, 3e9)


def find(facts: Facts) -> Candidate | None:
    """Files in many extents take the request time, though the calls ask for much or in order."""
    found = evidence.fragmented(facts)
    if not found:
        return _measured(facts)
    owner, file = max(found, key=lambda pair: pair[0].time_ns)
    among = classes.STORAGE | {classes.THROTTLED}
    share = min(1.0, sum(o.time_share for o, _ in found))
    moved = sum(o.bytes for o, _ in found)
    waiting_ns = share * facts.budget.elapsed(*among) * (facts.run.elapsed_ns or 0)
    order = _in_order(facts, moved, waiting_ns)
    if order is None:
        return None
    remains_ns = moved * 1e9 / order
    heaviest = facts.budget.heaviest_calls(classes.STORAGE)
    # Page faults wait too, where the kernel has no call to tell of.
    call = next((name for name, _ in heaviest if name in facts.calls.by_name), None)
    name = file.path or f"inode {file.ino}"
    mixed = None
    if file.allocations and file.writers is not None:
        between = ""
        if file.writers > 1 and file.interleaved is not None:
            between = f", {percent(file.interleaved)} of them right after another thread's"
        mixed = link(
            f"{plural(file.writers, 'thread')} allocated it in {count(file.allocations)} steps, as "
            f"they wrote{between}",
            file.writers,
            "threads",
            "layout",
        )
    return Candidate(
        claims=(Claim(among, fraction=share * (1 - remains_ns / waiting_ns)),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "waits for storage"),
            None if call is None else links.call_cost(facts, call),
            link(
                f"{name}: {count(owner.count)} requests, {size(owner.median_bytes)} in the median",
                owner.median_bytes,
                "bytes",
                "files",
            ),
            link(
                f"{percent(owner.jump_share)} of them are not next to the one before (seek share)",
                owner.jump_share,
                "share",
                "request-pattern",
            ),
            link(
                f"because the file lies in {count(file.extents)} extents, "
                f"{size(file.mean_extent_bytes)} each",
                file.extents,
                "extents",
                "layout",
            ),
            link(
                f"its sequentiality is {percent(file.sequentiality)}",
                file.sequentiality,
                "share",
                "layout",
            ),
            mixed,
            link(
                f"in order, its {size(moved)} would take some {duration(remains_ns)}: that is not "
                "claimed",
                remains_ns,
                "ns",
                "devices",
            ),
        ),
        summary=(
            f"goes to {name}, which lies in {count(file.extents)} extents, so that calls become "
            f"requests of {size(owner.median_bytes)} that jump"
        ),
        needs=("block_requests", "extents"),
    )


def _in_order(facts: Facts, moved: float, waiting_ns: float) -> float | None:
    """Bytes per second that the device would move in order: of the slowest kind that it can be.

    None when it moves them as fast as that already: then the layout costs nothing that is known.
    """
    kinds = IN_ORDER_BYTES_PER_S[1 if facts.requests.rotational is False else 0 :]
    return next((kind for kind in kinds if kind * waiting_ns > moved * 1e9), None)


def _measured(facts: Facts) -> Candidate | None:
    """filemon, fileplace and curt of AIX, or whatever printed the same numbers."""
    measured = facts.measured
    order = measured.metric("sequentiality")
    if not order:
        return None
    file, sequentiality = min(order.items(), key=lambda item: item[1])
    if sequentiality > SEQUENTIALITY:
        return None
    seeks = max(measured.metric("seek_share").values(), default=None)
    sizes = [
        *measured.metric("write_mean_bytes").values(),
        *measured.metric("read_mean_bytes").values(),
    ]
    request = min((s for s in sizes if s > 0), default=None)
    if seeks is None and request is None:
        return None
    if (seeks is not None and seeks < SEEKS) or (request is not None and request > REQUEST_BYTES):
        return None
    calls = measured.of("curt", "elapsed_mean_ns")
    cpu = measured.of("curt", "cpu_mean_ns")
    slowest = max(calls, key=lambda name: calls[name] * 1.0, default=None)
    waits = None
    fixed = None
    if slowest is not None:
        on_cpu = cpu.get(slowest)
        waits = link(
            f"{slowest} takes {duration(calls[slowest])} on average"
            + ("" if on_cpu is None else f", but only {duration(on_cpu)} of CPU: it waits for I/O"),
            calls[slowest],
            "ns",
            "syscalls",
        )
    if not facts.budget.known:
        # No time was printed at all; the way to the data is what a jump costs more than its bytes.
        fixed = seeks if seeks is not None else 0.5
    extents = measured.metric("extents").get(file)
    lowered = ["shares of time are not in the text"] if fixed is not None else []
    return Candidate(
        claims=(Claim(classes.STORAGE | {classes.THROTTLED}),),
        chain=chain_of(
            waits,
            None
            if request is None
            else link(
                f"a request moves {size(request)} on average", request, "bytes", "request-size"
            ),
            None
            if seeks is None
            else link(
                f"{percent(seeks)} of the requests need a seek", seeks, "share", "request-pattern"
            ),
            link(
                f"because the blocks of {file} lie apart: its sequentiality is "
                f"{percent(sequentiality)}",
                sequentiality,
                "share",
                "layout",
            ),
            None
            if extents is None
            else link(f"it has {count(extents)} extents", extents, "extents", "layout"),
        ),
        summary=(
            f"goes to {file}, whose blocks lie apart (sequentiality {percent(sequentiality)}), so "
            "that large calls become small requests that jump"
        ),
        confidence=0.85,
        lowered_by=tuple(lowered),
        fixed_share=fixed,
    )


CAUSE = Cause(
    name="file-fragmented",
    title="The file lies in pieces",
    meaning=(
        "Neighbouring blocks of the file are not neighbours on the device, so that one large call, "
        "or calls in order, become many small requests with a jump between them. It comes from "
        "allocating blocks as they are written, by several writers at once or on a full file "
        "system, and from copy-on-write."
    ),
    measured=(
        "Extents of the files (FIEMAP) joined with the requests that their pages became: count, "
        "mean length, sequentiality (the share of neighbouring blocks that are neighbours on the "
        "device, as AIX' fileplace counts it), the requests' sizes and jumps, and which threads "
        "allocated."
    ),
    thresholds=(
        Threshold(
            "mean extent, at most", thresholds.EXTENT_BYTES, "bytes",
            "1 ms of transfer at 130 MB/s, against 8 ms and more of the way to the next one",
        ),
        Threshold(
            "extents, at least", thresholds.EXTENTS_MIN, "extents",
            "a few jumps cost nothing beside thousands of requests",
        ),
        Threshold(
            "requests that jump", thresholds.JUMPS, "share",
            "below it most requests continue the one before, whatever the layout says",
        ),
        Threshold(
            "rate in order, at the least", IN_ORDER_BYTES_PER_S[0], "bytes/s",
            "between the 100 MB/s of a disk's inner tracks and the 250 MB/s of the outer ones; flash, "
            "and what the run shows to be faster, 500 MB/s, or 3 GB/s. The data must be moved in "
            "any layout: only the time beyond that is claimed, which is what another one can save",
        ),
        Threshold(
            "sequentiality printed by another tool, at most", SEQUENTIALITY, "share",
            "every other block elsewhere: half of all blocks cost a seek",
        ),
        Threshold(
            "mean request printed by another tool, at most", REQUEST_BYTES, "bytes",
            "half a millisecond of transfer: the way to it costs a disk ten times as much",
        ),
    ),
    fooled_by=(
        "an application that itself jumps: then the layout is innocent (random-access); calls that "
        "are not recorded hide that",
        "a device without seek time (flash): small requests still cost, jumps hardly",
        "an array or thin volume that maps blocks once more",
    ),
    remedies=(
        "allocate it before writing (fallocate, or write it once in order)",
        "use larger blocks or an extent size hint (xfs_io extsize, bigalloc)",
        "defragment what is there (xfs_fsr, e4defrag, btrfs filesystem defragment, or copy it)",
    ),
    experiment="preallocate",
    find=find,
    settled_by=next_command.FILE,
    beats=(
        "flush-cost", "random-access", "small-requests", "device-saturated", "device-slow",
        "queue-shallow", "sync-storm", "writeback-scattered", "dirty-throttled", "cache-cold",
        "readahead-poor",
    ),
)  # fmt: skip
