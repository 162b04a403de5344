"""Writers are paused because too much is dirty."""

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.remedy import Remedy

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
    all_fits, less = fits(facts), evidence.compress(facts)
    limit = None
    if writeback.limit_pages is not None and writeback.dirty_pages is not None:
        limit = link(
            f"{size(writeback.dirty_pages * facts.page_bytes)} are dirty; the limit is "
            f"{size(writeback.limit_pages * facts.page_bytes)}",
            writeback.dirty_pages * facts.page_bytes,
            "bytes",
            "throttle",
            "dirty-throttled.dirty-pages",
        )
    return Candidate(
        claims=(claim,),
        chain=chain_of(
            link(
                f"the kernel pauses writers at the dirty limits for {percent(share)} of the time",
                share,
                "share",
                "budget",
                "dirty-throttled.share",
            ),
            None
            if not writeback.pauses
            else link(
                f"{count(writeback.pauses)} pauses, "
                f"{duration(writeback.pause_ns / writeback.pauses)} each",
                writeback.pause_ns,
                "ns",
                "throttle",
                "dirty-throttled.pause-ns",
            ),
            limit,
            links.device_load(facts),
        ),
        summary=_says(facts),
        saving=saving.all_of_it("if all written data may stay in memory until the end")
        if all_fits
        else saving.half("bytes, or a device twice as fast"),
        remedies=(_raise(facts), less, _EARLIER) if all_fits else (less, _EARLIER),
        needs=("dirty_throttle", "waits"),
    )


def _says(facts: Facts) -> Sentence:
    """What it did in that time."""
    return worded(
        "dirty-throttled.limit",
        "paused by the kernel, as it writes faster than {device} takes the data (dirty limit)",
        device=_device(facts),
    )


def fits(facts: Facts) -> bool:
    """Whether all that it writes fits into half of the memory that it may use; False if not known."""
    written, room = facts.calls.writes.done_bytes, facts.machine.cache_room_bytes
    return written is not None and room is not None and written <= room / 2


def _device(facts: Facts) -> str:
    """The device that is written to."""
    if facts.requests.known and facts.requests.count and facts.requests.device:
        return facts.requests.device
    return "the device" if facts.devices.top is None else facts.devices.top.name


def _raise(facts: Facts) -> Remedy:
    """Limits that all it writes stays below; a memory limit of its group scales them, so then without numbers.

    Pauses begin halfway between the two limits (dirty_freerun_ceiling in mm/page-writeback.c).
    """
    written = facts.calls.writes.done_bytes
    if written is None or facts.machine.is_limited:
        return _RAISE
    background, limit = (-(-written * part // _MIB) * _MIB for part in (0.5, 2))
    values = f"vm.dirty_background_bytes={background:.0f} vm.dirty_bytes={limit:.0f}"
    return Remedy(
        worded(
            "dirty-throttled.raise-limit",
            "Let more unwritten data stay in memory: `sysctl {values}`",
            values=values,
        ),
        risk=_RISK,
    )


_MIB = 1 << 20
_RISK = "a crash loses more data, and the next sync of any program takes longer"
_RAISE = Remedy(
    worded(
        "dirty-throttled.raise-limit-any",
        "Let more unwritten data stay in memory: `sysctl vm.dirty_background_ratio=40 vm.dirty_ratio=80`",
    ),
    risk=_RISK,
)
_EARLIER = Remedy(
    worded(
        "dirty-throttled.writeback-earlier",
        "Start writeback earlier, for shorter pauses: `sysctl vm.dirty_background_bytes=67108864`",
    ),
    risk="data that changes again soon is written twice",
)

CAUSE = Cause(
    name="dirty-throttled",
    title="Writers paused at the dirty limit",
    meaning=(
        "The program fills the page cache faster than the device empties it. At the dirty limit the "
        "kernel makes each writer sleep, and writing slows down to the device's pace."
    ),
    measured="Waits inside balance_dirty_pages, its pauses, and the dirty pages and the limit at that time.",
    thresholds=(
        Threshold("paused time", SHARE, "share", "a finding must explain as much to be listed"),
    ),
    fooled_by=(
        "a control group's limit (memory.high, its share of the dirty limit), far below the machine's",
    ),
    remedies=(_RAISE, evidence.COMPRESS, _EARLIER),
    experiment="fast-device",
    find=find,
    explains=classes.named("throttled"),
    trouble="dirty pages",
    unseen_without=("waits",),
    settled_by=next_command.DIRTY,
    beats=("device-saturated",),
)  # fmt: skip
