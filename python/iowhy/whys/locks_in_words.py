"""What is said of a wait for a lock on a file, or for a file that is a lock, and what to do about it."""

from iowhy.invocation import quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import named
from iowhy.whys.chain import link, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.file_locks import LockFile
from iowhy.whys.finding import Link
from iowhy.whys.remedy import Remedy


def says(found: LockFile) -> Sentence:
    """What it did in that time."""
    which = "a lock file" if found.path is None else "the lock file {path}"
    return worded(
        "lock-file.waits",
        f"waiting for {which}, which another process made, not for I/O",
        path=found.path,
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


def opened(path: str) -> Link:
    """Which file it opened before it waited for a lock."""
    said = f"the file that it opened last before that is {path}"
    return link(said, None, "text", "syscalls", "lock-file.opened")


def holder(path: str | None) -> Remedy:
    """Who holds a lock can only be seen while it is held; `path`: of which file it is, probably."""
    said = "See who holds the lock, while it waits: `lslocks -u"
    said += "`" if path is None else " | grep {path}`"
    shown_path = None if path is None else quoted(path)
    return Remedy(worded("lock-file.see-holder", said, path=shown_path), looks=True)
