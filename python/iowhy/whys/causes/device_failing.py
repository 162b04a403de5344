"""The device fails requests, or says itself that it cannot read what it holds."""

from msgspec.structs import replace

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, health, links, named, next_command, saving, slow_device
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.failing import ERRORS, Failing
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

#: Words for an errno of a request.
_WORDS = {
    5: "an I/O error",
    52: "a reservation of somebody else",
    61: "a medium error",
    67: "a broken path to it",
    84: "a checksum error",
    110: "no answer in time",
    121: "an error of the target",
}


def find(facts: Facts) -> Candidate | None:
    """Requests that end in an error; of other tools' texts, what they report of it."""
    if facts.run.pasted:
        return _reported(facts)
    found = facts.failing
    if found is None:
        return _logged(facts)
    device = worded(
        "device-failing.failed",
        "{device}, which is failing: {failed} of its {requests:count request} ended in {error}",
        device=found.name,
        failed=found.failed,
        requests=found.requests,
        error=_WORDS[found.error],
    )
    # What it takes for a request that fails, and what else it answers late, it would not take if it were well.
    same = found.dev == facts.requests.dev
    part = max(found.part, slow_device.excess(facts) if same else 0.0)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=part),),
        chain=(
            *_chain(facts, found),
            *(one.link for one in health.logged(facts, found.name)),
            *(slow_device.silences(facts) if same else ()),
        ),
        summary=worded("device-failing.waits", "waiting for {device}", device=device),
        headline=worded("device-failing.fails", "Replace {device}.", device=device),
        saving=saving.all_of_it(f"if {found.name} answers like other devices"),
        remedies=_remedies(facts, found.name),
        comes_first=True,
        excess=True,
        needs=("block_requests",),
    )


def _chain(facts: Facts, found: Failing) -> tuple[Link, ...]:
    once = found.failed == 1
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
        link(
            worded(
                "device-failing.errors",
                "{failed:count request} of {device} "
                + (
                    "(a {op}) ended in {error}, at {first:ns}"
                    if once
                    else "(most of them {op}s) ended in {error}, from {first:ns} to {last:ns}"
                )
                + (", of {path}" if found.path else ""),
                failed=found.failed,
                device=found.name,
                op=found.op,
                error=_WORDS[found.error],
                first=found.first_ns,
                last=found.last_ns,
                path=found.path,
            ),
            found.failed,
            "errors",
            "events",
        ),
        link(
            worded(
                "device-failing.took",
                "these take {part:share} of the time of all its requests",
                part=found.part,
            ),
            found.part,
            "share",
            "devices",
        ),
    )


def _logged(facts: Facts) -> Candidate | None:
    """Of the device that it waits for, what the kernel logged, though no request ended in an error: it tried again."""
    whole = facts.run.mode == "machine"
    found = health.logged(facts, None if whole else facts.requests.device or "")
    if not found:
        return None
    same = found[0].subject == facts.requests.device
    return replace(
        _said(facts, found),
        claims=(Claim(classes.STORAGE, fraction=slow_device.excess(facts) if same else 0.0),),
        chain=(
            *(one.link for one in found),
            *chain_of(links.in_calls(facts, classes.STORAGE, "is spent waiting for storage")),
            *(slow_device.silences(facts) if same else ()),
        ),
        excess=True,
        needs=("kernel_log",),
    )


def _reported(facts: Facts) -> Candidate | None:
    """Of the device that the texts show at work, of an array any disk; where they show none, of the one that reports most."""
    device = facts.devices.top
    found = health.signs(facts, None if device is None else device.name)
    if not found:
        return None
    name = found[0].subject
    return replace(_said(facts, found), fixed_share=0.0, share_of=f"{name}'s time")


def _said(facts: Facts, found: tuple[health.Sign, ...]) -> Candidate:
    """A device of which something else than its requests says that it is failing."""
    name, said = found[0].subject, tuple(one.link for one in found)
    device_words = worded(
        "device-failing.says", "{device}: {sign}", device=name, sign=said[0].statement
    )
    return Candidate(
        claims=(),
        chain=said,
        summary=worded("device-failing.reported", "using {device}, which is failing", device=name),
        headline=worded("device-failing.replace-it", "Replace {device}", device=device_words),
        saving=saving.all_of_it(f"if {name} answers like other devices"),
        remedies=_gone(name)
        if any(one.metric == "gone" for one in found)
        else (*_of_pool(name, found), *_remedies(facts, name)),
        comes_first=True,
        confidence=0.85,
    )


_REPLACE = Remedy(
    worded("device-failing.copy-replace", "Copy its data to another device now, and replace it"),
    risk="reading all of it may be its end; what it cannot read is lost without a backup",
)
_LOOK = Remedy(
    worded("device-failing.log", "See what the kernel says of it: `dmesg -T --level err,warn`"),
    looks=True,
)


def _of_pool(name: str, found: tuple[health.Sign, ...]) -> tuple[Remedy, ...]:
    """The pool has its data."""
    if not any(one.metric == "faulted_in_pool" for one in found):
        return ()
    said = "Replace {name} in its pool: `zpool replace POOL {name} NEW`"
    return (
        Remedy(
            worded("device-failing.zpool-replace", said, name=name),
            risk="until its data are on the new one, another disk that fails may cost the pool",
        ),
    )


def _remedies(facts: Facts, name: str) -> tuple[Remedy, ...]:
    do: Sentence = worded(
        "device-failing.copy-replace-device",
        "Copy {data} to another device now, and replace {name}",
        data=named.data(facts),
        name=name,
    )
    return (Remedy(do, risk=_REPLACE.risk), slow_device.look(name))


def _gone(name: str) -> tuple[Remedy, ...]:
    """Nothing can be copied from what the kernel has removed."""
    return (
        Remedy(
            worded("device-failing.there", "See whether {name} is there again: `lsblk`", name=name),
            looks=True,
        ),
        Remedy(
            worded(
                "device-failing.reconnect",
                "Connect {name} again, or replace it and restore its data from a backup",
                name=name,
            ),
            risk="what was written to it last may be lost",
        ),
    )


CAUSE = Cause(
    name="device-failing",
    title="A failing device",
    meaning=(
        "The device ends requests in errors, does not answer them in time, or reports itself that it cannot read what it holds. It is "
        "about to lose data: this comes before anything about speed."
    ),
    measured=(
        "Requests that end in an error of the device or of the way to it, and errors, timeouts, resets and removals that the kernel logs of the "
        "disk that is waited for, at that time. With another tool's figures, what smartctl and nvme smart-log "
        "report of its medium, and errors, timeouts and removals in the kernel's log, of the device that the texts show at work."
    ),
    thresholds=(
        Threshold(
            "requests that end in an error, at least", 1, "requests",
            "the driver has tried each again before; errors that say something else do not count (no room, not supported): only "
            + ", ".join(map(str, ERRORS)),
        ),
    ),
    fooled_by=(
        "a cable, a controller or a network that fails, and not the disk",
        "a device that was pulled out",
        "a counter of SMART that goes back to an accident years ago",
    ),
    remedies=(_REPLACE, _LOOK),
    find=find,
    explains=classes.named("read write sync"),
    settled_by=next_command.DEVICE,
    beats=("device-slow",),
    explains_errors=("EIO",),
)  # fmt: skip
