"""`smartctl -a`, `-A`, `-H`: a disk's own counts of trouble, ATA's attributes and NVMe's health log.

Manual: smartctl(8). Raw values are since the disk was made, and their meaning is the maker's; used are those that all makers
count alike (5, 187, 188, 197, 198, 199). Of 188 some makers print three counts in one number: what is larger than 16 bits is
not taken.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _health

NAME = "smartctl"
HINT = r"^smartctl \d|^=== START OF (?:READ )?SMART DATA SECTION|^ID# ATTRIBUTE_NAME|^SMART/Health Information|^SMART Error Log Version:|^ATA Error Count: \d"
BEGINS = "smartctl "

_ATTRIBUTE = re.compile(
    r"\s*(\d{1,3}) ([\w.-]{2,40})\s+(?:0x[0-9a-f]{4}|[A-Z-]{6})\s+(\d{3})\s+(\d{3})\s+(\d{3}|---)\s+(?:(?:Pre-fail|Old_age)\s+(?:Always|Offline)\s+)?(-|FAILING_NOW|In_the_past|NOW|Past)\s+(\d{1,18})\b.*"
)
_RAW = {
    5: "reallocated_sectors",
    187: "reported_uncorrectable",
    188: "command_timeouts",
    197: "pending_sectors",
    198: "uncorrectable_sectors",
    199: "crc_errors",
}
_HEALTH = re.compile(
    r"SMART (?:overall-health self-assessment test result|Health Status): (PASSED|OK|FAILED!?|\S+.*)"
)
_NVME = re.compile(
    r"(Critical Warning|Available Spare|Available Spare Threshold|Percentage Used|Media and Data Integrity Errors):\s+"
    r"(0x[0-9a-fA-F]{2}|[\d,. ]{1,24})(%?)(?:\s.*)?"
)
_OF_NVME = {
    "Critical Warning": "critical_warning",
    "Available Spare": "spare_share",
    "Available Spare Threshold": "spare_least_share",
    "Percentage Used": "used_share",
    "Media and Data Integrity Errors": "media_errors",
}
#: Of the log of errors: how many there were since the disk was made, and of the five that it keeps what is of the medium.
_ERRORS = re.compile(r"ATA Error Count: (\d{1,9})\b.*")
_UNREADABLE = re.compile(r".*\bError: (?:UNC|IDNF|AMNF)\b.*")
#: A SAS disk: sectors that it has replaced, and reads and writes that all its retries could not correct (the last column).
_GROWN = re.compile(r"Elements in grown defect list: (\d{1,9})")
_SAS = re.compile(r"(?:read|write|verify):(?: +[\d.]+){6} +(\d{1,12})")
_TITLE = re.compile(r"smartctl (\S{1,20}) ")


def read(block: Block) -> Parsed:
    """Into measurements: subject is the device of the command, or its serial number's place, "disk"."""
    parsed = Parsed(NAME, units="counts since the disk was made")
    device = _device(block.command or ())
    found: dict[str, float] = {}
    sectors = False
    for at, line in parsed.lines(block):
        text = line.strip()
        if (match := _TITLE.match(text)) and parsed.version is None:
            parsed.version = match[1]
        elif match := _ATTRIBUTE.fullmatch(line):
            sectors = True
            metric = _RAW.get(int(match[1]))
            value = int(match[7])
            if metric is not None and (metric != "command_timeouts" or value < 2**16):
                found.setdefault(metric, float(value))
            if match[6] in {"FAILING_NOW", "NOW"}:
                parsed.note(f"{device}: {match[2]} is below its threshold now")
        elif match := _ERRORS.fullmatch(text):
            found.setdefault("logged_errors", float(match[1]))
        elif _UNREADABLE.fullmatch(text):
            found["unreadable_logged"] = found.get("unreadable_logged", 0.0) + 1
        elif match := _GROWN.fullmatch(text):
            found.setdefault("reallocated_sectors", float(match[1]))
        elif match := _SAS.fullmatch(text):
            found["media_errors"] = found.get("media_errors", 0.0) + float(match[1])
        elif match := _HEALTH.fullmatch(text):
            found.setdefault(
                "self_assessment_failed", float(not match[1].startswith(("PASSED", "OK")))
            )
        elif match := _NVME.fullmatch(text):
            value_of = _number(match[2], match[3])
            if value_of is not None:
                found.setdefault(_OF_NVME[match[1]], value_of)
        elif not _known(text):
            parsed.reject(at, line)
    # An attribute counts the same for all of the disk's life.
    if "unreadable_logged" in found and "reported_uncorrectable" not in found:
        found["reported_uncorrectable"] = found["unreadable_logged"]
    _health.emit(parsed, device, found)
    if not found and parsed.lines_understood and not sectors:
        parsed.note("smartctl's output has no attributes in it: `smartctl -a` prints them")
    return parsed


def _device(command: Sequence[str]) -> str:
    named = [word for word in command[1:] if word.startswith("/dev/")]
    return named[-1].removeprefix("/dev/") if named else "disk"


def _number(text: str, percent: str) -> float | None:
    if text.startswith("0x"):
        return float(int(text, 16))
    digits = re.sub(r"[,. ]", "", text)  # separators of thousands follow the locale
    if not digits.isdigit() or len(digits) > 18:
        return None
    return float(digits) / 100 if percent else float(digits)


def _known(text: str) -> bool:
    """The rest of its layout: "Name: value", sections, tables, and the prose of capabilities."""
    return (
        re.match(
            r"[A-Z][\w./() -]{1,60}:|===|ID#|Copyright|General SMART|Vendor Specific|SMART[ /]|See vendor|\d+ |#|Num |SPAN|"
            r"\(|[a-z]|Supported |Id |St |No |Selective|If |After|CR|FR|Error |When|Commands|Auto |Conveyance|Offline|"
            r"Self-test|Suspend|Short|Extended|Powered_Up|DD|SS|ER|--|Read |Please|Warning",
            text,
        )
        is not None
    )
