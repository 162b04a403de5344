"""Many syncs for few bytes."""
# long: syncs are calls, durable writes and operations of rings, and each has its own remedies

from msgspec import Struct
from msgspec.structs import replace

from iowhy.invocation import quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, plural, size
from iowhy.whys.durable_names import durable_names
from iowhy.whys.facts import Facts
from iowhy.whys.facts.sized_writes import SizedWrite, sized_writes
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

CALLS_MIN = 20
CALLS_FEW = 5
FLUSH_DOMINATES = 0.5
OWN_FILES = 0.5
# Synced files, from which fewer of them would mean fewer syncs.
FILES_MIN = 10
# Opens of a file, on average, from which it is opened for every sync.
REOPENED = 4
# Closer sizes do not show the cost of a file.
TIMES_AS_LARGE = 4
SMALL_COSTS = 1.33

_KEEP_OPEN = Remedy(
    worded("sync-storm.keep-open", "Keep the file open, and sync it once for many writes"),
    risk="a crash loses what was written since the last sync",
    for_authors=True,
)
#: For whom each file costs.
LARGER_FILES = Remedy(
    worded("sync-storm.one-archive-any", "Write one archive instead of many files"),
    risk="programs that read the single files will not find them",
    for_authors=True,
)
_LATER = Remedy(
    worded(
        "sync-storm.asynchronous-commit",
        "Let commits return before they are durable (asynchronous commit)",
    ),
    risk="a crash loses the last seconds",
    for_authors=True,
)
_QUICK_DEVICE = Remedy(
    worded("sync-storm.fast-disk-any", "Move its files to an SSD with a power-safe cache"),
    risk="downtime for the move; the SSD costs money",
)


def find(facts: Facts) -> Candidate | None:
    """Waits for sync in many calls that each make little durable."""
    syncs, seconds = facts.calls.syncs, facts.run.seconds
    often = seconds is not None and seconds > 0 and syncs.calls / seconds >= CALLS_MIN
    few = syncs.calls < (CALLS_FEW if often else CALLS_MIN)
    if few or facts.budget.elapsed(classes.SYNC) < thresholds.LISTED:
        return durable_names(facts, _quick_device(facts)) or _measured(facts)
    if facts.calls.by_write and facts.durable_writes is False:
        # They wait for writeback that nobody asked for: that is not a sync.
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
        summary=_summary(facts, each, spread),
        saving=_saving(facts, spread),
        remedy=evidence.without_durable_writes(facts)
        or (
            _once_for_all(facts)
            if spread
            else _KEEP_OPEN
            if _opened_each_time(facts)
            else evidence.sync_once(facts)
        ),
        remedies=_remedies(facts, spread),
        by_remedy={_quick_device(facts): saving.all_of_it("if a sync takes no time there")},
        # No lever takes away the durability of a write itself, nor that of an operation.
        provable=not (facts.calls.by_write or facts.calls.syncs_by_ring),
        needs=("syscalls", "waits"),
        confidence=0.9 if each is not None else 0.75,
        lowered_by=() if each is not None else ("how much each call makes durable is not known",),
    )


def _once_for_all(facts: Facts) -> Remedy:
    """One sync of the filesystem for many files."""
    at = named.folder(facts)
    typed = f": `sync -f {quoted(at)}`" if at else ""
    do = worded("sync-storm.sync-once", "Sync once for all files, at the end{typed}", typed=typed)
    return Remedy(do, risk="a crash before the end loses all of them", for_authors=True)


def larger_files(facts: Facts, files: float | None) -> Remedy:
    """The same with their number and place."""
    many = "many" if files is None else count(files)
    at = named.folder(facts)
    return replace(
        LARGER_FILES,
        do=worded(
            "sync-storm.one-archive",
            "Write one archive instead of {many} files{value}",
            many=many,
            value=f" in {at}" if at else "",
        ),
    )


def _quick_device(facts: Facts) -> Remedy:
    return replace(
        _QUICK_DEVICE,
        do=worded(
            "sync-storm.fast-disk",
            "Move {data} to an SSD with a power-safe cache",
            data=named.data(facts),
        ),
    )


def _remedies(facts: Facts, spread: bool) -> tuple[Remedy, ...]:
    """What comes after the first one: fewer files only if there are many. A file that is synced once has no commits."""
    files = facts.calls.syncs.files
    fewer = files is None or files >= FILES_MIN
    later = () if spread else (_LATER,)
    return (*((larger_files(facts, files),) if fewer else ()), *later, _quick_device(facts))


def _summary(facts: Facts, each: float | None, spread: bool) -> Sentence:
    """How often it syncs, how many files, and what it writes each time."""
    calls, syncs = facts.calls, facts.calls.syncs
    carried = each if each is None or not _by_calls(facts) else _by_calls(facts) / syncs.calls
    if calls.by_write:
        return worded(
            "sync-storm.writes",
            "making {writes:count} writes durable one by one"
            + ("" if carried is None else ", {each:bytes} each"),
            writes=calls.sync_writes,
            each=carried,
        )
    own = calls.by_name.get(calls.sync_name or "")
    name = calls.sync_name if own is not None and own.calls == syncs.calls else "sync"
    return worded(
        "sync-storm.calls",
        "syncing: {calls:count} {call} calls"
        + (" for {files:count} files" if spread and syncs.files is not None else "")
        + ("" if carried is None else ", {each:bytes} written for each"),
        calls=syncs.calls,
        call=name,
        files=syncs.files,
        each=carried,
    )


def _by_calls(facts: Facts) -> float:
    """Bytes that the program itself wrote; 0 if not known: what it writes to mapped memory passes no call."""
    return 0.0 if facts.calls.sync_name == "msync" else facts.calls.writes.done_bytes or 0.0


def _computing(facts: Facts) -> tuple[Claim, ...]:
    """CPU time of the calls, which belongs to them: on a quick disk it is as much as they wait.

    None if they compute more than they wait, which is cpu-serial, or if writes sync themselves, whose CPU time includes the copying.
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
    """The calls, what each makes durable, and the work of the journal, the device and writeback for it."""
    syncs = facts.calls.syncs
    return chain_of(
        links.in_calls(facts, frozenset({classes.SYNC}), "is spent waiting for syncs"),
        *(
            link(
                f"{percent(share)} of the time is CPU time in these calls",
                share,
                "share",
                "sync",
                "sync-storm.share",
            )
            for claim in computing
            for share in [claim.fraction * facts.budget.elapsed(classes.KERNEL)]
        ),
        links.synchronous_writes(facts),
        links.call_cost(facts, facts.calls.sync_name or "fsync"),
        None
        if each is None
        else link(
            _each(facts, each),
            each,
            "bytes",
            "measurements" if facts.calls.report == "measurements" else "amplification",
            "sync-storm.each",
        ),
        None
        if syncs.files is None
        else link(
            f"the calls sync {plural(syncs.files, 'file')}",
            syncs.files,
            "inodes",
            "sync",
            "sync-storm.files",
        ),
        _commits(facts),
        links.flushes(facts),
        None
        if not flush
        else link(
            f"the device flushes its cache for {percent(flush)} of that time",
            flush,
            "share",
            "sync",
            "sync-storm.flush",
        ),
        _passes(facts),
    )


def _saving(facts: Facts, spread: bool) -> Saving:
    """One sync instead of all; the data of separate files must still be moved."""
    once = saving.once(facts.calls.syncs.calls, "sync")
    if not spread:
        # In one transaction, what changes again and again is written once: how much that is, is not known.
        return once
    moved = facts.requests.write_bytes
    moving = saving.all_but_moving(facts, (classes.SYNC,), moved, "with one sync for all files")
    return min(once, moving, key=lambda one: one.part)


def _each(facts: Facts, each: float) -> str:
    """What each call carries: as it was written, and as it was written to the device."""
    written, syncs, who = _by_calls(facts), facts.calls.syncs.calls, facts.run.who
    if not facts.requests.known or not facts.requests.write_bytes:
        return f"each sync makes {size(each)} durable"
    if not written:
        return f"{_device(facts)} writes {size(each)} per sync"
    return f"{_device(facts)} writes {size(each)} per sync, {who} itself {size(written / syncs)}"


def _device(facts: Facts) -> str:
    return facts.requests.device or "the device"


def _opened_each_time(facts: Facts) -> bool:
    """Whether a file is opened for about every sync: a logger that appends, syncs and closes."""
    opened = sum(
        group.calls for name, group in facts.calls.by_name.items() if name in ("open", "openat")
    )
    syncs = facts.calls.syncs
    again = syncs.files is None or opened >= REOPENED * syncs.files
    # A program that makes a file for each sync (a journal) has none to keep open.
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
        "sync-storm.commits",
    )


def _passes(facts: Facts) -> Link | None:
    writeback = facts.writeback
    if not writeback.passes:
        return None
    inodes, sweeps = writeback.passes, max(1, writeback.runs_of_passes)
    return link(
        f"{plural(sweeps, 'writeback pass', 'writeback passes')} over "
        f"{plural(writeback.inodes, 'inode')}: {inodes / sweeps:.1f} inodes per pass, "
        f"{writeback.pages / inodes:.1f} pages of each",
        writeback.inodes,
        "inodes",
        "writeback",
        "sync-storm.inodes",
    )


def _measured(facts: Facts) -> Candidate | None:
    """A benchmark of many small files against few large ones, and what the text says about the waiting."""
    known = facts.budget.known and facts.budget.elapsed(classes.SYNC) >= thresholds.LISTED
    pairs = sorted(_small_against_large(facts), key=lambda pair: pair.times, reverse=True)
    if (known and facts.calls.syncs.calls) or not pairs or pairs[0].times < SMALL_COSTS:
        return None
    reasons = facts.budget.heaviest_reasons(frozenset({classes.SYNC}))
    if any("flush" in reason.lower() or "barrier" in reason.lower() for reason, _ in reasons):
        return None  # the waits name it: flush-cost
    worst = pairs[0]
    others = [pair for pair in pairs[1:] if pair.times < SMALL_COSTS]
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),) if known else (),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.SYNC}), "is spent waiting for syncs")
            if known
            else None,
            link(
                f"{worst.small.name}: {size(worst.small.bytes_per_s)}/s, {worst.large.name}: "
                f"{size(worst.large.bytes_per_s)}/s: in small files the same bytes take "
                f"{worst.times:.1f} times as long",
                worst.times,
                "times",
                "measurements",
                "sync-storm.times",
            ),
            *(
                link(
                    f"in {pair.run} they take {pair.times:.1f} times as long, so it is not only the files",
                    pair.times,
                    "times",
                    "measurements",
                    "sync-storm.times-in-run",
                )
                for pair in others[:1]
            ),
        ),
        summary=worded(
            "sync-storm.small-files",
            ("syncing" if known else "writing")
            + " many small files, which takes {times:.1f} times as long as a few large ones",
            times=worst.times,
        ),
        saving=Saving(
            1 - 1 / worst.times if known else 1.0, "if they cost no more than large ones"
        ),
        remedy=LARGER_FILES,
        confidence=0.75 if known else 0.55,
        lowered_by=(
            "how much each call makes durable is not known"
            if known
            else "the text does not show whether the files are synced; latencytop or strace would",
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
    title="Many syncs for few bytes",
    meaning=(
        "Every sync waits for the journal and the device, however little was written. With little in each, "
        "the number of syncs decides how long the run takes."
    ),
    measured=(
        "Time in fsync, fdatasync, msync, sync and the like, waiting and on a CPU; calls, bytes written per call, "
        "files synced, journal commits, device flushes."
    ),
    thresholds=(
        Threshold(
            "bytes per sync call, at most", thresholds.BYTES_PER_SYNC, "bytes",
            "a commit and flush take 1 to 10 ms, as long as moving 1 MiB at 100 MB/s: below it the "
            "fixed cost is the larger part",
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
            "flush share from which it is flush-cost", FLUSH_DOMINATES, "share",
            "then one file is synced over and over and the device's flush is most of it; if each "
            "file gets its own sync, fewer files are the remedy and this cause stays",
        ),
        Threshold(
            "times that small files take as long as large ones in iozone, at least", SMALL_COSTS, "times",
            "runs of iozone differ by about 10 %; a third is not noise",
        ),
    ),
    fooled_by=(
        "a sync that is long because it computes (see cpu-serial): only its waiting counts here",
        "O_SYNC and O_DSYNC writes sync without their own call",
    ),
    remedies=(evidence.SYNC_ONCE, LARGER_FILES, _LATER, _QUICK_DEVICE),
    experiment="sync-free",
    unsafe_proof=True,
    find=find,
    explains=classes.named("sync kernel"),
    unseen_without=("syscalls",),
    settled_by=next_command.SYNC,
    beats=(
        "flush-cost", "device-saturated", "device-capped", "queue-shallow", "small-requests", "random-access",
        "writeback-scattered", "device-slow",
        # It claims no more CPU time than its calls have.
        "cpu-serial",
    ),
)  # fmt: skip
