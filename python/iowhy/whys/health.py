"""What a disk, its array and the kernel's log report about the health of a disk, for a finding about that disk."""

from iowhy.whys.chain import count, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Link

#: Metric → what is counted, and more about it; counted since the disk was made.
_COUNTED = {
    "pending_sectors": ("sector", "that it cannot read"),
    "uncorrectable_sectors": ("sector", "that it could not correct"),
    "reported_uncorrectable": ("read", "that it could not correct"),
    "media_errors": ("error", "of its medium"),
    "reallocated_sectors": ("sector", "that it has replaced"),
}
_LOGGED = {
    "io_errors": "I/O error",
    "command_timeouts": "timed out command",
}
_WORK = ("resync", "recovery", "check", "reshape", "repair")
#: More would bury the numbers of the finding itself.
SHOWN = 3


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
