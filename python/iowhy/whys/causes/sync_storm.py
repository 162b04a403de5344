"""Many sync calls for few bytes."""

from msgspec import Struct

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.sized_writes import SizedWrite, sized_writes
from iowhy.whys.finding import Candidate, Claim, Link, Saving

CALLS_MIN = 20
CALLS_FEW = 5
FLUSH_DOMINATES = 0.5
OWN_FILES = 0.5
# Of files that are synced, from which fewer of them would be fewer syncs.
FILES_MIN = 10
# So often a file is opened, on average, that is opened for every sync.
REOPENED = 4
# Sizes nearer to each other show no price of a file.
TIMES_AS_LARGE = 4
SMALL_COSTS = 1.33

_FEWER_FILES = "write fewer, larger files, or sync once for many of them (syncfs)"
_KEEP_OPEN = "keep the file open, and sync once for many lines or records"
_TRANSACTION = "put more into one transaction, so that one sync serves many (group commit)"
_LARGER_FILES = "write fewer, larger files"
_REMEDIES = (
    "sync once for many changes (transactions, group commit, syncfs at the end)",
    _LARGER_FILES,
    "let losing the last seconds be acceptable (synchronous=NORMAL, async commit)",
)
_QUICK_DEVICE = "keep the files on a device that syncs quickly (flash with a power-safe cache), or in memory where they may be lost"


def find(facts: Facts) -> Candidate | None:
    """Waits for sync, by many calls that each make little durable."""
    syncs, seconds = facts.calls.syncs, facts.run.seconds
    often = seconds is not None and seconds > 0 and syncs.calls / seconds >= CALLS_MIN
    few = syncs.calls < (CALLS_FEW if often else CALLS_MIN)
    if few or facts.budget.elapsed(classes.SYNC) < thresholds.LISTED:
        return _measured(facts)
    if facts.calls.by_write and facts.durable_writes is False:
        # They wait for writeback that nobody asked for: no sync.
        return None
    each = evidence.bytes_per_sync(facts)
    if each is not None and each > thresholds.BYTES_PER_SYNC:
        return None
    flush = evidence.flush_share(facts)
    spread = syncs.files is not None and syncs.files >= OWN_FILES * syncs.calls
    if flush is not None and flush >= FLUSH_DOMINATES and not spread:
        return None
    computing = _computing(facts)
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})), *computing),
        chain=_chain(facts, each, flush, computing),
        summary=f"{'goes into' if computing else 'waits for'} {count(syncs.calls)} sync calls"
        + ("" if each is None else f": {_each(facts, each)}"),
        saving=_saving(facts, spread),
        remedy=evidence.without_durable_writes(facts)
        or (_FEWER_FILES if spread else _KEEP_OPEN if _opened_each_time(facts) else _TRANSACTION),
        remedies=_remedies(syncs.files, spread),
        # No lever takes the durability of a write itself away.
        provable=not facts.calls.by_write,
        needs=("syscalls", "waits"),
        confidence=0.9 if each is not None else 0.75,
        lowered_by=() if each is not None else ("how much each call makes durable is not known",),
    )


def _remedies(files: int | None, spread: bool) -> tuple[str, ...]:
    """Of one file there are not fewer; of a file for each sync the first remedy says so already."""
    fewer = not spread and (files is None or files >= FILES_MIN)
    return tuple(one for one in (*_REMEDIES, _QUICK_DEVICE) if one != _LARGER_FILES or fewer)


def _computing(facts: Facts) -> tuple[Claim, ...]:
    """What the calls take of a CPU, which goes with them: on a quick disk it is as much as they wait.

    None where they compute more than they wait: that is cpu-serial's to say. Of writes that sync themselves the copying is in it.
    """
    kernel, cpu_ns = facts.budget.line(classes.KERNEL), facts.calls.syncs.cpu_ns
    if facts.calls.by_write or not cpu_ns or not kernel.thread_ns or links.sync_looks_long(facts):
        return ()
    part = min(1.0, cpu_ns / kernel.thread_ns)
    if part * kernel.elapsed_share < thresholds.LISTED:
        return ()
    return (Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),)


def _chain(
    facts: Facts, each: float | None, flush: float | None, computing: tuple[Claim, ...]
) -> tuple[Link, ...]:
    """The calls, what each makes durable, and what the journal, the device and writeback do for it."""
    syncs = facts.calls.syncs
    return chain_of(
        links.in_calls(facts, frozenset({classes.SYNC}), "waits for sync"),
        *(
            link(f"{percent(share)} is on a CPU in these calls", share, "share", "sync")
            for claim in computing
            for share in [claim.fraction * facts.budget.elapsed(classes.KERNEL)]
        ),
        links.synchronous_writes(facts),
        links.call_cost(facts, facts.calls.sync_name or "fsync"),
        None
        if each is None
        else link(
            f"{count(syncs.calls)} sync calls: {_each(facts, each)}",
            each,
            "bytes",
            "measurements" if facts.calls.report == "measurements" else "amplification",
        ),
        None
        if syncs.files is None
        else link(f"they are for {plural(syncs.files, 'inode')}", syncs.files, "inodes", "sync"),
        _commits(facts),
        links.flushes(facts),
        None
        if not flush
        else link(
            f"the device is flushing its cache in {percent(flush)} of that time",
            flush,
            "share",
            "sync",
        ),
        _passes(facts),
    )


def _saving(facts: Facts, spread: bool) -> Saving:
    """One sync in the place of all; the data of files of their own are still to be moved."""
    once = saving.once(facts.calls.syncs.calls, "sync")
    if not spread:
        # In one transaction what is changed again and again is written once: how much that is nobody knows.
        return once
    moved = facts.requests.write_bytes
    moving = saving.all_but_moving(
        facts, (classes.SYNC,), moved, "if it syncs once for all of them"
    )
    return min(once, moving, key=lambda one: one.part)


def _each(facts: Facts, each: float) -> str:
    """What each call carries: as it was written, and what became of it on the device."""
    written, syncs, who = facts.calls.writes.done_bytes, facts.calls.syncs.calls, facts.run.who
    if not facts.requests.known or not facts.requests.write_bytes:
        return f"each makes {size(each)} durable"
    # What a program writes to mapped memory passes no call.
    if not written or facts.calls.sync_name == "msync":
        return f"{_device(facts)} writes {size(each)} for each"
    return f"{who} writes {size(written / syncs)} and {_device(facts)} {size(each)} for each"


def _device(facts: Facts) -> str:
    return facts.requests.device or "the device"


def _opened_each_time(facts: Facts) -> bool:
    """Whether a file is opened for about every sync: a logger that appends, syncs and closes."""
    opened = sum(
        group.calls for name, group in facts.calls.by_name.items() if name in ("open", "openat")
    )
    syncs = facts.calls.syncs
    again = syncs.files is None or opened >= REOPENED * syncs.files
    # What makes a file for each (a journal) has none to keep open.
    return again and opened >= OWN_FILES * syncs.calls


def _commits(facts: Facts) -> Link | None:
    journal, syncs = facts.journal, facts.calls.syncs
    if not journal.commits:
        return None
    return link(
        f"{count(journal.commits)} journal commits, {journal.commits / syncs.calls:.2f} per sync "
        "call",
        journal.commits,
        "commits",
        "journal",
    )


def _passes(facts: Facts) -> Link | None:
    writeback = facts.writeback
    if not writeback.passes:
        return None
    visits, sweeps = writeback.passes, max(1, writeback.sweeps)
    return link(
        f"{plural(sweeps, 'writeback pass', 'writeback passes')} over "
        f"{plural(writeback.inodes, 'inode')}: {visits / sweeps:.1f} inodes a pass, "
        f"{writeback.pages / visits:.1f} pages of each",
        writeback.inodes,
        "inodes",
        "writeback",
    )


def _measured(facts: Facts) -> Candidate | None:
    """A benchmark of many small files against few large ones, and what the text says of the waiting."""
    known = facts.budget.known and facts.budget.elapsed(classes.SYNC) >= thresholds.LISTED
    pairs = sorted(_small_against_large(facts), key=lambda pair: pair.times, reverse=True)
    if (known and facts.calls.syncs.calls) or not pairs or pairs[0].times < SMALL_COSTS:
        return None
    reasons = facts.budget.heaviest_reasons(frozenset({classes.SYNC}))
    if any("flush" in reason.lower() or "barrier" in reason.lower() for reason, _ in reasons):
        return None  # what the waits name says it better: flush-cost
    worst = pairs[0]
    others = [pair for pair in pairs[1:] if pair.times < SMALL_COSTS]
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),) if known else (),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.SYNC}), "waits for sync") if known else None,
            link(
                f"{worst.small.name}: {size(worst.small.bytes_per_s)}/s, {worst.large.name}: "
                f"{size(worst.large.bytes_per_s)}/s: the same bytes in small files take "
                f"{worst.times:.1f} times as long",
                worst.times,
                "times",
                "measurements",
            ),
            *(
                link(
                    f"in {pair.run} they take {pair.times:.1f} times as long: it is not the files alone",
                    pair.times,
                    "times",
                    "measurements",
                )
                for pair in others[:1]
            ),
        ),
        summary="is what syncing many small files costs over few large ones"
        if known
        else "is what many small files cost over few large ones",
        saving=Saving(
            1 - 1 / worst.times if known else 1.0, "if they cost no more than large ones do"
        ),
        remedy=_FEWER_FILES,
        confidence=0.75 if known else 0.55,
        lowered_by=(
            "how much each call makes durable is not known"
            if known
            else "that the files are synced is not in the text; latencytop or strace would show it",
        ),
        fixed_share=None if known else 1 - 1 / worst.times,
        share_of="the time that small files take",
    )


class _Pair(Struct, frozen=True):
    """Writing with the smallest and with the largest file size of one run of a benchmark."""

    run: str
    small: SizedWrite
    large: SizedWrite

    @property
    def times(self) -> float:
        """How many times as long the same bytes take in small files."""
        return self.large.bytes_per_s / self.small.bytes_per_s


def _small_against_large(facts: Facts) -> list[_Pair]:
    pairs = []
    for run, tests in sized_writes(facts.measured).items():
        small = min(tests, key=lambda test: (test.file_kib, test.name))
        large = max(tests, key=lambda test: (test.file_kib, test.name))
        if large.file_kib >= TIMES_AS_LARGE * small.file_kib:
            pairs.append(_Pair(run or "it", small, large))
    return pairs


CAUSE = Cause(
    name="sync-storm",
    title="Many sync calls for few bytes",
    meaning=(
        "Every sync waits for the journal and the device, whatever it carries. With little in each, "
        "the run is as long as the number of syncs."
    ),
    measured=(
        "Time in fsync, fdatasync, msync, sync and the like, waiting and on a CPU; calls, bytes written per call, "
        "files synced, journal commits, device flushes."
    ),
    thresholds=(
        Threshold(
            "bytes per sync call, at most", thresholds.BYTES_PER_SYNC, "bytes",
            "a commit and flush take 1 to 10 ms, as long as moving 1 MiB at 100 MB/s: below it the "
            "fixed price is the larger part",
        ),
        Threshold(
            "sync calls, or sync calls a second, at least", CALLS_MIN, "calls",
            "fewer are no storm",
        ),
        Threshold(
            "sync calls in a run of less than a second, at least", CALLS_FEW, "calls",
            "one transaction of a database makes up to four: journal, its directory, data, journal",
        ),
        Threshold(
            "flush share from which flush-cost says it better", FLUSH_DOMINATES, "share",
            "then one file is synced over and over and the device's flush is most of it; when each "
            "file gets its own sync, fewer files are the remedy and this cause stays",
        ),
        Threshold(
            "times that small files take as long as large ones in iozone, at least", SMALL_COSTS, "times",
            "runs of iozone differ by some 10 %; a third is no noise",
        ),
    ),
    fooled_by=(
        "a sync that is long because it computes (see cpu-serial): there only its waiting counts here",
        "O_SYNC and O_DSYNC writes sync without a call of their own",
    ),
    remedies=(*_REMEDIES, _QUICK_DEVICE),
    for_authors=frozenset({_FEWER_FILES, _KEEP_OPEN, _TRANSACTION, *_REMEDIES}),
    experiment="sync-free",
    unsafe_proof=True,
    find=find,
    unseen_without=("syscalls",),
    settled_by=next_command.SYNC,
    beats=(
        "flush-cost", "device-saturated", "queue-shallow", "small-requests", "random-access",
        "writeback-scattered", "device-slow",
        # It takes no more of the CPU time than its calls have.
        "cpu-serial",
    ),
)  # fmt: skip
