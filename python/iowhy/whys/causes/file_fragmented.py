"""The file is in pieces: reading or writing it in order becomes small scattered requests."""

from pathlib import PurePath

from iowhy import units
from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem, of
from iowhy.whys.facts.layout import File
from iowhy.whys.facts.owners import Owner
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

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
            links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
            _asked(facts),
            *_layout(owner, file),
            _allocated(file),
            link(
                f"in order, its {size(moved)} would take about {duration(remains_ns)}; that part is not "
                "counted here",
                remains_ns,
                "ns",
                "files",
                "file-fragmented.remains",
            ),
        ),
        summary=worded(
            "file-fragmented.in-pieces",
            "waiting for {name}, fragmented into {extents:count} extents: requests of {request:bytes} that jump",
            name=name,
            extents=file.extents,
            request=owner.median_bytes,
        ),
        saving=saving.all_of_it("if the file is in one piece"),
        remedies=_remedies(filesystem, file),
        provable=not copied,
        needs=("block_requests", "extents"),
    )


_BUSY = "heavy I/O while it runs"
_COPY = Remedy(
    worded(
        "file-fragmented.rewrite-any",
        "Write it again in one piece: copy it, and rename the copy",
    ),
    risk=_BUSY,
)
_ALLOCATE = Remedy(
    worded(
        "file-fragmented.allocate-any",
        "Allocate the file in one piece before it is written (`fallocate`)",
    ),
    risk="its space is taken at once",
    for_authors=True,
)
#: What defragments a file, by the kind of filesystem.
_TOOLS = {"ext4": "e4defrag", "xfs": "xfs_fsr", "btrfs": "btrfs filesystem defragment"}


def _remedies(one: Filesystem | None, file: File) -> tuple[Remedy, ...]:
    """What puts it into one piece on its kind of filesystem, then what keeps it so."""
    path = file.path
    if path is None:
        return ()
    tool = None if one is None else _TOOLS.get(one.kind)
    typed = (
        f"{tool} {quoted(path)}"
        if tool
        else f"cp -p {quoted(path)} {quoted(path + '.new')} && mv {quoted(path + '.new')} {quoted(path)}"
    )
    lost = "" if tool else "; what is written during the copy is lost"
    if one is not None and one.copies_on_write:
        # What is written again goes to another place: blocks allocated ahead are not kept.
        return (
            Remedy(
                worded("file-fragmented.defragment", "Defragment it: `{typed}`", typed=typed),
                risk=f"{_BUSY}; snapshots no longer share its space",
            ),
            Remedy(
                worded(
                    "file-fragmented.no-copy-on-write",
                    "Turn off copy-on-write for new files next to it: `chattr +C {parent}`",
                    parent=quoted(str(PurePath(path).parent)),
                ),
                risk="no checksums and no compression for their data",
            ),
        )
    length = f"fallocate -l {file.bytes} {quoted(path)}"
    rewrite = Remedy(
        worded(
            "file-fragmented.rewrite",
            "{value}: `{typed}`",
            value="Defragment it" if tool else "Write it again",
            typed=typed,
        ),
        risk=f"{_BUSY}{lost}",
    )
    allocate = Remedy(
        worded(
            "file-fragmented.allocate",
            "Allocate it in one piece before it is written: `{length}`",
            length=length,
        ),
        risk=_ALLOCATE.risk,
        for_authors=True,
    )
    return (allocate, rewrite) if _laid_out_here(file) else (rewrite, allocate)


def _laid_out_here(file: File) -> bool:
    """Whether the recorded run allocated most of it: the next run may do so again, whatever was put in order in between."""
    return file.allocations is not None and 2 * file.allocations >= file.extents


def _asked(facts: Facts) -> Link | None:
    """What the call that waits most asks for; page faults wait too, and have no call."""
    heaviest = facts.budget.heaviest_calls(classes.STORAGE)
    call = next((name for name, _ in heaviest if name in facts.calls.by_name), None)
    return None if call is None else links.call_cost(facts, call)


def _layout(owner: Owner, file: File) -> tuple[Link, ...]:
    """What that becomes on the device, and how the file is laid out there."""
    return (
        link(
            f"{count(owner.count)} requests for it, {size(owner.median_bytes)} in the median",
            owner.median_bytes,
            "bytes",
            "files",
            "file-fragmented.median-bytes",
        ),
        link(
            f"{percent(owner.jump_share)} of these requests do not start where the one queued before ended",
            owner.jump_share,
            "share",
            "files",
            "file-fragmented.jump-share",
        ),
        link(
            f"the file is in {count(file.extents)} extents of {size(file.mean_extent_bytes)} each",
            file.extents,
            "extents",
            "layout",
            "file-fragmented.extents",
        ),
        link(
            f"{percent(file.sequentiality)} of its neighbouring blocks are neighbours on the device (sequentiality)",
            file.sequentiality,
            "share",
            "layout",
            "file-fragmented.sequentiality",
        ),
    )


def _allocated(file: File) -> Link | None:
    """Who allocated it, if that was recorded: writers that take turns mix their blocks."""
    if not file.allocations or file.writers is None:
        return None
    between = ""
    if file.writers > 1 and file.interleaved is not None:
        between = f"; {percent(file.interleaved)} of the steps follow another thread's"
    return link(
        f"{plural(file.writers, 'thread')} allocated it in {count(file.allocations)} steps while "
        f"writing{between}",
        file.writers,
        "threads",
        "layout",
        "file-fragmented.writers",
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
        # No time was printed at all. Of what a jump costs, the way to the data is more than moving it.
        fixed = SEEKS if seeks is None else seeks
    return Candidate(
        claims=(Claim(AMONG),),
        chain=_printed_chain(facts, file, sequentiality, seeks, request),
        summary=worded(
            "file-fragmented.fragmented",
            "accessing {file}, which is fragmented (sequentiality {sequentiality:share}), in small requests that jump",
            file=file,
            sequentiality=sequentiality,
        ),
        saving=saving.all_of_it("if the file is in one piece"),
        confidence=0.85,
        lowered_by=() if fixed is None else ("the text shows no shares of time",),
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
    """The call that takes longest, its requests, and how the file is laid out."""
    extents = facts.measured.metric("extents").get(file)
    return chain_of(
        _slowest_call(facts),
        None
        if request is None
        else link(
            f"each request moves {size(request)} on average",
            request,
            "bytes",
            "measurements",
            "file-fragmented.request",
        ),
        None
        if seeks is None
        else link(
            f"{percent(seeks)} of the requests need a seek",
            seeks,
            "share",
            "measurements",
            "file-fragmented.seeks",
        ),
        link(
            f"only {percent(sequentiality)} of {file}'s neighbouring blocks are neighbours on the device (sequentiality)",
            sequentiality,
            "share",
            "measurements",
            "file-fragmented.sequentiality-shown",
        ),
        None
        if extents is None
        else link(
            f"it has {count(extents)} extents",
            extents,
            "extents",
            "measurements",
            "file-fragmented.extents-shown",
        ),
    )


def _slowest_call(facts: Facts) -> Link | None:
    """The call with the longest mean, compared with its CPU time."""
    calls = facts.measured.metric("elapsed_mean_ns")
    slowest = max(calls, key=calls.__getitem__, default=None)
    if slowest is None:
        return None
    on_cpu = facts.measured.metric("cpu_mean_ns").get(slowest)
    cpu = "" if on_cpu is None else f", only {duration(on_cpu)} of it on a CPU: it waits for I/O"
    return link(
        f"{slowest} takes {duration(calls[slowest])} on average{cpu}",
        calls[slowest],
        "ns",
        "measurements",
        "file-fragmented.calls",
    )


CAUSE = Cause(
    name="file-fragmented",
    title="Fragmented file",
    meaning=(
        "Neighbouring blocks of the file are not neighbours on the device. One large call, or calls in "
        "order, become many small requests with a jump between them. Causes are blocks allocated while "
        "several programs write, a nearly full filesystem, and copy-on-write."
    ),
    measured=(
        "Extents of the files (FIEMAP), joined with the requests for their pages: count, mean length, "
        "sequentiality (the share of neighbouring blocks that are neighbours on the device, as AIX' "
        "fileplace counts it), sizes and jumps of the requests, and the threads that allocated."
    ),
    thresholds=(
        Threshold(
            "mean extent, at most", thresholds.EXTENT_BYTES, "bytes",
            "1 ms of transfer at 130 MB/s, compared with 8 ms or more to reach the next one",
        ),
        Threshold(
            "extents, at least", thresholds.EXTENTS_MIN, "extents",
            "a few jumps cost nothing compared with thousands of requests",
        ),
        Threshold(
            "requests that jump", thresholds.JUMPS, "share",
            "below it most requests continue the one before, whatever the layout says",
        ),
        Threshold(
            "rate in order, at the least", saving.KINDS[0].bytes_per_s, "bytes/s",
            "between the 100 MB/s of a disk's inner tracks and the 250 MB/s of the outer ones; for flash, "
            "and for what the run shows to be faster, 500 MB/s or 3 GB/s; if reads in order have several "
            "sizes, the rate that these show. The data must be moved in any layout: only the time beyond "
            "that is claimed, as only that can be saved",
        ),
        Threshold(
            "sequentiality printed by another tool, at most", SEQUENTIALITY, "share",
            "every other block is elsewhere: half of all blocks cost a seek",
        ),
        Threshold(
            "mean request printed by another tool, at most", REQUEST_BYTES, "bytes",
            "half a millisecond of transfer: reaching it costs a disk ten times as much",
        ),
    ),
    fooled_by=(
        "a program that jumps: then the layout is not the cause (random-access); without recorded calls "
        "this cannot be seen",
        "a device without seek time (flash): small requests still cost time, jumps hardly any",
        "an array or thin volume that maps blocks once more",
    ),
    remedies=(_COPY, _ALLOCATE),
    experiment="preallocate",
    find=find,
    explains=classes.named("read write sync throttled"),
    unseen_without=("block_requests", "extents"),
    settled_by=next_command.FILE,
    beats=(
        "flush-cost", "random-access", "small-requests", "device-saturated", "device-slow",
        "queue-shallow", "sync-storm", "writeback-scattered", "dirty-throttled", "cache-cold",
        "readahead-poor", "device-capped",
    ),
)  # fmt: skip
