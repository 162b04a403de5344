"""The histograms that bcc's tools print: `low -> high : count |****|`.

A bucket `4 -> 7` holds 4 to 7 whole units, so it ends where 8 begins.
"""

import re

from iowhy.sources.format import Block, Parsed

HEAD = re.compile(
    r"\s*(?P<unit>nsecs|usecs|msecs|secs|Kbytes|kbytes|bytes|\w+)\s+: count\s+distribution"
)
#: What stands above one of times.
TIMES = r"^\s*[um]?n?secs\s+: count\s+distribution"
_ROW = re.compile(r"\s*(\d+)\s*->\s*(\d+)\s*:\s*(\d+)\s*\|[^|]*\|?\s*")
#: What a histogram is of: "disk = b'vda'", "Process Name = java", "flags = Sync-Write".
_KEY = re.compile(
    r"\s*(disk|Process Name|flags|operation|op|pid|Function)\s*=\s*(?:b?'([^']*)'|(.*\S))\s*"
)
UNITS = {
    "nsecs": 1, "usecs": 1_000, "msecs": 1_000_000, "secs": 1_000_000_000,
    "Kbytes": 1024, "kbytes": 1024, "bytes": 1,
}  # fmt: skip


def read(block: Block, parsed: Parsed, metric: str) -> None:
    """All histograms of a block into `histograms`; other lines (a clock, ^C) as they fall."""
    dev: str | None = None
    comm: str | None = None
    unit: int | None = None
    flags: str | None = None
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            unit = None
            continue
        parsed.lines_understood += 1
        if match := _KEY.fullmatch(line):
            name = match[2] if match[2] is not None else match[3]
            if match[1] == "disk":
                dev = name
            elif match[1] == "Process Name":
                comm = name
            elif match[1] == "pid":
                comm = " ".join(name.split()[1:]) or name  # runqlat -P: "pid = 1234 java"
            elif match[1] == "Function":
                pass  # in the metric's name already
            else:
                flags = name
            unit = None
        elif match := HEAD.match(line):
            unit = UNITS.get(match["unit"])
            parsed.units = match["unit"]
            if unit is None:
                parsed.lines_understood -= 1
                parsed.reject(at, line)
        elif (match := _ROW.fullmatch(line)) and unit is not None:
            low, high = int(match[1]) * unit, (int(match[2]) + 1) * unit
            of = metric if flags is None else f"{metric} {flags}"
            parsed.bucket(of, low, high, int(match[3]), dev, comm)
        elif (
            text == "^C"
            or text.startswith(("Tracing", "Detaching"))
            or re.fullmatch(r"\d\d:\d\d:\d\d", text)
            or re.fullmatch(r"avg = \d+ \w+, total: \d+ \w+, count: \d+", text)
        ):
            pass
        else:
            parsed.lines_understood -= 1
            parsed.reject(at, line)
