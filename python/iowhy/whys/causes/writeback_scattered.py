"""Writeback goes from file to file and writes a little of each."""

import math

from iowhy.sentences import worded
from iowhy.whys import classes, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.sync_storm import LARGER_FILES, larger_files
from iowhy.whys.chain import chain_of, count, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.facts.writeback import requested_bytes
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.remedy import Remedy

INODES_MIN = 100
PAGES = 64
WHOLE_SYNCS = frozenset({"sync", "syncfs"})


def find(facts: Facts) -> Candidate | None:
    """Waits for writing while the kernel's workers write a little of many files."""
    writeback, budget, pages = facts.writeback, facts.budget, _pages(facts)
    share = budget.elapsed(classes.WRITE, classes.THROTTLED) + budget.calls(
        WHOLE_SYNCS, {classes.SYNC}
    )
    if not writeback.known or share < thresholds.LISTED:
        return None
    if writeback.background_inodes < INODES_MIN or pages is None or pages > PAGES:
        return None
    jumps = facts.requests.jump_share
    if jumps is not None and jumps < thresholds.IN_ORDER:
        return None
    return Candidate(
        claims=(
            Claim(frozenset({classes.WRITE, classes.THROTTLED})),
            Claim(frozenset({classes.SYNC}), calls=WHOLE_SYNCS),
        ),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent waiting to write", share, "share", "budget"
            ),
            link(
                f"{count(writeback.background_passes)} writeback passes over {count(writeback.background_inodes)} inodes",
                writeback.background_inodes,
                "inodes",
                "writeback",
            ),
            link(
                f"each pass wrote {count(pages)} pages of one inode in the median",
                pages,
                "pages",
                "writeback",
            ),
            None
            if writeback.inodes_per_second is None
            else link(
                f"{count(writeback.inodes_per_second)} different inodes per second",
                writeback.inodes_per_second,
                "inodes/s",
                "writeback",
            ),
            links.request_shape(facts),
        ),
        summary=worded(
            "writeback-scattered.files",
            "waiting for writeback of {files:count} files, {each:bytes} at a time",
            files=writeback.background_inodes,
            each=pages * facts.page_bytes,
        ),
        saving=saving.all_but_moving(
            facts,
            (classes.WRITE, classes.THROTTLED, classes.SYNC),
            facts.requests.write_bytes,
            "if written in order",
        ),
        remedies=(larger_files(facts, writeback.background_inodes), _EARLIER),
        needs=("writeback", "block_requests"),
        confidence=0.8,
    )


def _pages(facts: Facts) -> float | None:
    """Pages that a pass writes, in the median; if the kernel counts many, what was asked of the device, if that is less.

    The kernel counts whole folios.
    """
    pages = facts.writeback.median_background_pages
    if pages is None or pages <= PAGES:
        return pages
    requested = requested_bytes(facts.relations)
    return pages if requested is None else min(pages, math.ceil(requested / facts.page_bytes))


_EARLIER = Remedy(
    worded(
        "writeback-scattered.writeback-earlier",
        "Start writeback earlier: `sysctl vm.dirty_background_bytes=67108864`",
    ),
    risk="data that soon changes again is written more often",
)

CAUSE = Cause(
    name="writeback-scattered",
    title="Writeback that jumps from file to file",
    meaning=(
        "Dirty pages of many files are written a few at a time, in turn, so that the device jumps "
        "although every file was written in order."
    ),
    measured=(
        "Passes of writeback by kernel workers: inodes and pages per pass (if files are in large folios, which the kernel counts "
        "whole: what the device was asked to write); jumps of the requests; time "
        "that the command waits to write or is paused."
    ),
    thresholds=(
        Threshold(
            "inodes, at least", INODES_MIN, "inodes",
            "a few files in turn are written in long runs anyway",
        ),
        Threshold(
            "pages per pass, at most", PAGES, "pages",
            "256 KiB take 2 ms at 130 MB/s, less than the seek to them",
        ),
    ),
    fooled_by=(
        "an allocator that puts small files next to each other: then the requests do not jump",
    ),
    remedies=(
        LARGER_FILES,
        _EARLIER,
    ),
    find=find,
    explains=classes.named("write throttled sync"),
    unseen_without=("writeback",),
    settled_by=next_command.FILE,
    beats=(
        "dirty-throttled", "device-saturated", "random-access", "queue-shallow", "small-requests",
    ),
)  # fmt: skip
