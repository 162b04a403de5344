"""What disks say of their own health (SMART), under the same names whatever tool prints it."""

import re
from collections.abc import Mapping

from iowhy.sources.format import Parsed

#: Metric → words for a count above zero that speaks of the medium or of its way to the machine.
SIGNS = {
    "pending_sectors": "sectors that it cannot read and has not given up",
    "reallocated_sectors": "sectors that it has replaced",
    "uncorrectable_sectors": "sectors that it could not correct",
    "reported_uncorrectable": "reads that it could not correct",
    "command_timeouts": "commands that timed out",
    "crc_errors": "transfers with checksum errors (the cable, as a rule)",
    "media_errors": "errors of its medium",
    "logged_errors": "errors in its log",
    "critical_warning": "bits of a critical warning",
}
#: The plural's letter of the first word.
_ONE = re.compile(r"(?<=\w)s(?= )")


def emit(parsed: Parsed, device: str, found: Mapping[str, float]) -> None:
    """The numbers into measurements; those that speak against the disk into a note."""
    parsed.measures(device, found)
    signs = [
        f"{found[metric]:,.0f} {words if found[metric] != 1 else _ONE.sub('', words, count=1)}"
        for metric, words in SIGNS.items()
        if found.get(metric, 0) > 0
    ]
    if found.get("self_assessment_failed"):
        signs.insert(0, "a failed self-assessment")
    worn = found.get("used_share")
    if worn is not None and worn >= 1:
        signs.append(f"{100 * worn:.0f} % of its rated endurance used")
    spare, least = found.get("spare_share"), found.get("spare_least_share")
    if spare is not None and least is not None and spare < least:
        signs.append(
            f"{100 * spare:.0f} % of its spare left, less than its threshold of {100 * least:.0f} %"
        )
    if signs:
        parsed.note(f"{device} reports {', '.join(signs)}, since it was made")
