"""A process in user space serves the filesystem, and takes its time."""

from collections.abc import Sequence

from iowhy.invocation import as_root
from iowhy.tables import calls
from iowhy.whys import next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Served, is_there, served
from iowhy.whys.finding import Candidate
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
    where = "a filesystem of FUSE" if most.mount is None else f"{most.mount} ({most.kind})"
    silent = unanswered(most, where)
    return Candidate(
        claims=claims(found),
        chain=chain_of(
            *waits(found, share, where),
            silent,
            link(f"{process} answers them, no device of its own", total_ns, "ns", "files"),
        ),
        summary=f"waits for {process}, which serves {where}"
        + ("" if silent is None else " and does not answer"),
        saving=saving.all_of_it("if it answered at once"),
        remedy=next_step if silent is None else _END.format(process=process, mount=most.mount),
        remedies=_remedies(found) if silent is None else (),
        confidence=0.85,
        never_ends=silent is not None,
        needs=("waits", "syscalls"),
    )


def _remedies(found: Sequence[Served]) -> tuple[str, ...]:
    """Names and attributes are kept, data are asked for in larger pieces."""
    names = sum(one.total_ns for one in found if one.call in _OF_NAMES)
    return _REMEDIES if 2 * names < sum(one.total_ns for one in found) else (_KEEP, _MORE, _MOVE)


_END = (
    "restart {process}, or end it: then calls fail instead of waiting; `umount -l {mount}` takes the mount away."
    " Risk: what was written and not yet sent is lost"
)

#: Calls on names and attributes.
_OF_NAMES = frozenset(
    one.name for one in calls().values() if one.kind in ("lookup", "change") and one.effect is None
)
_MORE = "ask for more at once: larger reads, readahead (max_read, max_readahead of the mount), writeback_cache"
_KEEP = "let the kernel keep what it learnt: longer entry and attribute timeouts (-o entry_timeout, attr_timeout, kernel_cache)"
_MOVE = "keep what is used often on a filesystem of the kernel's own"
_REMEDIES = (_MORE, _KEEP, _MOVE)


def _is_there(facts: Facts) -> bool:
    waited = any(piece.reason == "fuse" for piece in facts.budget.pieces)
    return waited or is_there(facts.relations, "process")


def _daemon(tgid: int | None) -> tuple[str, str]:
    """The process in words, and the next step."""
    if tgid is None:
        return (
            "a process in user space",
            "find the process that serves it (fuser -v /dev/fuse lists such) and record that by its number while this runs again",
        )
    return (
        f"process {tgid}",
        f"see what that process waits for: `{as_root()} run -p {tgid} --duration 30s` while this runs again",
    )


CAUSE = Cause(
    name="fuse-daemon",
    title="A process serves the filesystem",
    meaning=(
        "The files lie on a filesystem that a program serves (FUSE: sshfs, s3fs, NTFS, encryption, an emulated "
        "disk). Every request goes to it and back, and it waits for a network, a disk or a CPU of its own: what "
        "the machine's disks do tells nothing of that."
    ),
    measured=(
        "Waits, and sleep, in calls on files of filesystems of kind fuse, in page faults of mapped ones, and where files are "
        "closed, locked (flock, fcntl) or asked by ioctl and lseek, there by the kernel's stack; the process that has their connection open "
        "(/proc/PID/fdinfo, Linux 6.13 and later). Calls that have not ended are looked up at the end, and their "
        "filesystem is asked for its free space: one that does not answer that is named as such."
    ),
    thresholds=(
        Threshold(
            "waiting for such files", thresholds.LISTED, "share", "less is not worth a finding, unless it does not answer at all",
        ),
    ),
    fooled_by=(
        "a lock on such a file that another one holds: where the process keeps the locks, it answers when that one gives it back",
        "kernels before 6.13 do not tell which process serves which filesystem",
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
