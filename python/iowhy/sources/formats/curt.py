"""AIX `curt`: CPU time by call from a system trace, and with -e the elapsed time of each call.

Layout: the curt command in IBM's AIX documentation (System Calls Summary, System Summary). Times are ms.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "curt"
HINT = r"^\s*System Calls Summary|^\s*Count\s+Total Time\s+% sys\s+Avg Time|^Run on .*|^\s*System Summary\s*$"

MS = 1_000_000
_CALL = re.compile(
    r"(?P<numbers>[\d.,%\s]+?)\s+(?P<name>[A-Za-z_]\w*)(?:\((?P<address>[0-9a-fA-F]+)\))?"
)
# "4998.65  45.94  75.21  APPLICATION"; idle and the total have fewer columns.
_SUMMARY = re.compile(
    r"(?P<total>\d+(?:\.\d+)?)(?:\s+(?P<share>\d+(?:\.\d+)?)(?:\s+(?P<busy>\d+(?:\.\d+)?))?)?\s+(?P<name>[A-Z].*\S)"
)
_HEADER_LINE = re.compile(
    r"(?:processing|total time|\(msec\)|Avg\. |Total Physical|Physical CPU|Run on|Command line|"
    r"Trace file|curt |Total number|CPU Affinity).*"
)
_COLUMNS = ("cpu_mean_ns", "cpu_min_ns", "cpu_max_ns")
_ELAPSED = ("elapsed_total_ns", "elapsed_mean_ns", "elapsed_min_ns", "elapsed_max_ns")
NEAR = (r"SVC \(Address\)|processing (?:total time|category)", 12)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the call (or a category of CPU time)."""
    parsed = Parsed(NAME, units="ms", host={"os": "AIX"})
    section = ""
    elapsed = False
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-", "=", " "}:
            continue
        if text.endswith(("Summary", "Summary (SCDISK)")):
            section = text
            elapsed = False
        elif section == "System Calls Summary" and text.startswith("Count"):
            elapsed = "ETime" in text
        elif section == "System Calls Summary" and text.startswith("(msec)"):
            pass
        elif section == "System Calls Summary" and (match := _CALL.fullmatch(text)):
            if not _call(parsed, match, elapsed):
                parsed.reject(at, line)
        elif section == "System Summary" and (match := _SUMMARY.fullmatch(text)):
            subject = match["name"].lower()
            parsed.measure(subject, "cpu_total_ns", float(match["total"]) * MS)
            if match["share"]:
                parsed.measure(subject, "cpu_share", float(match["share"]) / 100)
        elif not _HEADER_LINE.fullmatch(text):
            parsed.reject(at, line)
    rows = parsed.tables.get("measurements", [])
    assert isinstance(rows, list)
    if rows and not any(row["metric"] == "elapsed_mean_ns" for row in rows):
        parsed.missing.append("curt -e -i {trace}")
    return parsed


def _call(parsed: Parsed, match: re.Match[str], elapsed: bool) -> bool:
    cells = [number(cell) for cell in match["numbers"].split()]
    expected = 10 if elapsed else 6
    if len(cells) != expected or any(cell is None for cell in cells):
        return False
    values = [cell for cell in cells if cell is not None]
    name = match["name"]
    parsed.measure(name, "calls", values[0])
    parsed.measure(name, "cpu_total_ns", values[1] * MS)
    for metric, value in zip(_COLUMNS, values[3:6], strict=True):
        parsed.measure(name, metric, value * MS)
    if elapsed:
        for metric, value in zip(_ELAPSED, values[6:], strict=True):
            parsed.measure(name, metric, value * MS)
    return True
