"""Writers are paused because too much is dirty."""

from iowhy.whys import classes, links, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

SHARE = 0.05


def dirty_reasons(facts: Facts) -> frozenset[str]:
    """Reasons of throttled waits that are the dirty limits."""
    return frozenset(
        piece.reason
        for piece in facts.budget.pieces
        if piece.cls == classes.THROTTLED and piece.reason and "dirty" in piece.reason.lower()
    )


def find(facts: Facts) -> Candidate | None:
    """Time in balance_dirty_pages, by its waits or its own pauses."""
    reasons = dirty_reasons(facts)
    writeback = facts.writeback
    if reasons:
        claim = Claim(frozenset({classes.THROTTLED}), reasons=reasons)
    elif writeback.pauses:
        claim = Claim(frozenset({classes.THROTTLED}))
    else:
        return None
    share = sum(
        p.elapsed
        for p in facts.budget.pieces
        if p.cls == classes.THROTTLED and (not reasons or p.reason in reasons)
    )
    if share < SHARE:
        return None
    fits = _fits(facts)
    limit = None
    if writeback.limit_pages is not None and writeback.dirty_pages is not None:
        limit = link(
            f"{size(writeback.dirty_pages * facts.page_bytes)} are dirty; the limit is "
            f"{size(writeback.limit_pages * facts.page_bytes)}",
            writeback.dirty_pages * facts.page_bytes,
            "bytes",
            "throttle",
        )
    return Candidate(
        claims=(claim,),
        chain=chain_of(
            link(
                f"{percent(share)} of the time writers are paused by the dirty limits",
                share,
                "share",
                "budget",
            ),
            None
            if not writeback.pauses
            else link(
                f"{count(writeback.pauses)} pauses, "
                f"{duration(writeback.pause_ns / writeback.pauses)} each",
                writeback.pause_ns,
                "ns",
                "throttle",
            ),
            limit,
            links.device_load(facts),
        ),
        summary="is pauses of the writers: they make pages dirty faster than the device takes them",
        saving=saving.all_of_it("if all of it may stay in memory until after the end")
        if fits
        else saving.half("bytes, or a device twice as fast"),
        remedies=_FITS if fits else (),
        needs=("dirty_throttle", "waits"),
    )


def _fits(facts: Facts) -> bool:
    """Whether all that it writes would fit into half of the memory that it may use; False if not known."""
    written, room = facts.calls.writes.done_bytes, facts.machine.cache_room_bytes
    return written is not None and room is not None and written <= room / 2


_FITS = (
    "raise the dirty limits (vm.dirty_bytes, vm.dirty_background_bytes): what it writes fits into memory",
    "write less (compress), or to a device that takes more",
    "start the writing early (sync_file_range), so that pauses are short",
)

CAUSE = Cause(
    name="dirty-throttled",
    title="Writers are paused by the dirty limits",
    meaning=(
        "The command fills the page cache faster than the device empties it. At the dirty limit the "
        "kernel makes each writer sleep, so that it goes at the device's pace."
    ),
    measured="Waits inside balance_dirty_pages, its pauses, the dirty pages and the limit then.",
    thresholds=(
        Threshold("paused time", SHARE, "share", "what a finding must explain to be listed"),
    ),
    fooled_by=(
        "a limit of a control group (memory.high, its own dirty limit), far below the machine's",
    ),
    remedies=(
        "write less (compress), or to a device that takes more",
        "raise the dirty limits (vm.dirty_bytes, vm.dirty_background_bytes) where bursts are short and memory is plenty",
        "start the writing early (sync_file_range, a lower vm.dirty_background_bytes), so that pauses are short",
    ),
    experiment="fast-device",
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.DIRTY,
    beats=("device-saturated",),
)  # fmt: skip
