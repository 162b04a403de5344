"""Maps that `bpftrace` prints: histograms (hist, lhist), counts, statistics.

Layout: bpftrace(8). `[4K, 8K)` are 4096 to 8191; what a map's numbers mean only its name shows: a name with
usecs, msecs, nsecs or latency is taken for a time, one with size or bytes for bytes.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed

NAME = "bpftrace"
HINT = r"^@\w*(\[.*\])?:|^Attaching \d+ probes?\.\.\.|^\[-?\d+[KMGTPE]?(, (-?\d+[KMGTPE]?|\.\.\.)\)|\]) +\d+ \|"

_MAP = re.compile(r"@(\w*)(?:\[(.*)\])?:\s*(.*?)\s*")
_END = r"(-?\d+)([KMGTPE]?)"
_BUCKET = re.compile(
    rf"(?:\[{_END}\]|\[{_END}, (?:{_END}|\.\.\.)\)|\(\.\.\., {_END}[\])])\s+(\d+) \|[@ ]*\|?\s*"
)
_STATS = re.compile(r"count (\d+), average (-?\d+), total (-?\d+)")
_DEVICE = re.compile(r"(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|loop\d+|dm-\d+|md\d+|mmcblk\d+)$")
_POWERS = " KMGTPE"


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A map's name above a bucket or with a number, or bpftrace's first line."""
    line = lines[at]
    if line.startswith("Attaching "):
        return Claim(0.9)
    if _BUCKET.match(line):
        return Claim(0.6, again=True)
    match = _MAP.fullmatch(line[:500])
    if match is None:
        return None
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if _BUCKET.match(below):
        return Claim(0.95, again=True)
    plain = re.fullmatch(r"-?\d+", match[3]) or _STATS.fullmatch(match[3])
    return Claim(0.8, again=True) if plain else None


def read(block: Block) -> Parsed:
    """Into histograms, and measurements for the other maps."""
    parsed = Parsed(NAME, units="as the maps' names say")
    title = ""
    name, key = "", ""
    for n, line in parsed.lines(block):
        text = line.strip()
        if match := _BUCKET.fullmatch(text):
            if not _bucket(parsed, match, name, key, title):
                parsed.reject(n, line)
        elif match := _MAP.fullmatch(text):
            name, key = match[1], match[2] or ""
            if match[3]:
                _numbers(parsed, f"{name}[{key}]" if key else name, match[3], n, line)
        elif text.startswith(("Attaching ", "Tracing ")) or re.fullmatch(
            r"\^C|\d\d:\d\d:\d\d", text
        ):
            title = text if text.startswith("Tracing ") else title
        else:
            parsed.reject(n, line)
    return parsed


def _value(digits: str, power: str) -> int:
    return int(digits[:18]) << 10 * _POWERS.index(power or " ")


def _bucket(parsed: Parsed, match: re.Match[str], name: str, key: str, title: str) -> bool:
    metric, unit = _metric(name, title)
    high: int | None
    if match[1] is not None:
        low = _value(match[1], match[2])
        high = low + 1
    elif match[3] is not None:
        low = _value(match[3], match[4])
        high = _value(match[5], match[6]) if match[5] is not None else None
    else:
        return int(match[9]) == 0  # below the lowest bucket: there is no lowest value
    words = [word.strip() for word in key.split(",")] if key else []
    device = next((word for word in words if _DEVICE.match(word)), None)
    names = [word for word in words if word != device and not word.lstrip("-").isdigit()]
    end = None if high is None else high * unit
    parsed.bucket(metric, low * unit, end, int(match[9]), device, ", ".join(names) or None)
    return True


def _metric(name: str, title: str) -> tuple[str, int]:
    """The schema's metric and the bytes or nanoseconds of one unit."""
    lower = name.lower()
    request = (
        "request_" if re.search(r"block|disk|bio|req|\bio\b", lower + " " + title.lower()) else ""
    )
    for words, unit in (
        (("nsec", "_ns"), 1),
        (("usec", "_us", "micro"), 1_000),
        (("msec", "_ms", "milli"), 1_000_000),
        (("latency",), 1),
    ):
        if any(word in lower for word in words) or lower in {word.lstrip("_") for word in words}:
            return f"{request}latency_ns", unit
    if re.search(r"size|bytes", lower):
        return f"{request}bytes", 1
    return name or "values", 1


def _numbers(parsed: Parsed, subject: str, text: str, n: int, line: str) -> None:
    found: dict[str, str] = {}
    if match := _STATS.fullmatch(text):
        found = {"count": match[1], "average": match[2], "total": match[3]}
    elif re.fullmatch(r"-?\d{1,19}", text):
        found = {"value": text}
    else:
        parsed.reject(n, line)
    for metric, value in found.items():
        parsed.measure(subject or "@", metric, float(value))
