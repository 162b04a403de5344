"""What a recording shows that more than one cause rests on, so that they agree on what they see."""

from collections.abc import Iterable

from msgspec.structs import replace

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, named, thresholds
from iowhy.whys.facts import MOSTLY, Facts
from iowhy.whys.facts.devices import turns
from iowhy.whys.facts.layout import File
from iowhy.whys.facts.operations import direct_operations
from iowhy.whys.facts.owners import Owner, adjacent_share
from iowhy.whys.facts.stacks import Through
from iowhy.whys.facts.threads import busiest
from iowhy.whys.finding import Claim
from iowhy.whys.remedy import Remedy
from iowhy.whys.settle import matches

#: Of the elapsed time, waiting below which a device's load cannot be related to it.
TOO_LITTLE = 0.02
#: Pages: 1 MiB. So few are swapped on any machine.
SWAP_PAGES = 256
#: What ends a wait for what is read for the first time, whichever kind of thing that is.
READ_FIRST = Remedy(
    worded("shared.warm-cache-any", "Read its files into memory before they are needed"),
    risk="others have less memory",
)
_SINCE_LAST = "a crash loses what was written since the last sync"
SYNC_ONCE = Remedy(
    worded("shared.sync-once", "Sync once for many writes"),
    risk=_SINCE_LAST,
    for_authors=True,
)
_SINCE = "a crash loses what was written since the last fsync"
COMPRESS = Remedy(
    worded("shared.compress-any", "Compress its data with zstd, so that fewer bytes move"),
    risk="compressing takes CPU time",
)
_SINCE_SECONDS = "a crash loses the files of the last half minute"
#: The mode of runnable time while CPUs idle (relations/budget_cells.sql).
DELAYED = "delayed"


def fragmented_files(facts: Facts) -> list[tuple[Owner, File]]:
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
        if owner.jump_share is None or owner.median_bytes is None:
            continue
        if owner.jump_share < thresholds.JUMPS:
            continue
        if owner.median_bytes > 2 * file.mean_extent_bytes + facts.page_bytes:
            continue
        if asks_in_order(facts, owner.median_bytes) and not _jumps_in_file(facts, owner):
            found.append((owner, file))
    return found


def _jumps_in_file(facts: Facts, owner: Owner) -> bool:
    """Whether its requests jump since what is written or read jumps in the file, which no layout changes."""
    share = adjacent_share(facts.relations, owner)
    return share is not None and share < thresholds.ADJACENT


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


def streams_on_a_disk_that_turns(facts: Facts) -> bool:
    """Whether its requests are in order on a disk with one head, which moves them one by one as fast as many at once."""
    requests = facts.requests
    jumps = requests.jump_share
    return (
        turns(requests.device, requests.rotational)
        and jumps is not None
        and jumps < thresholds.IN_ORDER
    )


def one_head(facts: Facts, service_ns: float | None) -> bool:
    """Whether the device has one head: it says that it turns, or its requests take as long as a seek."""
    requests = facts.requests
    return turns(requests.device, requests.rotational) or (
        service_ns is not None and service_ns >= thresholds.SEEK_NS
    )


def requests_were_recorded(facts: Facts) -> bool:
    """Whether its own requests are known, also that there were none.

    Other tools' lists of requests without one of the command's say nothing: they name no command.
    """
    return facts.requests.known and (facts.requests.count > 0 or not facts.run.pasted)


def alone_on_its_device(facts: Facts) -> bool:
    """Whether others take hardly any of its device's time; False when that is not known."""
    others = facts.requests.others_share
    return others is not None and others < thresholds.OTHERS


def others_by_counters(facts: Facts) -> bool:
    """Whether, where no requests were recorded, others moved a good part of what its device did."""
    share = None if requests_were_recorded(facts) else facts.devices.own_share
    return share is not None and 1 - share >= thresholds.OTHERS


def flush_share(facts: Facts) -> float | None:
    """Of the time inside sync-like calls, the share in which the device was flushing its cache (0: never)."""
    requests, sync_ns = facts.requests, facts.calls.sync_wall_ns
    if not requests.known or requests.dev is None or not sync_ns:
        return None
    if not requests.flushes:
        return 0.0
    return None if requests.flush_wall_ns is None else min(1.0, requests.flush_wall_ns / sync_ns)


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


def read_first(facts: Facts, *, names: bool = False) -> Remedy:
    """How its data, or the names in its tree, come to be in memory before they are needed."""
    typed = named.read_into_memory(facts, names=names)
    if typed is None:
        return READ_FIRST
    return replace(
        READ_FIRST,
        do=worded(
            "shared.warm-cache",
            "Read all of it into memory before it is needed: `{typed}`",
            typed=typed,
        ),
    )


def sync_once(facts: Facts) -> Remedy:
    """One sync for many changes, with the file that it syncs."""
    syncs = facts.calls.syncs
    name = facts.calls.sync_name or "fsync"
    if not syncs.calls or facts.run.pasted:
        return SYNC_ONCE
    one = named.file(facts)
    what = f"{name} for {one}" if one is not None and syncs.files == 1 else name
    of = "after all changes" if name in ("sync", "syncfs") else "for many writes"
    return replace(
        SYNC_ONCE,
        do=worded(
            "shared.call-once",
            "Call {what} once {of} instead of {calls:count} times",
            what=what,
            of=of,
            calls=syncs.calls,
        ),
    )


def calls_that_wait(facts: Facts, waits: frozenset[str]) -> frozenset[str | None] | None:
    """The calls that wait, where page faults do so too: how calls go through files says nothing of what is mapped. None: any."""
    pieces = [piece for piece in facts.budget.pieces if piece.cls in waits]
    if not any(piece.call is None and piece.reason in classes.KNOWN_REASONS for piece in pieces):
        return None
    return frozenset(piece.call for piece in pieces if piece.call is not None)


def waiting_in(facts: Facts, waits: frozenset[str], calls: frozenset[str | None] | None) -> float:
    """Share of the elapsed time that waits so in these calls (None: any, and page faults)."""
    return sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls in waits and (calls is None or piece.call in calls)
    )


def claims_through(waits: Iterable[Through], among: frozenset[str]) -> tuple[Claim, ...]:
    """Of the waits of these classes in each call and for each reason, the part whose stacks show it."""
    return tuple(
        Claim(
            among,
            calls=frozenset({one.call}),
            reasons=frozenset({one.reason}),
            fraction=one.shown_ns / one.total_ns,
        )
        for one in waits
        if one.shown_ns and one.total_ns
    )


def claimed(facts: Facts, claims: Iterable[Claim]) -> float:
    """Share of the elapsed time that some claims are about, which are about different pieces of it."""
    return sum(
        piece.elapsed * claim.fraction
        for claim in claims
        for piece in facts.budget.pieces
        if matches(claim, piece)
    )


def only_reads_count(facts: Facts) -> bool:
    """Whether it waits for its own reads, on its own device: then only these are its device's work.

    What it wrote without waiting, to allocate its file say, is not what it waits for.
    """
    waiting = facts.budget.elapsed(*classes.STORAGE, classes.THROTTLED)
    reading = facts.budget.elapsed(classes.READ) > MOSTLY * waiting
    return reading and bool(facts.requests.own_busy_share) and alone_on_its_device(facts)


def only_writes(facts: Facts) -> bool:
    """Whether what it waits for are writes; of texts, whether the device that they show reads nothing."""
    if facts.requests.known:
        return facts.requests.direction == "write"
    top = facts.devices.top
    return top is not None and top.reads_per_s == 0 < top.writes_per_s


def busy_while_waiting(facts: Facts) -> float | None:
    """How busy its device is in the time that the command waits for storage (0..1, about).

    None if not known: also where its requests were recorded and there are none, as what other
    devices do then says nothing of what it waits for.
    """
    waiting = facts.budget.elapsed(*classes.STORAGE, classes.THROTTLED)
    requests = facts.requests
    if not requests_were_recorded(facts):
        busy = None if facts.devices.top is None else facts.devices.top.busy_share
    elif only_reads_count(facts):
        busy = requests.own_busy_share
    else:
        busy = requests.busy_share
    if busy is None or waiting <= TOO_LITTLE:
        return None
    if facts.budget.basis == "machine":
        return busy
    return min(1.0, busy / waiting)


def without_durable_writes(facts: Facts) -> Remedy | None:
    """What to do if writes wait themselves until they are durable; None if separate calls sync."""
    if not facts.calls.by_write:
        return None
    written = facts.written_filesystem
    if written is not None and written.mounted_sync:
        return Remedy(
            worded(
                "shared.mount-without-sync",
                "Mount it without sync: `mount -o remount,async {mount}`",
                mount=quoted(written.mount),
            ),
            risk=_SINCE_SECONDS,
        )
    one = named.file(facts)
    return Remedy(
        worded(
            "shared.no-o-sync",
            "Open {one} without O_SYNC or O_DSYNC, and fsync once for many writes",
            one=one or "its files",
        ),
        risk=_SINCE,
        for_authors=True,
    )


def direct_io(facts: Facts) -> bool:
    """Whether calls, or operations of io_uring and libaio, wait for requests of direct I/O, which passes the page cache by."""
    if any(piece.reason == "direct_io" for piece in facts.budget.pieces):
        return True
    return direct_operations(facts.relations)


def reclaim_cpu(facts: Facts) -> float:
    """Share of the elapsed time that threads are on a CPU to free memory for themselves, for want of it.

    0 where nothing is swapped: then it is cache that is dropped, which goes on in every group whose limit the
    cache has reached, and which more memory would only put off.
    """
    swapped = facts.machine.swap_pages
    if swapped is None or swapped < SWAP_PAGES:
        return 0.0
    return sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == classes.KERNEL and piece.reason == classes.RECLAIM
    )


def delayed(facts: Facts) -> float:
    """Share of the elapsed time that threads were ready and waited for a CPU while CPUs idled."""
    return sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == classes.RUNNABLE and piece.mode == DELAYED
    )


def one_program(facts: Facts) -> str | None:
    """Of a whole machine, the program that uses half of the CPUs in use, with what else there is of it; "" of what is one program,
    None where no program does: then the machine's threads have nothing in common that could be done otherwise."""
    if facts.run.mode != "machine" or facts.run.pasted:
        return ""
    used, programs = facts.threads.cores_used, busiest(facts.relations)
    if not used or not programs or 2 * programs[0].cores < used:
        return None
    first = programs[0]
    return first.name if first.processes == 1 else f"{first.name} ({first.processes} processes)"


def by_function(facts: Facts) -> Remedy:
    """Where to look in its own code."""
    shown = "iowhy report functions" if facts.relations.has("stack_samples") else "perf top"
    return Remedy(
        worded(
            "shared.see-functions",
            "See which functions take the time: `{shown}`",
            shown=shown,
        ),
        looks=True,
    )


def let_run_on_all(facts: Facts) -> Remedy:
    """If threads are bound to a CPU."""
    return Remedy(named.all_cpus(facts), risk="other work on these CPUs gets slower")


def compress(facts: Facts) -> Remedy:
    """Its file, as it is compressed; what it writes before it is written."""
    path = named.file(facts)
    if path is None or not path.startswith("/"):
        return COMPRESS
    if facts.requests.direction != "read":
        return Remedy(
            worded("shared.write-compressed", "Write {path} compressed with zstd", path=path),
            risk="programs that read it as it is now fail",
            for_authors=True,
        )
    return Remedy(
        worded(
            "shared.compress",
            "Compress the file, and read it with `zstdcat`: `zstd {path}`",
            path=quoted(path),
        ),
        risk="reading takes more CPU time",
    )
