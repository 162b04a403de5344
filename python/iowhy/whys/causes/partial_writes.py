"""Writes of part of a block wait until the block is read."""

from msgspec.structs import replace

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.written_in_part import REASON, PartialWrites
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

_REASONS: frozenset[str | None] = frozenset({REASON})

_WHOLE = Remedy(
    worded("partial-writes.whole-blocks-any", "Write whole, aligned blocks"),
    risk="a crash loses what is still gathered",
    for_authors=True,
)
_AHEAD_RISK = "others have less memory"
_AHEAD = Remedy(
    worded("partial-writes.read-first-any", "Read the file once, in order, before it is written"),
    risk=_AHEAD_RISK,
)
_NEW = Remedy(
    worded("partial-writes.append-log", "Append new data to a log, which has nothing to read"),
    risk="programs that read the one file miss what is in the log",
    for_authors=True,
)


def find(facts: Facts) -> Candidate | None:
    """Calls that write wait for the part of a block that they do not write."""
    share = sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == classes.READ and piece.reason == REASON and piece.call is not None
    )
    if share < thresholds.LISTED:
        return None
    found = facts.partial_writes
    if found is None:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), calls=frozenset(found.calls), reasons=_REASONS),),
        chain=_chain(found, share),
        summary=worded(
            "partial-writes.blocks",
            "reading blocks of {where} first, because each write covers only part of a block",
            where=_where(found),
        ),
        saving=saving.all_of_it("if nothing must be read before it is written"),
        remedies=(_whole(found), _NEW, _ahead(found)),
        needs=("waits",),
        confidence=0.95,
    )


def _where(found: PartialWrites) -> str:
    """The file, or how many they are."""
    if found.files > 1:
        return plural(found.files, "file")
    return found.path or "its file"


def _whole(found: PartialWrites) -> Remedy:
    block = (
        "whole blocks"
        if found.block_bytes is None
        else f"whole blocks of {size(found.block_bytes)}"
    )
    return replace(
        _WHOLE,
        do=worded(
            "partial-writes.whole-blocks",
            "Write {where} in {block}",
            where=_where(found),
            block=block,
        ),
    )


def _ahead(found: PartialWrites) -> Remedy:
    """One pass over the file instead of a read for each block."""
    if found.files > 1 or found.path is None:
        return _AHEAD
    return Remedy(
        worded(
            "partial-writes.read-first",
            "Read it once, in order, before it is written: `cat {path} > /dev/null`",
            path=quoted(found.path),
        ),
        risk=_AHEAD_RISK,
    )


def _chain(found: PartialWrites, share: float) -> tuple[Link, ...]:
    """How long they wait, what they write, and what is read for it."""
    block = "" if found.block_bytes is None else f"{size(found.block_bytes)} "
    return chain_of(
        link(
            f"{percent(share)} of the time is spent in {', '.join(found.calls)}, waiting for the rest of {block}blocks",
            share,
            "share",
            "waits",
            "partial-writes.share",
        ),
        _written(found),
        _read(found),
    )


def _written(found: PartialWrites) -> Link | None:
    """How small the writes are, and how many of them find their block in memory."""
    if not found.writes or found.mean_bytes is None:
        return None
    return link(
        f"{count(found.waits)} of {count(found.writes)} writes wait for that; a write has {size(found.mean_bytes)} on average",
        found.mean_bytes,
        "bytes",
        "files",
        "partial-writes.mean-bytes",
    )


def _read(found: PartialWrites) -> Link | None:
    if not found.reads or found.read_bytes is None:
        return None
    written = "" if not found.written_bytes else f", to write {size(found.written_bytes)}"
    most = f", most of it from {found.path}" if found.files > 1 and found.path else ""
    return link(
        f"{plural(found.reads, 'request')} read {size(found.read_bytes)}{written}{most}",
        found.read_bytes,
        "bytes",
        "files",
        "partial-writes.read-bytes",
    )


CAUSE = Cause(
    name="partial-writes",
    title="Reads of blocks that are written in part",
    meaning=(
        "The page cache keeps whole blocks. A write of part of a block that is not in memory, such as a record of 512 bytes or an unaligned "
        "range, waits until the block is read; the write itself would need no device at all. The reads are small, one at a time, "
        "and nothing is read ahead, whatever the order of the writes."
    ),
    measured=(
        "Waits in calls that write, whose kernel stack shows that the filesystem reads a block for them (write_begin); the "
        "writes to the same files, and the requests that read them."
    ),
    thresholds=(
        Threshold(
            "waiting for such reads, at least", thresholds.LISTED, "share",
            "what a finding must explain to be listed",
        ),
    ),
    fooled_by=(
        "a second run: the blocks are in memory then, until others need the room",
        "a program that changes a file through mapped memory also reads its pages first, whole ones: that is not a call, and reported as a cold cache",
        "a device that itself reads before it writes (RAID 5, 4 KiB sectors written 512 bytes at a time): that is not seen",
    ),
    remedies=(_WHOLE, _NEW, _AHEAD),
    experiment="cache-warm",
    find=find,
    explains=classes.named("read"),
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "cache-thrash", "random-access", "readahead-poor", "queue-shallow",
        "device-saturated", "device-slow", "small-requests", "file-fragmented", "device-capped", "device-contended", "io-throttled",
    ),
)  # fmt: skip
