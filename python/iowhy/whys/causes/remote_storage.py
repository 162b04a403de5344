"""A server serves the filesystem, and it or the network takes its time."""

from iowhy.whys import next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Answers, answers, is_there, served
from iowhy.whys.finding import Candidate, Link
from iowhy.whys.served_time import claims, share_of, unanswered, waits

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
        summary=f"waits for the server of {where}"
        + ("" if silent is None else ", which does not answer"),
        saving=saving.all_of_it("if it answered at once"),
        remedy=_next_step(answered) if silent is None else _REACH.format(mount=most.mount),
        confidence=0.85,
        never_ends=silent is not None,
        needs=("waits", "syscalls"),
    )


_REACH = (
    "see whether its server runs and is reached (`mount | grep {mount}` names it); `umount -f -l {mount}` makes calls fail instead of"
    " waiting. Risk: what was written and not yet sent is lost"
)


def _is_there(facts: Facts) -> bool:
    waited = any(piece.reason == "network_filesystem" for piece in facts.budget.pieces)
    return waited or is_there(facts.relations, "server")


def _answers(found: Answers | None) -> tuple[Link | None, ...]:
    """What the kernel's client says of the operation that took most of its time."""
    if found is None:
        return ()
    return (
        link(
            f"{plural(found.operations, found.op)}, answered"
            f" {duration(found.rtt_ns)} after each was sent, by the network and the server",
            found.rtt_ns,
            "ns",
            "remote",
        ),
        link(
            f"before, {duration(found.queue_ns)} each in the queue of this machine",
            found.queue_ns,
            "ns",
            "remote",
        )
        if found.queue_ns >= _QUEUED * found.rtt_ns
        else None,
        link(
            f"{count(found.timeouts)} of them had no answer in time",
            found.timeouts,
            "count",
            "remote",
        )
        if found.timeouts
        else None,
    )


def _next_step(found: Answers | None) -> str:
    """What tells the server from the network; and where they wait here for their turn."""
    if found is not None and found.queue_ns > found.rtt_ns:
        return "operations wait here before they are sent: more connections (mount option nconnect, Linux 5.3)"
    return "hold the network's own time against it (ping, or ss -ti to its port: rtt); what is more is the server's: look there"


CAUSE = Cause(
    name="remote-storage",
    title="A server answers late",
    meaning=(
        "The files lie on a filesystem of the network (NFS, SMB, Ceph, 9p) or of the host (virtiofs). What the page cache "
        "does not have is asked of the server: each answer takes a way through the network and back, and what the "
        "server's disk takes. What the machine's disks do tells nothing of that."
    ),
    measured=(
        "Waits, and sleep, in calls on files of such filesystems. Of NFS also what its client counts of each kind of "
        "operation (/proc/self/mountstats): how long until it was sent, and from there to the answer, of the whole machine. Calls that have not ended are looked up at the end, and their filesystem is asked "
        "for its free space: one that does not answer that is named as such."
    ),
    thresholds=(
        Threshold(
            "waiting for such files", thresholds.LISTED, "share", "less is not worth a finding, unless it does not answer at all",
        ),
        Threshold(
            "time in this machine's queue that is said, of the time to the answer", _QUEUED, "share", "less changes nothing",
        ),
    ),
    fooled_by=(
        "a mapped file: whose it is, is not known of a page fault",
        "a container's own mounts: what the client counts is read where the recorder runs",
        "others' operations on the same mount are in its counts, not in the waits",
    ),
    remedies=(
        "ask for more at once: larger reads and writes (rsize, wsize), more of them in flight, readahead (read_ahead_kb of the mount's bdi)",
        "let the client keep what it learnt: longer attribute times (actimeo); risk: what others change is seen later",
        "work on a copy on a local disk, and bring it back once",
    ),
    experiment=None,
    find=find,
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "device-contended", "device-saturated", "device-slow", "flush-cost", "metadata-cold",
        "queue-shallow", "random-access", "readahead-poor", "small-requests", "sync-storm", "cache-thrash",
    ),
)  # fmt: skip
