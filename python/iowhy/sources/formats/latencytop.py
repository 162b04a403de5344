"""LatencyTOP's lists (interactive or -d), and copies of /proc/latency_stats.

Its columns are the longest wait in ms and the share of all waiting. /proc/latency_stats has
count, sum and maximum in µs and the stack, innermost first (kernel/latencytop.c).
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "latencytop"
HINT = r"^\s*(?:Globals: )?Cause\s+Maximum\s+Percentage|^Latency Top version|^=+ \w{3} \w{3} +\d"

MS = 1_000_000
US = 1_000
_ROW = re.compile(
    r"\s*(?P<cause>\S+(?: \S+)*) *\s(?P<max>[\d.,]+)\s*msec\s+(?P<share>[\d.,]+)\s*%\s*"
)
_PROCESS = re.compile(
    r"\s*Process (?P<name>.+?) \((?P<pid>\d+)\)\s+Total:\s*(?P<total>[\d.,]+)\s*msec.*"
)
_STATS = re.compile(r"(\d+) (\d+) (\d+) (\S.*)")
SURE = 0.95
FIRST = (r"(?!=)|.*\nGlobals:", 2)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the reason; share, max_ns and (if printed) total_ns and count."""
    parsed = Parsed(NAME, units="ms and percent of all waiting")
    process: str | None = None
    total: float | None = None
    stacks: list[tuple[str, int, int, int]] = []
    raw = False
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-", "="}:
            continue
        if text.startswith("Latency Top version"):
            raw = True
            parsed.units = "µs"
        elif raw and (match := _STATS.fullmatch(text)):
            stacks.append((match[4], int(match[1]), int(match[2]), int(match[3])))
        elif re.match(r"(?:Globals: )?Cause\s+Maximum", text) or text.startswith(
            ("Process details:", "LatencyTOP version", "Targets:", "======")
        ):
            if text.startswith("Globals"):
                process = total = None
        elif match := _PROCESS.match(line):
            process = f"{match['name']} ({match['pid']})"
            total = _ms(match["total"])
            block.names.thread(int(match["pid"]), int(match["pid"]), match["name"])
            # Not "total_ns": the reasons below add up to it.
            parsed.measure(process, "process_total_ns", total)
        elif match := _ROW.fullmatch(line):
            cause = match["cause"].strip("[]")
            subject = cause if process is None else f"{process}: {cause}"
            share = number(match["share"])
            share = None if share is None else share / 100
            parsed.measure(subject, "share", share)
            parsed.measure(subject, "max_ns", _ms(match["max"]))
            if total is not None and share is not None:
                parsed.measure(subject, "total_ns", total * share)
        else:
            parsed.reject(at, line)
    waited = sum(stack[2] for stack in stacks)
    for frames, count, spent, longest in stacks:
        parsed.measure(frames, "count", count)
        parsed.measure(frames, "total_ns", spent * US)
        parsed.measure(frames, "max_ns", longest * US)
        if waited:
            parsed.measure(frames, "share", spent / waited)
    return parsed


def _ms(text: str) -> float | None:
    """LatencyTOP groups no thousands, so a comma is a decimal comma."""
    value = number(text)
    return None if value is None else value * MS
