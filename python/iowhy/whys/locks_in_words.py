"""What is said of a wait for a lock on a file, or for a file that is a lock, and what to do about it."""

from iowhy.invocation import as_root, quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import named
from iowhy.whys.chain import link, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.file_locks import HeldFile, LockFile
from iowhy.whys.finding import Link
from iowhy.whys.remedy import Remedy


def says(lock: LockFile | None, held: HeldFile | None) -> Sentence | None:
    """What it did in that time; None where it waited for neither, or nobody knows for whom."""
    if lock is not None:
        which = "a lock file" if lock.path is None else "the lock file {path}"
        said = f"waiting for {which}, which another process made, not for I/O"
        return worded("lock-file.waits", said, path=lock.path)
    if held is None or held.tgid is None:
        return None
    said = "waiting for a lock on " + ("a file" if held.path is None else "{path}") + " that "
    said += "{who} holds" if held.holders == 1 else "{holders:count process} hold in turn"
    return worded(
        "lock-file.held",
        f"{said}, not for I/O",
        path=held.path,
        who=_who(held),
        holders=held.holders,
    )


def shown(found: LockFile) -> Link:
    """How often it tried."""
    said = f"{found.call} failed {plural(found.tries, 'time')} as the file exists, with a pause after each"
    return link(said, found.tries, "calls", "syscalls", "lock-file.tries")


def remedies(facts: Facts, found: LockFile) -> tuple[Remedy, ...]:
    """Which file it is, whose, and that it can be removed."""
    risk = "two that write at once damage the data, if its maker still runs"
    if found.path is None:
        typed = f"strace -f -e trace={found.call} {named.in_short(facts)}"
        do = worded("lock-file.which", "See which file it is: `{typed}`", typed=typed)
        remove = worded("lock-file.remove", "Remove the lock file if its maker is gone")
        return Remedy(do, looks=True), Remedy(remove, risk=risk)
    path = quoted(found.path)
    remove = worded(
        "lock-file.remove-path",
        "Remove the lock file if its maker is gone: `rm {path}`",
        path=path,
    )
    do = worded("lock-file.whose", "See who made it, and when: `ls -l {path}`", path=path)
    return Remedy(remove, risk=risk), Remedy(do, looks=True)


def held(found: HeldFile | None) -> Link | None:
    """Who holds the lock."""
    if found is None or found.tgid is None:
        return None
    said = f"{_who(found)} holds the lock in {plural(found.waits, 'wait')}"
    return link(said, found.waits, "waits", "syscalls", "lock-file.holder")


def of_holder(found: HeldFile | None) -> tuple[Remedy, ...]:
    """What to do about the lock, or how to see who holds it, while it is held."""
    if found is None or found.tgid is None:
        said = "See who holds the lock, while it waits: `lslocks -u"
        said += "`" if found is None else " | grep {path}`"
        path = None if found is None or found.path is None else quoted(found.path)
        return (Remedy(worded("lock-file.see-holder", said, path=path), looks=True),)
    sooner = worded(
        "lock-file.release-sooner",
        "Let {who} release the lock sooner, or start this command when it is done",
        who=_who(found),
    )
    see = worded(
        "lock-file.record-holder",
        "See what it does while it holds the lock: `{as_root} run -p {tgid} --duration 10s`",
        as_root=as_root(),
        tgid=found.tgid,
    )
    risk = "what the lock guards has to be whole by then"
    return Remedy(sooner, risk=risk), Remedy(see, looks=True)


def _who(found: HeldFile) -> str:
    return f"process {found.tgid}" if found.holder is None else f"{found.holder} ({found.tgid})"
