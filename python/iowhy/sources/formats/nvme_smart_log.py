"""`nvme smart-log`: what an NVMe device says of its own health, and how much was read from it and written to it.

NVM Express Base Specification, "SMART / Health Information": data units are 1000 blocks of 512 bytes, the busy time is in
minutes; all are since the device was made.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _health

NAME = "nvme-smart-log"
TOOL = "nvme smart-log"
HINT = r"^Smart Log for NVME device"

_TITLE = re.compile(r"Smart Log for NVME device:\s*(\S{1,32}) namespace-id:\S+")
_LINE = re.compile(r"\s*([A-Za-z][\w .#\[\]-]{2,60}?)\s*:\s*(\S.*)")
_NUMBER = re.compile(r"(0x[0-9a-fA-F]{1,4}|[\d,.]{1,26})\s*(%?)(?:\s.*)?")
_METRICS = {
    "critical_warning": "critical_warning",
    "available_spare": "spare_share",
    "available_spare_threshold": "spare_least_share",
    "percentage_used": "used_share",
    "media_errors": "media_errors",
    "data_units_read": "lifetime_read_bytes",
    "data_units_written": "lifetime_written_bytes",
    "data units read": "lifetime_read_bytes",
    "data units written": "lifetime_written_bytes",
    "num_err_log_entries": "error_log_entries",
    "unsafe_shutdowns": "unsafe_shutdowns",
}
UNIT_BYTES = 512_000
SURE = 0.95
BEGINS = ""
NEAR = (f"^{_TITLE.pattern}", 1)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the device. All zeros are no log: the device gave none."""
    parsed = Parsed(TOOL, units="counts since the device was made")
    device = "nvme"
    found: dict[str, float] = {}
    celsius: list[int] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _TITLE.match(text):
            device = match[1]
        elif match := _LINE.fullmatch(text):
            metric = _METRICS.get(match[1].lower())
            value = _value(match[2])
            if match[1] == "temperature" and (
                degrees := re.match(r"(-?\d{1,4})\s*°?\s*C", match[2])
            ):
                celsius.append(int(degrees[1]))
            if metric is not None and value is not None:
                bytes_ = metric.endswith("_bytes")
                found.setdefault(metric, value * UNIT_BYTES if bytes_ else value)
        else:
            parsed.reject(at, line)
    if celsius and celsius[0] <= -270:
        parsed.note(f"{device} gave no health log: nvme prints zeros for it")
        return parsed
    _health.emit(parsed, device, found)
    return parsed


def _value(text: str) -> float | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match[1].startswith("0x"):
        return float(int(match[1], 16))
    digits = re.sub(r"[,.]", "", match[1])
    if not digits or len(digits) > 20:
        return None
    return float(digits) / 100 if match[2] else float(digits)
