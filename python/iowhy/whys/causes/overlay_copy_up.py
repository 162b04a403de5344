"""An overlay copies files to its upper layer before they are changed."""

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Clue, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.copied_up import OPENS, CopiedUp
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

# The copy is read, written and synced within the call that changes the file.
WAITS = classes.STORAGE | {classes.THROTTLED, classes.MEMORY}
MOSTLY = 0.5


def find(facts: Facts) -> Candidate | None:
    """Calls wait while overlayfs copies."""
    if facts.budget.elapsed(*WAITS) < thresholds.LISTED:
        return None
    found = facts.copied_up
    if found is None:
        return None
    claims = evidence.claims_through(found.waits, WAITS)
    share = evidence.claimed(facts, claims)
    if share < thresholds.LISTED:
        return None
    return Candidate(
        claims=(*claims, *_computing(facts, found)),
        chain=_chain(facts, found, share),
        summary=worded(
            "overlay-copy-up.copying",
            "copying "
            + (
                "files"
                if found.files is None or found.pages is None
                else "a file of {bytes:bytes}"
                if found.files == 1
                else "{files:count} files ({bytes:bytes})"
            )
            + " to the overlay's upper layer, "
            + (
                "for a call of {call}"
                if found.for_data < MOSTLY
                else "as {call} "
                + ("opens " if found.calls[0] in OPENS else "cuts ")
                + ("it" if found.files == 1 else "them")
            ),
            files=found.files,
            bytes=None if found.pages is None else found.pages * facts.page_bytes,
            call=found.calls[0],
        ),
        saving=saving.all_of_it("if nothing must be copied"),
        remedies=_remedies(found),
        needs=("waits", "stacks"),
        confidence=0.95,
    )


def _computing(facts: Facts, found: CopiedUp) -> tuple[Claim, ...]:
    """CPU time of the copying: the same part of these calls' CPU time as of their waits."""
    kernel = facts.budget.line(classes.KERNEL)
    if not kernel.thread_ns:
        return ()
    part = min(1.0, found.cpu_ns / kernel.thread_ns)
    return (Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),) if part else ()


def _chain(facts: Facts, found: CopiedUp, share: float) -> tuple[Link, ...]:
    """How long calls wait for the copy, what is copied, and what of it was needed."""
    longest = max((one.longest_ns for one in found.waits if one.longest_ns is not None), default=0)
    number = sum(one.shown_waits for one in found.waits)
    return chain_of(
        link(
            f"{percent(share)} of the time is spent in {', '.join(found.calls)}, waiting while overlayfs copies",
            share,
            "share",
            "waits",
            "overlay-copy-up.share",
        ),
        link(
            f"{plural(number, 'wait')}, the longest {duration(longest)}",
            number,
            "waits",
            "waits",
            "overlay-copy-up.number",
        ),
        _copied(facts, found),
        _wanted(facts, found),
        _layers(found.overlay),
    )


def _copied(facts: Facts, found: CopiedUp) -> Link | None:
    if found.pages is None or found.files is None:
        return None
    bytes_ = found.pages * facts.page_bytes
    named = ""
    if found.path is not None and found.path_pages is not None:
        part = found.path_pages / found.pages
        named = f", {percent(part)} of it {found.path}" if found.files > 1 else f": {found.path}"
    return link(
        f"{plural(found.files, 'file')}, {size(bytes_)} in total, read from a lower layer, written to the upper one and synced{named}",
        bytes_,
        "bytes",
        "files",
        "overlay-copy-up.bytes",
    )


def _wanted(facts: Facts, found: CopiedUp) -> Link | None:
    """What the change itself is."""
    if found.for_data < MOSTLY:
        return link(
            f"{found.calls[0]} changes only an attribute or a name and needs none of the data",
            0,
            "bytes",
            "syscalls",
            "overlay-copy-up.attributes-only",
        )
    if found.written_bytes is None:
        return None
    return link(
        f"{facts.run.who} itself writes {size(found.written_bytes)} to the copied files",
        found.written_bytes,
        "bytes",
        "files",
        "overlay-copy-up.written-bytes",
    )


def _layers(one: Filesystem | None) -> Link | None:
    """Where the overlay is, and its upper layer."""
    if one is None:
        return None
    upper = _option(one, "upperdir")
    above = "" if upper is None else f", its upper layer is {upper}"
    return link(
        f"the overlay is mounted at {one.mount}{above}",
        None,
        "text",
        "device-facts",
        "overlay-copy-up.mounted",
    )


def _option(one: Filesystem, name: str) -> str | None:
    """The value of a mount option; None if it has none."""
    values = (option.partition("=") for option in one.options.split(","))
    return next((value for key, _, value in values if key == name and value), None)


def _remedies(found: CopiedUp) -> tuple[Remedy, ...]:
    """An overlay that copies only attributes helps only programs that change nothing else."""
    if found.for_data >= MOSTLY:
        return (_VOLUME, _SMALLER, _SHARED, _VOLATILE)
    copies_attributes = found.overlay is not None and _option(found.overlay, "metacopy") == "on"
    others = (_IN_IMAGE, _SHARED, _VOLATILE)
    return others if copies_attributes else (_METACOPY, *others)


_METACOPY = Remedy(
    worded(
        "overlay-copy-up.metacopy",
        "Copy only attributes, once it is unmounted and mounted again: `echo Y > /sys/module/overlay/parameters/metacopy`",
    ),
    risk="an untrusted layer can show other files",
)
_IN_IMAGE = Remedy(
    worded(
        "overlay-copy-up.change-in-build",
        "Change it in the build step that writes the file (COPY --chmod)",
    ),
    risk="containers of the old image stay slow",
    for_authors=True,
)
_VOLUME = Remedy(
    worded("overlay-copy-up.volume", "Keep the files that change on a volume"),
    risk="the data outlives the container: it must be backed up and cleaned separately",
)
_SMALLER = Remedy(
    worded(
        "overlay-copy-up.split-file",
        "Split the file into a small one that changes and one that does not",
    ),
    risk="programs that know the one file fail",
    for_authors=True,
)
_SHARED = Remedy(
    worded(
        "overlay-copy-up.reflink",
        "Keep all layers on one XFS with `reflink=1`, where a copy moves no data",
    ),
    risk="downtime while the containers' storage moves",
)
_VOLATILE = Remedy(
    worded(
        "overlay-copy-up.volatile",
        "Mount the overlay with `volatile`, which does not sync copies",
    ),
    risk="after a crash the upper layer must be thrown away",
)


def _may_copy(facts: Facts) -> bool:
    return any(one.kind == "overlay" for one in facts.filesystems)


CAUSE = Cause(
    name="overlay-copy-up",
    title="Whole files copied to an overlay's upper layer",
    meaning=(
        "A container's files are on an overlay: those of the image in lower layers, which never change. A process that opens one of them for "
        "writing, or changes its mode, owner, time or name, waits until the whole file is copied to the upper layer and synced there. That "
        "happens once for each file and container: one written byte, or a chmod, costs as much as copying the whole file."
    ),
    measured=(
        "Waits in calls whose kernel stack passes through the copying functions of overlayfs, and the CPU time of these calls; pages dirtied "
        "by the waiting processes, beyond what their calls write (without mapped files)."
    ),
    thresholds=(
        Threshold(
            "waiting for copies, at least", thresholds.LISTED, "share",
            "what a finding must explain to be listed",
        ),
        Threshold(
            "of that, in calls that need the data, for their remedies", MOSTLY, "share",
            "an overlay that copies only attributes (metacopy) does not help writers",
        ),
    ),
    fooled_by=(
        "a second run: the file is in the upper layer then, until the container is created again",
        "files that other threads of the same process write through mapped memory at the same time: if faults are not counted, their "
        "pages count as copied",
    ),
    remedies=(_METACOPY, _IN_IMAGE, _VOLUME, _SMALLER, _SHARED, _VOLATILE),
    find=find,
    explains=classes.named("read write sync throttled memory kernel"),
    unseen_without=("waits",),
    clues=(Clue("stacks", _may_copy),),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "cache-thrash", "random-access", "readahead-poor", "device-saturated",
        "device-slow", "device-contended", "queue-shallow", "small-requests", "sync-storm",
        "flush-cost", "journal-entangled", "writeback-scattered", "file-fragmented",
        "dirty-throttled", "metadata-cold", "io-throttled", "memory-pressure", "cpu-serial",
        "data-journaled", "device-capped", "filesystem-cpu", "filesystem-full", "fuse-daemon",
        "remote-storage", "spills", "partial-writes", "cpu-saturated", "syncs-behind-writes",
    ),
)  # fmt: skip
