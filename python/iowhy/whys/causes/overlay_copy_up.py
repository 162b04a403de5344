"""An overlay copies files up from a lower layer before they are changed."""

from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.copied_up import OPENS, CopiedUp
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.finding import Candidate, Claim, Link

# The copy is read, written and made durable within the call that changes the file.
WAITS = classes.STORAGE | {classes.THROTTLED, classes.MEMORY}
MOSTLY = 0.5


def find(facts: Facts) -> Candidate | None:
    """Calls wait inside what overlayfs copies."""
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
        summary=f"copies {_what(facts, found)} up from a lower layer of an overlay, {_why(found)}",
        saving=saving.all_of_it("if nothing has to be copied"),
        remedies=_remedies(found),
        needs=("waits", "stacks"),
        confidence=0.95,
    )


def _computing(facts: Facts, found: CopiedUp) -> tuple[Claim, ...]:
    """What the copying takes of a CPU: of these calls as much as it has of their waits."""
    kernel = facts.budget.line(classes.KERNEL)
    if not kernel.thread_ns:
        return ()
    part = min(1.0, found.cpu_ns / kernel.thread_ns)
    return (Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),) if part else ()


def _what(facts: Facts, found: CopiedUp) -> str:
    """What is copied, as far as it is known."""
    if found.files is None or found.pages is None:
        return "files"
    bytes_ = size(found.pages * facts.page_bytes)
    return f"a file of {bytes_}" if found.files == 1 else f"{count(found.files)} files, {bytes_},"


def _why(found: CopiedUp) -> str:
    call, it = found.calls[0], "it" if found.files == 1 else "them"
    if found.for_data < MOSTLY:
        return f"as {call} changes an attribute or a name"
    return f"as {call} opens {it} to write" if call in OPENS else f"as {call} cuts {it} off"


def _chain(facts: Facts, found: CopiedUp, share: float) -> tuple[Link, ...]:
    """How long calls wait for the copy, what is copied, and what of it was wanted."""
    longest = max((one.longest_ns for one in found.waits if one.longest_ns is not None), default=0)
    number = sum(one.shown_waits for one in found.waits)
    return chain_of(
        link(
            f"{percent(share)} of the time waits in {', '.join(found.calls)} while overlayfs copies files up",
            share,
            "share",
            "waits",
        ),
        link(
            f"{plural(number, 'wait')}, the longest {duration(longest)}", number, "waits", "waits"
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
        named = f", {percent(part)} of it of {found.path}" if found.files > 1 else f": {found.path}"
    return link(
        f"{plural(found.files, 'file')}, {size(bytes_)} in all, read below, written above and made durable{named}",
        bytes_,
        "bytes",
        "files",
    )


def _wanted(facts: Facts, found: CopiedUp) -> Link | None:
    """What the change itself is."""
    if found.for_data < MOSTLY:
        return link(
            f"{found.calls[0]} needs none of the data: it changes an attribute or a name",
            0,
            "bytes",
            "syscalls",
        )
    if found.written_bytes is None:
        return None
    return link(
        f"{facts.run.who} itself writes {size(found.written_bytes)} to what was copied",
        found.written_bytes,
        "bytes",
        "files",
    )


def _layers(one: Filesystem | None) -> Link | None:
    """Where the overlay is, and its upper layer."""
    if one is None:
        return None
    upper = _option(one, "upperdir")
    above = "" if upper is None else f", whose upper layer is {upper}"
    return link(f"the overlay is {one.mount}{above}", None, "text", "device-facts")


def _option(one: Filesystem, name: str) -> str | None:
    """The value of an option of the mount; None where it has none."""
    values = (option.partition("=") for option in one.options.split(","))
    return next((value for key, _, value in values if key == name and value), None)


def _remedies(found: CopiedUp) -> tuple[str, ...]:
    """An overlay that copies attributes alone helps those alone who change no more."""
    if found.for_data >= MOSTLY:
        return (_VOLUME, _SMALLER, _SHARED, _VOLATILE)
    copies_attributes = found.overlay is not None and _option(found.overlay, "metacopy") == "on"
    others = (_IN_IMAGE, _SHARED, _VOLATILE)
    return others if copies_attributes else (_METACOPY, *others)


_METACOPY = (
    "mount the overlay with metacopy=on (Podman: mountopt in storage.conf), which copies attributes alone; risk: not for layers that "
    "somebody untrusted has made"
)
_IN_IMAGE = (
    "change it where the layer is made (COPY --chmod, --chown, in the step that writes the file): a later step, or the container, "
    "copies all of the file"
)
_VOLUME = "keep what is changed on a volume (a bind mount): there it is changed in its place"
_SMALLER = "keep what changes apart from what does not, in a small file of its own: the copy is of whole files"
_SHARED = (
    "keep the layers, upper and lower, on one filesystem that shares blocks (XFS with reflink=1, btrfs): there the copy "
    "shares them and moves nothing"
)
_VOLATILE = (
    "mount it with volatile where what is changed may be lost (a build, a test): copies are not made durable then; risk: after a crash "
    "the upper layer must be thrown away"
)

CAUSE = Cause(
    name="overlay-copy-up",
    title="An overlay copies files up before they change",
    meaning=(
        "A container's files lie on an overlay: those of the image in lower layers, which nobody changes. Who opens one of them to write, "
        "or changes its mode, owner, time or name, waits until all of the file is copied to the upper layer and made durable there. That "
        "happens once for each file and container: one byte written, or a chmod, costs as much as the file is large."
    ),
    measured=(
        "Waits in calls whose kernel stack passes through what overlayfs copies by, and the CPU time of these calls; pages made dirty by "
        "the processes that wait so, beyond what their calls write (not of mapped files)."
    ),
    thresholds=(
        Threshold(
            "waiting for copies, at least", thresholds.LISTED, "share",
            "what a finding must explain to be listed",
        ),
        Threshold(
            "of that, in calls that want the data, for remedies of those", MOSTLY, "share",
            "an overlay that copies attributes alone (metacopy) does not help who writes",
        ),
    ),
    fooled_by=(
        "a second run: the file is in the upper layer then, until the container is made anew",
        "files that other threads of the same process write through mapped memory at the same time: where faults are not counted their "
        "pages are taken for copied ones",
    ),
    remedies=(_METACOPY, _IN_IMAGE, _VOLUME, _SMALLER, _SHARED, _VOLATILE),
    for_authors=frozenset({_IN_IMAGE, _SMALLER}),
    experiment=None,
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=(
        "cache-cold", "cache-thrash", "random-access", "readahead-poor", "device-saturated", "device-slow", "device-contended",
        "queue-shallow", "small-requests", "sync-storm", "flush-cost", "journal-entangled", "writeback-scattered", "file-fragmented",
        "dirty-throttled", "metadata-cold", "io-throttled", "memory-pressure",
        # It takes no more of the CPU time than its calls have.
        "cpu-serial",
    ),
)  # fmt: skip
