"""The file lies in pieces, so what is asked for in order becomes small scattered requests."""

from iowhy import units
from iowhy.invocation import quoted
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem, of
from iowhy.whys.facts.layout import File
from iowhy.whys.facts.owners import Owner
from iowhy.whys.finding import Candidate, Claim, Link

# Waits for a file in pieces, or pauses because it is written slowly.
AMONG = classes.STORAGE | {classes.THROTTLED}
SEQUENTIALITY = 0.5
SEEKS = 0.5
REQUEST_BYTES = 64 * 1024


def find(facts: Facts) -> Candidate | None:
    """Files in many extents take the request time, though the calls ask for much or in order."""
    found = evidence.fragmented_files(facts)
    if not found:
        return _printed(facts)
    owner, file = max(found, key=lambda pair: pair[0].time_ns)
    share = min(1.0, sum(one.time_share for one, _ in found))
    moved = sum(one.bytes for one, _ in found)
    if facts.shares_of_ns is None:
        return None
    waiting_ns = share * facts.budget.elapsed(*AMONG) * facts.shares_of_ns
    order = saving.in_order_rate(facts, moved, waiting_ns)
    if order is None:
        return None
    remains_ns = moved * 1e9 / order.bytes_per_s
    name = file.path or units.inode(file.ino)
    filesystem = of(facts.filesystems, file.dev)
    copied = filesystem is not None and filesystem.copies_on_write
    return Candidate(
        claims=(Claim(AMONG, fraction=share * (1 - remains_ns / waiting_ns)),),
        chain=chain_of(
            links.in_calls(facts, classes.STORAGE, "waits for storage"),
            _asked(facts),
            *_layout(owner, file, name),
            _allocated(file),
            link(
                f"in order, its {size(moved)} would take some {duration(remains_ns)}: that is not "
                "claimed",
                remains_ns,
                "ns",
                "files",
            ),
        ),
        summary=(
            f"goes to {name}, which lies in {count(file.extents)} extents, so that calls become "
            f"requests of {size(owner.median_bytes)} that jump"
        ),
        saving=saving.all_of_it("if it lies in one piece"),
        remedies=_remedies(filesystem, file.path),
        provable=not copied,
        needs=("block_requests", "extents"),
    )


#: Copy-on-write puts what is written again to another place: blocks allocated ahead are not kept.
_COPY_ON_WRITE = (
    "switch copy-on-write off for it while it is empty (chattr +C on it or its directory, nodatacow)",
    "defragment what is there (btrfs filesystem defragment, or copy it)",
    "write more at a time: what is written together is laid out together",
)
_ALLOCATE = "allocate it before writing (fallocate, or write it once in order)"
_LARGER_UNITS = "use larger blocks or an extent size hint (xfs_io extsize, bigalloc)"
_DEFRAGMENT = (
    "defragment what is there (xfs_fsr, e4defrag, btrfs filesystem defragment, or copy it)"
)
#: By the kind of filesystem: how it is made to allocate in larger units, and what defragments a file.
_OF_KIND = {
    "ext4": ("use larger blocks (bigalloc, when it is made anew)", "e4defrag"),
    "xfs": ("give its directory an extent size hint while it is empty (xfs_io -c 'extsize 1m')", "xfs_fsr"),
    "btrfs": (None, "btrfs filesystem defragment"),
}  # fmt: skip


def _remedies(one: Filesystem | None, path: str | None) -> tuple[str, ...]:
    """Those that its kind has; all where that is not known."""
    if one is None:
        return ()
    if one.copies_on_write:
        return _COPY_ON_WRITE
    units_of, tool = _OF_KIND.get(one.kind, (None, None))
    larger = () if units_of is None else (units_of,)
    if tool is None:
        return (_ALLOCATE, *larger, "copy it: a copy is written in order")
    named = "what is there" if path is None else f"it (as root: `{tool} {quoted(path)}`)"
    return (_ALLOCATE, *larger, f"defragment {named}, or copy it")


def _asked(facts: Facts) -> Link | None:
    """What the call that waits most asks for; page faults wait too, and have no call."""
    heaviest = facts.budget.heaviest_calls(classes.STORAGE)
    call = next((name for name, _ in heaviest if name in facts.calls.by_name), None)
    return None if call is None else links.call_cost(facts, call)


def _layout(owner: Owner, file: File, name: str) -> tuple[Link, ...]:
    """What that became on the device, and how the file lies there."""
    return (
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
            "files",
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
    )


def _allocated(file: File) -> Link | None:
    """Who allocated it, where that was recorded: several writers in turn mix their blocks."""
    if not file.allocations or file.writers is None:
        return None
    between = ""
    if file.writers > 1 and file.interleaved is not None:
        between = f", {percent(file.interleaved)} of them right after another thread's"
    return link(
        f"{plural(file.writers, 'thread')} allocated it in {count(file.allocations)} steps, as "
        f"they wrote{between}",
        file.writers,
        "threads",
        "layout",
    )


def _printed(facts: Facts) -> Candidate | None:
    """Other tools' figures of layout, seeks and request sizes (fileplace, filemon)."""
    order = facts.measured.metric("sequentiality")
    if not order:
        return None
    file, sequentiality = min(order.items(), key=lambda item: item[1])
    if sequentiality > SEQUENTIALITY:
        return None
    seeks = max(facts.measured.metric("seek_share").values(), default=None)
    request = _printed_request(facts)
    if seeks is None and request is None:
        return None
    if (seeks is not None and seeks < SEEKS) or (request is not None and request > REQUEST_BYTES):
        return None
    fixed = None
    if not facts.budget.known:
        # No time was printed at all; the way to the data is what a jump costs more than its bytes.
        fixed = SEEKS if seeks is None else seeks
    return Candidate(
        claims=(Claim(AMONG),),
        chain=_printed_chain(facts, file, sequentiality, seeks, request),
        summary=(
            f"goes to {file}, whose blocks lie apart (sequentiality {percent(sequentiality)}), so "
            "that large calls become small requests that jump"
        ),
        saving=saving.all_of_it("if it lies in one piece"),
        confidence=0.85,
        lowered_by=() if fixed is None else ("shares of time are not in the text",),
        fixed_share=fixed,
        share_of="the requests",
    )


def _printed_request(facts: Facts) -> float | None:
    """The smallest mean request, read or written, of any volume."""
    sizes = [
        *facts.measured.metric("write_mean_bytes").values(),
        *facts.measured.metric("read_mean_bytes").values(),
    ]
    return min((one for one in sizes if one > 0), default=None)


def _printed_chain(
    facts: Facts, file: str, sequentiality: float, seeks: float | None, request: float | None
) -> tuple[Link, ...]:
    """The call that takes longest, its requests, and how the file lies."""
    extents = facts.measured.metric("extents").get(file)
    return chain_of(
        _slowest_call(facts),
        None
        if request is None
        else link(f"a request moves {size(request)} on average", request, "bytes", "measurements"),
        None
        if seeks is None
        else link(f"{percent(seeks)} of the requests need a seek", seeks, "share", "measurements"),
        link(
            f"because the blocks of {file} lie apart: its sequentiality is {percent(sequentiality)}",
            sequentiality,
            "share",
            "measurements",
        ),
        None
        if extents is None
        else link(f"it has {count(extents)} extents", extents, "extents", "measurements"),
    )


def _slowest_call(facts: Facts) -> Link | None:
    """The call with the longest mean, against its CPU time."""
    calls = facts.measured.metric("elapsed_mean_ns")
    slowest = max(calls, key=calls.__getitem__, default=None)
    if slowest is None:
        return None
    on_cpu = facts.measured.metric("cpu_mean_ns").get(slowest)
    cpu = "" if on_cpu is None else f", but only {duration(on_cpu)} of CPU: it waits for I/O"
    return link(
        f"{slowest} takes {duration(calls[slowest])} on average{cpu}",
        calls[slowest],
        "ns",
        "measurements",
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
            "rate in order, at the least", saving.KINDS[0].bytes_per_s, "bytes/s",
            "between the 100 MB/s of a disk's inner tracks and the 250 MB/s of the outer ones; flash, "
            "and what the run shows to be faster, 500 MB/s, or 3 GB/s; where reads in order are of several "
            "sizes, the rate that these show. The data must be moved in "
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
        _ALLOCATE,
        _LARGER_UNITS,
        _DEFRAGMENT,
    ),
    experiment="preallocate",
    find=find,
    unseen_without=("block_requests", "extents"),
    settled_by=next_command.FILE,
    beats=(
        "flush-cost", "random-access", "small-requests", "device-saturated", "device-slow",
        "queue-shallow", "sync-storm", "writeback-scattered", "dirty-throttled", "cache-cold",
        "readahead-poor",
    ),
)  # fmt: skip
