"""A process in user space serves the filesystem, and answers slowly."""

from collections.abc import Sequence

from iowhy.invocation import as_root, quoted
from iowhy.tables import calls
from iowhy.whys import next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Served, is_there, served
from iowhy.whys.finding import Candidate
from iowhy.whys.remedy import Remedy
from iowhy.whys.served_time import claims, share_of, unanswered, waits


def find(facts: Facts) -> Candidate | None:
    """Waits for files of a FUSE filesystem."""
    if not _is_there(facts):
        return None
    found = served(facts.relations, "process")
    share = share_of(facts, found)
    if share < thresholds.LISTED and not any(one.unanswered_ns for one in found):
        return None
    most = found[0]
    total_ns = sum(one.total_ns for one in found)
    process, next_step = _daemon(most.tgid)
    where = "a FUSE filesystem" if most.mount is None else f"{most.mount} ({most.kind})"
    silent = unanswered(most, where)
    return Candidate(
        claims=claims(found),
        chain=chain_of(
            *waits(found, share, where),
            silent,
            link(f"{process} answers these calls, not a disk", total_ns, "ns", "files"),
        ),
        summary=f"waiting for {process}, which serves {where}"
        + ("" if silent is None else " and does not answer"),
        saving=saving.all_of_it("if it answered at once"),
        remedy=next_step if silent is None else _end(process, most.mount),
        remedies=_remedies(found) if silent is None else (),
        confidence=0.85,
        never_ends=silent is not None,
        needs=("waits", "syscalls"),
    )


def _remedies(found: Sequence[Served]) -> tuple[Remedy, ...]:
    """Names and attributes are kept, data is asked for in larger pieces: first what most of the time is about."""
    names = sum(one.total_ns for one in found if one.call in _OF_NAMES)
    return _REMEDIES if 2 * names < sum(one.total_ns for one in found) else (_KEEP, _MORE, _MOVE)


def _end(process: str, mount: str | None) -> Remedy:
    unmount = "unmount it" if mount is None else f"unmount it: `umount -l {quoted(mount)}`"
    return Remedy(
        f"Restart {process}, or {unmount}",
        risk="calls that wait fail, and what was written but not sent is lost",
    )


#: Calls on names and attributes.
_OF_NAMES = frozenset(
    one.name for one in calls().values() if one.kind in ("lookup", "change") and one.effect is None
)
_MORE = Remedy(
    "Ask for more at once: larger reads, `max_read`, `max_readahead` and `writeback_cache` of its mount",
    risk="with writeback_cache a crash loses data that was not sent yet",
)
_KEEP = Remedy(
    "Mount it with longer entry and attribute timeouts "
    "(`-o entry_timeout=60,attr_timeout=60,kernel_cache`)",
    risk="changes made elsewhere are seen late",
)
_MOVE = Remedy(
    "Move what is used often to a local disk's filesystem", risk="two copies to keep equal"
)
_REMEDIES = (_MORE, _KEEP, _MOVE)


def _is_there(facts: Facts) -> bool:
    waited = any(piece.reason == "fuse" for piece in facts.budget.pieces)
    return waited or is_there(facts.relations, "process")


def _daemon(tgid: int | None) -> tuple[str, Remedy]:
    """The process in words, and the next step."""
    if tgid is None:
        return (
            "a process in user space",
            Remedy(
                "Find the process that serves it (`fuser -v /dev/fuse`), and record it by its number while this runs again",
                looks=True,
            ),
        )
    return (
        f"process {tgid}",
        Remedy(
            "See what that process waits for, while this runs again: "
            f"`{as_root()} run -p {tgid} --duration 30s`",
            looks=True,
        ),
    )


CAUSE = Cause(
    name="fuse-daemon",
    title="A slow FUSE filesystem",
    meaning=(
        "A program serves the filesystem of these files (FUSE: sshfs, s3fs, NTFS, encryption, an emulated "
        "disk). Every request goes to it and back, and it may wait for a network, a disk or a CPU itself. The "
        "machine's disks do not show that."
    ),
    measured=(
        "Waits and sleep in calls on files of FUSE filesystems, and in page faults of mapped ones. For close, "
        "locks (flock, fcntl), ioctl and lseek, the kernel's stack shows them. The serving process is the one "
        "that has the connection open (/proc/PID/fdinfo, Linux 6.13 and later). Calls that have not ended are "
        "looked up at the end, and their filesystem is asked for its free space: if it does not answer, the "
        "finding says so."
    ),
    thresholds=(
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
    experiment=None,
    find=find,
    unseen_without=("syscalls",),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "device-contended", "device-saturated", "device-slow", "flush-cost", "metadata-cold",
        "queue-shallow", "random-access", "readahead-poor", "small-requests", "sync-storm", "cache-thrash",
    ),
)  # fmt: skip
