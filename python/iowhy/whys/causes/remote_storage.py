"""A server serves the filesystem, and it or the network is slow."""

from msgspec.structs import replace

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Answers, answers, is_there, served
from iowhy.whys.finding import Candidate, Link
from iowhy.whys.remedy import Remedy
from iowhy.whys.served_time import claims, clues, share_of, unanswered, waits

#: Listed below.
_QUEUED = 0.1


def find(facts: Facts) -> Candidate | None:
    """Waits for files of a network filesystem."""
    if not _is_there(facts):
        return None
    found = served(facts.relations, "server")
    share = share_of(facts, found)
    if share < thresholds.LISTED and not any(one.unanswered_ns for one in found):
        return None
    most = next((one for one in found if one.mount is not None), found[0])
    answered = answers(facts.relations, most.mount)
    where = "a network filesystem" if most.mount is None else f"{most.mount} ({most.kind})"
    silent = unanswered(most, where)
    return Candidate(
        claims=claims(found),
        chain=chain_of(
            *waits(found, share, where),
            silent,
            *_answers(answered),
        ),
        summary=worded(
            "remote-storage.server",
            "waiting for the server of {where}"
            + ("" if silent is None else ", which does not answer"),
            where=where,
        ),
        saving=saving.all_of_it("if the server answered at once"),
        remedies=_remedies(facts, answered, most.mount)
        if silent is None
        else (_reach(most.mount),),
        confidence=0.85,
        comes_first=silent is not None,
        needs=("waits", "syscalls"),
    )


def _reach(mount: str | None) -> Remedy:
    """Against a server that does not answer."""
    at = "" if mount is None else f": `umount -f -l {quoted(mount)}`"
    return Remedy(
        worded("remote-storage.end-waiting", "End the waiting{at}", at=at),
        risk="calls fail then, and what was written but not sent is lost",
    )


def _is_there(facts: Facts) -> bool:
    waited = any(piece.reason == "network_filesystem" for piece in facts.budget.pieces)
    return waited or is_there(facts.relations, "server")


def _answers(found: Answers | None) -> tuple[Link | None, ...]:
    """What the kernel's client counted of the operation that took most of its time."""
    if found is None:
        return ()
    return (
        link(
            f"{plural(found.operations, found.op)}, each answered {duration(found.rtt_ns)} after it was sent "
            "(network and server)",
            found.rtt_ns,
            "ns",
            "remote",
            "remote-storage.rtt-ns",
        ),
        link(
            f"before that, each waits {duration(found.queue_ns)} in the queue of this machine",
            found.queue_ns,
            "ns",
            "remote",
            "remote-storage.queue-ns",
        )
        if found.queue_ns >= _QUEUED * found.rtt_ns
        else None,
        link(
            f"{count(found.timeouts)} of them timed out",
            found.timeouts,
            "count",
            "remote",
            "remote-storage.timeouts",
        )
        if found.timeouts
        else None,
    )


def _remedies(facts: Facts, found: Answers | None, mount: str | None) -> tuple[Remedy, ...]:
    """More connections if operations wait here for their turn; else fewer questions to the server, and how far it is."""
    name = "its files" if mount is None else f"its files in {mount}"
    copy = replace(
        _COPY,
        do=worded(
            "remote-storage.copy-local",
            "Copy {file} to a local disk, and work on the copy",
            file=named.file(facts) or name,
        ),
    )
    if found is not None and found.queue_ns > found.rtt_ns:
        return (_CONNECTIONS, copy, _COMPARE)
    return (copy, _KEEP, _COMPARE)


_CONNECTIONS = Remedy(
    worded("remote-storage.more-connections", "Mount it with more connections (`nconnect=4`)"),
    risk="others on the server get slower",
)
_COPY = Remedy(
    worded(
        "remote-storage.copy-local-any",
        "Copy its files to a local disk, and work on the copy",
    ),
    risk="changes are on the server only when they are copied back",
)
_KEEP = Remedy(
    worded(
        "remote-storage.cache-attributes",
        "Cache attributes for longer (mount option `actimeo=60`)",
    ),
    risk="changes by others are seen later",
)
_COMPARE = Remedy(
    worded("remote-storage.see-network", "See how much of it is the network: rtt in `ss -ti`"),
    looks=True,
)


CAUSE = Cause(
    name="remote-storage",
    title="Slow file server or network",
    meaning=(
        "The files are on a filesystem of the network (NFS, SMB, Ceph, 9p) or of the host (virtiofs). What is not in the page cache "
        "is asked of the server: each answer takes the way through the network and back, and the time of the "
        "server's disk. The disks of this machine say nothing about that."
    ),
    measured=(
        "Waits and sleep in calls on files of such filesystems. For NFS also what its client counts of each kind of "
        "operation (/proc/self/mountstats, of the whole machine): the time until it was sent, and from then to the answer. Calls that have not "
        "ended are looked up at the end, and their filesystem is asked for its free space: if it does not answer, the finding says so."
    ),
    thresholds=(
        Threshold(
            "waiting for such files", thresholds.LISTED, "share", "less is not worth a finding, unless the server does not answer at all",
        ),
        Threshold(
            "time in this machine's queue that is reported, of the time to the answer", _QUEUED, "share", "less changes nothing",
        ),
    ),
    fooled_by=(
        "a mapped file: a page fault does not show whose file it is",
        "a container's own mounts: the client's counts are read where the recorder runs",
        "operations of other processes on the same mount are in the client's counts, not in the waits",
    ),
    remedies=(
        _COPY,
        _CONNECTIONS,
        _KEEP,
        _COMPARE,
    ),
    find=find,
    clues=clues(_is_there),
    explains=classes.named("read write sync idle"),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "device-contended", "device-saturated", "device-slow", "flush-cost",
        "metadata-cold", "queue-shallow", "random-access", "readahead-poor", "small-requests",
        "sync-storm", "cache-thrash", "data-journaled", "device-capped", "file-fragmented",
        "filesystem-full", "io-throttled", "journal-entangled", "partial-writes",
        "writeback-scattered", "filesystem-cpu", "not-io",
    ),
)  # fmt: skip
