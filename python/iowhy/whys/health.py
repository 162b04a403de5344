"""What a disk, its array and the kernel's log report about the health of a disk, for a finding about that disk."""

from msgspec import Struct

from iowhy.sentences import worded
from iowhy.whys.chain import count, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Link

#: Metric → what is counted, and more about it; counted since the disk was made.
_COUNTED = {
    "pending_sectors": ("sector", "that it cannot read"),
    "uncorrectable_sectors": ("sector", "that it could not correct"),
    "reported_uncorrectable": ("read", "that it could not correct"),
    "media_errors": ("error", "of its medium"),
    "failed_requests": ("request", "that failed"),
    "corrupt_blocks": ("block", "with a wrong checksum"),
    "reallocated_sectors": ("sector", "that it has replaced"),
}
_LOGGED = {
    "io_errors": "I/O error",
    "command_timeouts": "timed out command",
}
_WORK = ("resync", "recovery", "check", "reshape", "repair")
#: Of these, what speaks of a device that is failing, with what SMART's judgement and the kernel's log add to it.
_FAILING = (
    "pending_sectors",
    "uncorrectable_sectors",
    "reported_uncorrectable",
    "media_errors",
    "failed_requests",
)
_FAILING_LOG = {
    "io_errors": "I/O error",
    "media_errors": "medium error",
    "command_timeouts": "timed out command",
    "gone": "removal",
}
#: What is of this moment: a reset tells that something did not answer.
_FAILING_NOW = _FAILING_LOG | {"link_resets": "link reset", "command_failures": "failed command"}
_JUDGES = {"self_assessment_failed": "SMART", "critical_warning": "NVMe's critical warning"}
#: A critical warning that only says that it is hot.
_HOT = 2
#: More would bury the numbers of the finding itself.
SHOWN = 3


class Sign(Struct, frozen=True):
    """What speaks of a failing device, whose it is, and how often."""

    subject: str
    metric: str
    times: float
    link: Link


def signs(facts: Facts, name: str | None) -> tuple[Sign, ...]:
    """What is reported of a device (None: of the one with most) that is failing, most often first."""
    found = []
    for one in facts.measured.numbers:
        counted, more, log = "", "", one.tool == "dmesg"
        if log and one.metric in _FAILING_LOG:
            counted = plural(one.value, _FAILING_LOG[one.metric])
        elif not log and one.metric in _FAILING:
            noun, more = _COUNTED[one.metric]
            counted = plural(one.value, noun)
        hot = one.metric == "critical_warning" and int(one.value) == _HOT
        faulted = one.metric == "faulted_in_pool"
        if not counted and (hot or not (faulted or one.metric in _JUDGES)):
            continue
        if one.value <= 0 or not (name is None or _is(one.subject, name)):
            continue
        said = worded(
            "health.sign",
            "the kernel's log has {counted} of {device}"
            if log
            else "{device} reports {counted} {more} since it was made"
            if counted
            else "ZFS has taken {device} out of its pool for its errors"
            if faulted
            else "{device} says itself that it is failing ({judge})",
            device=one.subject,
            counted=counted,
            more=more,
            judge=_JUDGES.get(one.metric),
        )
        shown = link(said, one.value, "times", "measurements")
        found.append(Sign(one.subject, one.metric, one.value, shown))
    found.sort(key=lambda one: -one.times)
    return tuple(one for one in found if one.subject == found[0].subject)[:SHOWN]


def logged(facts: Facts, name: str | None) -> tuple[Sign, ...]:
    """What the kernel logged of a disk while it was recorded (None: of the one with most) that speaks of a failing one, most often first."""
    found = [one for one in facts.logged if one.metric in _FAILING_NOW and name in (None, one.name)]
    return tuple(
        Sign(
            one.name,
            one.metric,
            one.times,
            link(
                worded(
                    "health.logged",
                    "the kernel logged {counted} of {device}"
                    + (
                        ", at {first:ns}: {text}"
                        if one.times == 1
                        else " from {first:ns} to {last:ns}, first: {text}"
                    ),
                    counted=plural(one.times, _FAILING_NOW[one.metric]),
                    device=one.name,
                    first=one.first_ns,
                    last=one.last_ns,
                    text=one.text,
                ),
                one.times,
                "times",
                "kernel-log",
            ),
        )
        for one in found
        if one.name == found[0].name
    )[:SHOWN]


def reported(facts: Facts) -> tuple[Link, ...]:
    """Links for the most loaded device of the texts; none if nothing is reported about it, or all is zero."""
    device = facts.devices.top
    if not facts.run.pasted or device is None:
        return ()
    found = [
        link(
            f"{subject} reports {plural(value, noun)} {more} since it was made",
            value,
            "times",
            "measurements",
        )
        for metric, (noun, more) in _COUNTED.items()
        for subject, value in facts.measured.metric(metric).items()
        if value > 0 and _is(subject, device.name)
    ]
    found += [
        link(
            f"the kernel's log has {plural(value, noun)} of {subject}",
            value,
            "times",
            "measurements",
        )
        for metric, noun in _LOGGED.items()
        for subject, value in facts.measured.of("dmesg", metric).items()
        if value > 0 and _is(subject, device.name)
    ]
    return tuple([*found, *_arrays(facts, device.name)][:SHOWN])


def _is(subject: str, name: str) -> bool:
    """Whether a text is about this device: by its name, its controller's (nvme0 of nvme0n1), or without one."""
    return subject in (name, "disk") or name.startswith(f"{subject}n")


def _arrays(facts: Facts, name: str) -> list[Link]:
    """Rebuilds and checks of arrays, and members that are missing: the disks of an array share this, so any array counts unless the device is another one."""
    links = []
    for work in _WORK:
        for array, speed in facts.measured.metric(f"{work}_bytes_per_s").items():
            if not name.startswith("md") or name == array:
                done = facts.measured.metric(f"{work}_done_share").get(array)
                so_far = "" if done is None else f", {percent(done)} done"
                links.append(
                    link(
                        f"{array} runs a {work} at {size(speed)}/s{so_far}",
                        speed,
                        "bytes/s",
                        "measurements",
                    )
                )
    for array, missing in facts.measured.metric("missing_members").items():
        if missing > 0 and (not name.startswith("md") or name == array):
            links.append(
                link(
                    f"{array} is degraded: {count(missing)} of its members missing",
                    missing,
                    "members",
                    "measurements",
                )
            )
    return links
