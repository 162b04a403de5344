"""Writes of a part of a block wait until the block is read."""

from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.written_in_part import REASON, PartialWrites
from iowhy.whys.finding import Candidate, Claim, Link

_REASONS: frozenset[str | None] = frozenset({REASON})

_WHOLE = "write whole blocks, from bound to bound: gather small writes until a block is full, or write the rest of the block with it"
_AHEAD = "read the file once ahead of the need, in order (vmtouch -t, cat FILE >/dev/null): one pass in the place of a read for each block"
_NEW = "write what is new to the end of a log, or to a file of its own: nothing lies there that has to be read"


def find(facts: Facts) -> Candidate | None:
    """Calls that write wait for what they leave as it is."""
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
    warmed = evidence.warmed(facts, gone=facts.inputs_gone)
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), calls=frozenset(found.calls), reasons=_REASONS),),
        chain=_chain(found, share),
        summary=f"reads blocks of {_where(found)} first, as it writes only a part of each",
        saving=saving.all_of_it("if nothing has to be read before it is written"),
        remedies=(_WHOLE, _NEW, _AHEAD, *warmed),
        needs=("waits",),
        confidence=0.95,
    )


def _where(found: PartialWrites) -> str:
    """The file, or how many they are."""
    if found.files > 1:
        return plural(found.files, "file")
    return found.path or "its file"


def _chain(found: PartialWrites, share: float) -> tuple[Link, ...]:
    """How long they wait, what they write, and what is read for it."""
    block = "" if found.block_bytes is None else f" of {size(found.block_bytes)}"
    return chain_of(
        link(
            f"{percent(share)} of the time waits in {', '.join(found.calls)} for the rest of blocks{block} that are written in part",
            share,
            "share",
            "waits",
        ),
        _written(found),
        _read(found),
    )


def _written(found: PartialWrites) -> Link | None:
    """How small the writes are, and how many of them find their block in memory."""
    if not found.writes or found.mean_bytes is None:
        return None
    return link(
        f"{count(found.waits)} of {count(found.writes)} writes wait so; a write is of {size(found.mean_bytes)}, on average",
        found.mean_bytes,
        "bytes",
        "files",
    )


def _read(found: PartialWrites) -> Link | None:
    if not found.reads or found.read_bytes is None:
        return None
    written = "" if not found.written_bytes else f", to write {size(found.written_bytes)}"
    most = f", most of it of {found.path}" if found.files > 1 and found.path else ""
    return link(
        f"{plural(found.reads, 'request')} read {size(found.read_bytes)}{written}{most}",
        found.read_bytes,
        "bytes",
        "files",
    )


CAUSE = Cause(
    name="partial-writes",
    title="Writes of part of a block read it first",
    meaning=(
        "The page cache keeps whole blocks. Who writes a part of one that is not in memory, a record of 512 bytes, or a range that "
        "begins or ends between two bounds, waits until the block is read; what it writes itself would need no device at all. The requests are small "
        "and one at a time, and nothing is read ahead, however the writes lie."
    ),
    measured=(
        "Waits in calls that write, whose kernel stack shows that the filesystem reads a block for them (write_begin); the "
        "writes to the same files, and the requests that read them."
    ),
    thresholds=(
        Threshold(
            "waiting so, at least", thresholds.LISTED, "share",
            "what a finding must explain to be listed",
        ),
    ),
    fooled_by=(
        "a second run: the blocks are in memory then, until others need the room",
        "who changes a file through mapped memory reads its pages first too, whole ones: that is no call, and told as a cold cache",
        "a device that itself reads before it writes (RAID 5, sectors of 4 KiB that are written by 512 bytes): it does so unseen",
    ),
    remedies=(_WHOLE, _NEW, _AHEAD, evidence.RUN_AGAIN),
    for_authors=frozenset({_WHOLE, _NEW}),
    by_again=frozenset({evidence.RUN_AGAIN}),
    experiment="cache-warm",
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "cache-thrash", "random-access", "readahead-poor", "queue-shallow", "device-saturated", "device-slow",
        "small-requests", "file-fragmented",
    ),
)  # fmt: skip
