"""`btt`: how long block requests took from one stage to the next, from blktrace's events; all devices, and each.

Manual: btt(1): Q queued, G request got, I inserted, M merged, D handed to the driver, C completed; seconds. Q2C is the whole,
D2C the device's part; shares of the table "Device Overhead" are of Q2C.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "btt"
HINT = r"^=+ (?:All Devices|Per Device|Per Process) =+|^\s*(?:ALL|Q2Q|D2C)\s+(?:MIN\s+AVG\s+MAX\s+N\b|[\d.]+\s+[\d.]+\s+[\d.]+\s+\d+)"
BEGINS = "=="

_SECTION = re.compile(r"=+ (.{1,60}?) =+")
_STAGE = re.compile(
    r"\s*([QGIMDC]2[QGIMDC])\s+(\d{1,9}\.\d{1,9})\s+(\d{1,9}\.\d{1,9})\s+(\d{1,9}\.\d{1,9})\s+(\d{1,15})\s*"
)
_TITLES = re.compile(r"\s*(?:ALL|\S+)\s+(?:MIN\s+AVG\s+MAX\s+N|\|.*)\s*|[-| ]+")


def read(block: Block) -> Parsed:
    """Into measurements of "all": mean, least, longest and number of each step (Q2C, D2C, …)."""
    parsed = Parsed(NAME, units="seconds")
    section = "All Devices"
    means: dict[str, float] = {}
    for at, line in parsed.lines(block):
        if match := _SECTION.match(line.strip()):
            section = match[1]
        elif (match := _STAGE.fullmatch(line)) and section == "All Devices":
            step = match[1].lower()
            least, mean, longest = (number(cell) for cell in match.groups()[1:4])
            if mean is not None and step not in means:
                means[step] = mean
                for name, value in (("mean", mean), ("min", least), ("max", longest)):
                    parsed.measure("all", f"{step}_{name}_ns", value, unit=1e9)
                parsed.measure("all", f"{step}_count", float(match[5]))
        elif section == "All Devices" and not _TITLES.fullmatch(line):
            parsed.reject(at, line)
    _share(parsed, means)
    return parsed


def _share(parsed: Parsed, means: dict[str, float]) -> None:
    whole, device = means.get("q2c"), means.get("d2c")
    if whole and device is not None and device <= whole:
        parsed.measure("all", "d2c_share", device / whole)
        parsed.note(
            f"of the {whole * 1e3:,.3g} ms that a request takes on average, {100 * (device / whole):.0f} % are the device's (D2C); "
            "the rest passes before it gets it"
        )
        parsed.missing.append("blkparse -i {trace}")
