"""What does not fit into a program's memory goes through temporary files."""

import posixpath
import re

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, next_command, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.locked import cut
from iowhy.whys.facts.spilled import BYTES_MIN, READ_BACK, Spilled, Spiller
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

# Of the CPU time in calls on files that are not temporary by their names: what a program hands on is written all the same.
COMPUTING = 0.5
WAITS = classes.STORAGE | {classes.THROTTLED, classes.LOCK, classes.MEMORY}

_MEMORY = Remedy(
    worded(
        "spills.give-more-memory", "Let it use more memory for what it now keeps in temporary files"
    ),
    risk="others have less memory",
)
_FASTER = Remedy(
    worded(
        "spills.put-temporary-files",
        "Put its temporary files on a faster device: `TMPDIR=/mnt/fast`",
    ),
    risk="what is in memory (tmpfs) takes memory from others",
)


def find(facts: Facts) -> Candidate | None:
    """Time in calls on files that are written, read back and deleted."""
    found = facts.spilled
    if found is None:
        return None
    waiting = tuple(
        Claim(WAITS, calls=frozenset({one.call}), fraction=one.part) for one in found.waits
    )
    computing = Claim(
        frozenset({classes.KERNEL}),
        reasons=frozenset({classes.FILE_CALLS}),
        fraction=found.kernel_part,
    )
    share = evidence.claimed(facts, (*waiting, computing))
    if share < thresholds.LISTED:
        return None
    # Of the time that it is about, what waits for a device.
    waits = evidence.claimed(facts, waiting) / share
    computes = found.named_part + COMPUTING * (1 - found.named_part)
    faster = (_FASTER,) if waits * share >= thresholds.LISTED else ()
    return Candidate(
        claims=(*waiting, computing),
        chain=_chain(found, share),
        summary=worded(
            "spills.writes",
            "writing {written:bytes} of temporary files and reading {read:bytes} back",
            written=found.written_bytes,
            read=found.read_bytes,
        ),
        saving=Saving(waits + computes * (1 - waits), "if it all fits into memory"),
        by_remedy={_FASTER: Saving(waits, "if the device took no time")},
        remedies=(*_of_statement(found.by), _MEMORY, *faster),
        needs=("syscalls", "files"),
        confidence=0.9,
    )


def _chain(found: Spilled, share: float) -> tuple[Link, ...]:
    """How long that takes, which files, and how much memory would hold the most that one process spilled."""
    return chain_of(
        link(
            f"{percent(share)} of the time goes into reading and writing temporary files",
            share,
            "share",
            "budget",
            "spills.share",
        ),
        link(
            f"{plural(found.files, 'file')}"
            + (f" ({pattern(found.path)})" if found.path else "")
            + f": {size(found.written_bytes)} written, {size(found.read_bytes)} read back",
            found.written_bytes,
            "bytes",
            "files",
            "spills.written",
        ),
        None if found.by is None else _spiller(found.by),
        None
        if found.processes < 2
        else link(
            f"{plural(found.processes, 'process', 'processes')} did so, one of them with {size(found.most_bytes)}",
            found.most_bytes,
            "bytes",
            "files",
            "spills.most",
        ),
    )


def _spiller(found: Spiller) -> Link:
    has = (
        ""
        if found.memory_bytes is None
        else f"; one sort or hash has {size(found.memory_bytes)} ({_setting(found)})"
    )
    return link(
        f"`{cut(found.statement)}` spills most: {size(found.each_bytes)} a run{has}",
        found.each_bytes,
        "bytes",
        "statements",
        "spills.statement",
    )


def _setting(found: Spiller) -> str:
    return "work_mem" if found.server.startswith("PostgreSQL") else "sort_buffer_size"


def _of_statement(found: Spiller | None) -> tuple[Remedy, ...]:
    """Of PostgreSQL, for the session of that statement alone: rows take more in memory than in a file."""
    if found is None or not found.server.startswith("PostgreSQL"):
        return ()
    enough = 1 << (found.each_bytes * 3 // 2 >> 20).bit_length()
    return (
        Remedy(
            worded(
                "spills.for-statement",
                "Give the session of `{statement}` more memory: `SET work_mem = '{enough}MB';`",
                statement=cut(found.statement),
                enough=enough,
            ),
            risk="each sort and hash of that session may take as much memory",
            program="PostgreSQL",
        ),
    )


def pattern(path: str) -> str:
    """A path with * for what differs between the temporary files of a program: numbers, and letters drawn at random."""
    folder, name = posixpath.split(path)
    made = re.sub(r"(?<=^sort)[A-Za-z0-9]{6}$|(?<=etilqs_)[0-9a-z]+|[0-9]+", "*", name)
    return posixpath.join(folder, made)


CAUSE = Cause(
    name="spills",
    title="Temporary files for what does not fit into memory",
    meaning=(
        "A sort, hash or join that has more data than the program may keep in memory writes them to temporary files, reads them back, and "
        "deletes them, perhaps several times over. With enough memory none of that happens."
    ),
    measured=(
        "Calls on files that one program writes, reads back and deletes during the recording without syncing them, and on files that "
        "PostgreSQL, MySQL, MariaDB, SQLite, DuckDB and sort name as temporary: their waits, and their CPU time in the kernel."
    ),
    thresholds=(
        Threshold("bytes written to them, at least", BYTES_MIN, "bytes", "less fits into any program's memory"),
        Threshold(
            "of them read back by the same program, at least", READ_BACK, "share",
            "what is written and deleted unread is a log or an output",
        ),
        Threshold(
            "of the CPU time in calls on them, what more memory could save if they are not temporary by their names", COMPUTING, "share",
            "what may be handed on (the volumes of a backup) has to be written all the same; it is only not read back",
        ),
    ),
    fooled_by=(
        "a program that deletes its own output after a look at it (a test, a download that is unpacked)",
        "comparing and merging takes CPU time with or without temporary files: it is not counted here",
    ),
    remedies=(_MEMORY, _FASTER),
    find=find,
    explains=classes.named("read write sync throttled lock memory kernel"),
    unseen_without=("syscalls", "files"),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "cache-thrash", "random-access", "readahead-poor", "device-saturated",
        "queue-shallow", "small-requests", "dirty-throttled", "writeback-scattered",
        "file-fragmented", "cpu-serial", "cpu-saturated", "lock-contended", "data-journaled", "read-again",
        "device-capped", "device-contended", "device-slow", "flush-cost", "sync-storm",
        "io-throttled", "metadata-cold", "filesystem-cpu", "filesystem-full", "partial-writes",
        "journal-entangled", "fuse-daemon", "remote-storage",
    ),
)  # fmt: skip
