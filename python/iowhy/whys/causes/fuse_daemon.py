"""A process in user space serves the filesystem, and answers slowly."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from iowhy.invocation import as_root, quoted
from iowhy.sentences import Sentence, worded
from iowhy.tables import calls
from iowhy.whys import classes, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts, fetching
from iowhy.whys.facts import daemon as work
from iowhy.whys.facts.served import Served, is_there, served
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy
from iowhy.whys.served_time import claims, clues, share_of, unanswered, waits

#: Of the waiting, what the process waits for its own disk, from which that is what to end.
MOSTLY = 0.5
#: Of the waiting, what the process does neither on a CPU nor with its disk from which that is worth a word.
REST = 0.1


def find(facts: Facts) -> Candidate | None:
    """Waits for files of a FUSE filesystem."""
    if not _is_there(facts):
        return None
    found = served(facts.relations, "process")
    share = share_of(facts, found)
    if share < thresholds.LISTED and not any(one.unanswered_ns for one in found):
        return None
    most = found[0]
    daemon = work.daemon(facts.relations, most.tgid, facts.machine, facts.threads)
    spends = _spends(facts, daemon, found, share)
    process, next_step = _daemon(most, daemon, spends)
    where = "a FUSE filesystem" if most.mount is None else f"{most.mount} ({most.kind})"
    silent = unanswered(most, where)
    on_disk = 0.0 if spends is None else spends.disk
    where_from = "disk" if daemon is None else daemon.disk
    behind = _read_behind(process, daemon) if on_disk >= MOSTLY else None
    kind = (most.kind or "").removeprefix("fuse.")
    # Some mount as "fuse", without a name of their own.
    in_kernel = _IN_KERNEL.get(kind) or _IN_KERNEL.get(daemon.name or "" if daemon else "")
    ended, left = 1 - on_disk, "if that process answered at once"
    if in_kernel in _STILL_COMPUTES:
        ended = (spends.rest or 0.0) if spends else 0.0
        left = (
            "without the detour through that process; how fast the kernel decompresses is not known"
        )
    elif on_disk:
        left = "if only its disk took time"
    advice = tuple(filter(None, (in_kernel, behind, next_step)))
    return Candidate(
        claims=(*claims(found), *_its_own(daemon), *_fetching(facts, share)),
        chain=chain_of(
            *waits(found, share, where),
            silent,
            *_spent(process, daemon, found, spends),
        ),
        summary=worded(
            "fuse-daemon.serves",
            "waiting for {process}, which serves {where}"
            + ("" if silent is None else " and does not answer"),
            process=process,
            where=where,
        ),
        saving=saving.all_of_it("if that process answered at once"),
        by_remedy={
            **({in_kernel: Saving(ended, left)} if in_kernel else {}),
            **({behind: Saving(on_disk, f"if it waited for no {where_from}")} if behind else {}),
        },
        remedy=advice[0] if silent is None else _end(process, most.mount),
        remedies=(*advice[1:], *_remedies(facts, found)) if silent is None else (),
        confidence=0.85,
        comes_first=silent is not None,
        needs=("waits", "syscalls"),
    )


class _Spent(Struct, frozen=True):
    """Of the waiting, what the process computes, waits for a disk, and does otherwise; None where not known. `overlap`: it computes
    while it has requests there, or while nobody waits for it: then the waiting is divided as the two are, and each has at most that.
    """

    cpu: float | None
    disk: float
    rest: float | None
    overlap: bool = False


def _spends(
    facts: Facts, daemon: work.Daemon | None, found: Sequence[Served], share: float
) -> _Spent | None:
    waiting_ns = _waiting_ns(facts, daemon, found, share)
    if daemon is None or not waiting_ns:
        return None
    disk = daemon.disk_ns / waiting_ns
    cpu = None if daemon.cpu_ns is None else daemon.cpu_ns / waiting_ns
    # What all others compute bounds nothing where that is more than is left.
    if cpu is None or not (daemon.exact or cpu + disk < 1 - REST):
        return _Spent(None, min(1.0, disk), None)
    both = max(1.0, cpu + disk)
    return _Spent(cpu / both, disk / both, 1 - (cpu + disk) / both, both > 1 and disk > 0)


def _waiting_ns(
    facts: Facts, daemon: work.Daemon | None, found: Sequence[Served], share: float
) -> float:
    waiting_ns = share * (facts.shares_of_ns or 0.0)
    if daemon is None or not waiting_ns or facts.budget.basis != "threads":
        return 0.0
    # Of one that was recorded, half of the elapsed time of its work is its own.
    return max(
        waiting_ns, min(sum(one.total_ns for one in found), float(facts.run.elapsed_ns or 0))
    )


def _read_behind(process: str, daemon: work.Daemon | None) -> Remedy | None:
    """What it reads itself, from a disk of this machine."""
    if daemon is None or daemon.mount is None:
        return None
    return Remedy(
        worded(
            "fuse-daemon.read-behind",
            "Read the files that {process} keeps in {mount} into memory before they are needed (`cat`)",
            process=process,
            mount=daemon.mount,
        ),
        risk="others have less memory",
    )


def _its_own(daemon: work.Daemon | None) -> tuple[Claim, ...]:
    """What a process does for who waits for it is one time with the waiting: the elapsed time is divided between the two."""
    if daemon is None or not daemon.recorded:
        return ()
    parts = {
        classes.USER: daemon.user, classes.KERNEL: daemon.kernel, classes.RUNNABLE: daemon.runnable,
    }  # fmt: skip
    return tuple(Claim(frozenset({cls}), fraction=part) for cls, part in parts.items() if part)


def _fetching(facts: Facts, share: float) -> tuple[Claim, ...]:
    """What the program itself computes to have pages read there and mapped, as much of it as of its waits for reads: FUSE has them in single
    pages, which a local filesystem has in large folios. Who computes less waits for a CPU less."""
    reading, cpu = facts.budget.elapsed(classes.READ), facts.budget.elapsed(*classes.CPU)
    part = fetching.of_kernel(facts.relations, fetching.FETCHES | fetching.FAULTS)
    if not part or not reading or not cpu:
        return ()
    part *= min(1.0, share / reading)
    computing = part * facts.budget.elapsed(classes.KERNEL) / cpu
    return (
        Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),
        Claim(frozenset({classes.RUNNABLE}), fraction=computing, follows=True),
    )


def _spent(
    process: str, daemon: work.Daemon | None, found: Sequence[Served], spends: _Spent | None
) -> tuple[Link, ...]:
    """What the process does in that time: it computes, it waits for a disk, or for something that is no device of this machine."""
    total_ns = sum(one.total_ns for one in found)
    answers = link(
        f"{process} answers these calls, not a disk",
        total_ns,
        "ns",
        "files",
        "fuse-daemon.answers",
    )
    if daemon is None or spends is None:
        return (answers,)
    most, at_least = ("", "") if daemon.exact else ("at most ", "at least ")
    most = "up to " if spends.overlap else most
    cpu, rest = spends.cpu, spends.rest
    whom = daemon.peer or "a network, a timer"
    return chain_of(
        answers,
        None
        if cpu is None
        else link(
            f"it computes in {most}{percent(cpu)} of that time",
            cpu,
            "share",
            "threads" if daemon.recorded else "system",
            "fuse-daemon.cpu",
        ),
        None
        if rest is None or rest < REST
        else link(
            f"in {at_least}{percent(rest)} of it, it waits for something other than a CPU or a disk: {whom}",
            rest,
            "share",
            "files",
            "fuse-daemon.rest",
        ),
        None
        if not daemon.disk_ns or daemon.disk is None
        else link(
            f"it has a request of {daemon.disk} in {most if spends.overlap else ''}{percent(spends.disk)} of that time",
            spends.disk,
            "share",
            "devices",
            "fuse-daemon.disk",
        ),
    )


def _remedies(facts: Facts, found: Sequence[Served]) -> tuple[Remedy, ...]:
    """Names and attributes are kept, data is asked for in larger pieces: first what most of the time is about."""
    names = sum(one.total_ns for one in found if one.call in _OF_NAMES)
    copy = replace(
        _MOVE,
        do=worded(
            "fuse-daemon.copy-local",
            "Copy {data} to a local disk, and use the copy",
            data=_in(facts, found[0].mount),
        ),
    )
    of_names = 2 * names >= sum(one.total_ns for one in found)
    return (_KEEP, copy, _MORE) if of_names else (copy, _MORE, _KEEP)


def _in(facts: Facts, mount: str | None) -> str:
    """Of its data what is served: it may have read more elsewhere."""
    one = named.file(facts)
    if mount is None or (one is not None and one.startswith(f"{mount}/")):
        return named.data(facts)
    return f"the files in {mount}"


def _end(process: str, mount: str | None) -> Remedy:
    if mount is None:
        do = worded("fuse-daemon.restart", "Restart {process}", process=process)
    else:
        do = worded("fuse-daemon.unmount", "Unmount it: `umount -l {mount}`", mount=quoted(mount))
    return Remedy(do, risk="calls that wait fail, and what was written but not sent is lost")


#: Calls on names and attributes.
_OF_NAMES = frozenset(
    one.name for one in calls().values() if one.kind in ("lookup", "change") and one.effect is None
)
_MORE = Remedy(
    worded(
        "fuse-daemon.larger-reads",
        "Ask for more at once: mount it with `-o max_read=1048576`",
    ),
    risk="small random reads get slower",
)
_KEEP = Remedy(
    worded(
        "fuse-daemon.cache-attributes",
        "Keep names and attributes longer: mount it with `-o entry_timeout=60,attr_timeout=60`",
    ),
    risk="changes made elsewhere are seen late",
)
_MOVE = Remedy(
    worded("fuse-daemon.copy-local-any", "Copy its files to a local disk, and use the copy"),
    risk="the copy gets out of date",
)
_REMEDIES = (_MOVE, _MORE, _KEEP)


def _is_there(facts: Facts) -> bool:
    waited = any(piece.reason == "fuse" for piece in facts.budget.pieces)
    return waited or is_there(facts.relations, "process")


def _daemon(most: Served, daemon: work.Daemon | None, spends: _Spent | None) -> tuple[str, Remedy]:
    """The process in words, and the next step."""
    tgid = most.tgid
    if tgid is None:
        find_it = worded(
            "fuse-daemon.find-server", "Find the process that serves it: `fuser -v /dev/fuse`"
        )
        return "a process in user space", Remedy(find_it, looks=True)
    kind = (most.kind or "").removeprefix("fuse.")
    name = None if daemon is None else daemon.name
    name = name or (kind if kind not in ("", "fuse", "fuseblk") else None)
    process = f"process {tgid}" if name is None else f"{name} (process {tgid})"
    return process, Remedy(_look_at(tgid, daemon, spends), looks=True)


def _look_at(tgid: int, daemon: work.Daemon | None, spends: _Spent | None) -> Sentence:
    """What most of its time is: its own code, or an answer that it waits for itself."""
    if daemon is not None and daemon.exact and spends is not None:
        if (spends.cpu or 0.0) >= MOSTLY:
            said = "See in which functions process {tgid} computes, while the work runs again: `perf top -p {tgid}`"
            return worded("fuse-daemon.see-functions", said, tgid=tgid)
        if daemon.peer is not None and (spends.rest or 0.0) >= MOSTLY:
            said = "See how long the way to {peer} takes: `ping -c 5 {address}`"
            address = daemon.peer.rpartition(":")[0].strip("[]")
            return worded("fuse-daemon.see-peer", said, peer=daemon.peer, address=address)
    return worded(
        "fuse-daemon.see-server",
        "See what process {tgid} waits for, while the work runs again: `{as_root} run -p {tgid} --duration 30s`",
        tgid=tgid,
        as_root=as_root(),
    )


_BROKEN = "a damaged image can crash the kernel"
_OPTIONS = "its options have other names: a line of fstab with the old ones fails"
#: What the kernel has a filesystem of its own for, by the kind of the mount.
_IN_KERNEL = {
    kind: Remedy(worded("fuse-daemon.kernel-mount", "Mount it with the kernel's own filesystem: {how}", how=how), risk=risk)
    for kind, how, risk in (
        ("squashfuse", "`mount -t squashfs`", _BROKEN),
        ("squashfuse_ll", "`mount -t squashfs`", _BROKEN),
        ("erofsfuse", "`mount -t erofs`", _BROKEN),
        ("fuseblk", "`mount -t ntfs3`", _OPTIONS),
        ("ntfs-3g", "`mount -t ntfs3`", _OPTIONS),
        ("fuse2fs", "`mount -t ext4`", _BROKEN),
        ("fuse-ext2", "`mount -t ext4`", _BROKEN),
        ("bindfs", "`mount --bind`", "owners and modes are those of the source"),
        ("fuse-overlayfs", "`mount -t overlay`", _OPTIONS),
        ("unionfs-fuse", "`mount -t overlay`", "one layer alone is written"),
    )
}  # fmt: skip

_STILL_COMPUTES = tuple(_IN_KERNEL[kind] for kind in ("squashfuse", "erofsfuse"))

CAUSE = Cause(
    name="fuse-daemon",
    title="A slow FUSE filesystem",
    meaning=(
        "A program serves the filesystem of these files (FUSE: sshfs, s3fs, NTFS, encryption, an emulated "
        "disk). Every request goes to it and back, and it may wait for a network, a disk or a CPU itself. The "
        "machine's disks do not show that."
    ),
    measured=(
        "Waits and sleep in calls on files of FUSE filesystems, and in page faults of mapped ones, with the CPU time of having these "
        "pages read and mapped (sampled stacks). For close, "
        "locks (flock, fcntl), ioctl and lseek, the kernel's stack shows them. The serving process is the one "
        "that has the connection open (/proc/PID/fdinfo, Linux 6.13 and later); its CPU time, with that of the processes that "
        "it started, is the kernel's count, and its peer one of their TCP connections. Calls that have not ended are "
        "looked up at the end, and their filesystem is asked for its free space: if it does not answer, the "
        "finding says so."
    ),
    thresholds=(
        Threshold(
            "of it, what the process spends neither on a CPU nor on a disk, to be mentioned", REST, "share", "less is rounding",
        ),
        Threshold(
            "of it, what the process waits for its own disk, for its files to be read first", MOSTLY, "share", "else most of it is something else",
        ),
        Threshold(
            "waiting for such files", thresholds.LISTED, "share", "less is not worth a finding, unless it does not answer at all",
        ),
    ),
    fooled_by=(
        "a lock on such a file that another process holds: if the server keeps the locks, it answers only when "
        "the lock is free",
        "kernels before 6.13: they do not show which process serves which filesystem",
    ),
    remedies=_REMEDIES,
    find=find,
    explains=classes.named("read write sync user kernel runnable idle"),
    unseen_without=("syscalls",),
    clues=clues(_is_there),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "device-contended", "device-saturated", "device-slow", "flush-cost",
        "metadata-cold", "queue-shallow", "random-access", "readahead-poor", "small-requests",
        "sync-storm", "cache-thrash", "cpu-serial", "cpu-saturated", "filesystem-cpu",
        "data-journaled", "device-capped", "file-fragmented", "filesystem-full", "io-throttled",
        "journal-entangled", "partial-writes", "writeback-scattered", "not-io", "syncs-behind-writes",
    ),
)  # fmt: skip
