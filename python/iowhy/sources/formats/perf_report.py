"""`perf report --stdio` and a screen of `perf top`: shares of the samples by command, object and symbol.

Manuals: perf-report(1), perf-top(1). Samples are of CPU time (or of another event): waiting is not in them. With --children the first column
counts callers too; Self is the second.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "perf-report"
TOOL = "perf report"
HINT = (
    r"^# Overhead\s+Command|^# Children\s+Self\s+Command|^# Samples: \S+\s+of event|^Samples: \S+\s+of event '|"
    r"^\s*PerfTop:\s+\d+ irqs/sec"
)
BEGINS = "# Samples"

_EVENT = re.compile(r"(?:# )?Samples: (\d{1,9}[KMG]?)\s+of events? '([^']{1,80})'")
_ROW = re.compile(
    r"\s*([\d.]{1,7})%\s+(?:([\d.]{1,7})%\s+)?(?:(\S.{0,20}?)\s+)?(\S{1,200}|\[[^\]]{1,80}\])\s+\[([.kgHuiv])\]\s+(\S.*?)\s*"
)
#: Lines of call chains, and blanks between them.
_CHAIN = re.compile(r"\s+[|-].*|\s{8,}\S.*|\s*--.*")
_TITLE = re.compile(r"#|\s*PerfTop:|\s*-{20,}|\s*(?:Children\s+Self|Overhead)\s|\s*exact percent:")
#: Rows that are kept: beyond them shares are noise.
KEPT = 50


def read(block: Block) -> Parsed:
    """Into measurements: subject is "SYMBOL (COMMAND)", metric its share of the samples."""
    parsed = Parsed(TOOL, units="shares of samples")
    event = ""
    kept = 0
    kernel = total = 0.0
    for at, line in parsed.lines(block):
        text = line.rstrip()
        if match := _EVENT.match(text):
            event = match[2]
        elif match := _ROW.fullmatch(text):
            share = number(match[2] or match[1])
            if share is None or share > 100:
                parsed.reject(at, line)
                continue
            total += share
            kernel += share if match[5] == "k" else 0.0
            if kept < KEPT:
                kept += 1
                parsed.measure(
                    f"{match[6][:80]} ({(match[3] or match[4]).strip()})",
                    "sample_share",
                    share / 100,
                )
        elif not _TITLE.match(text) and not _CHAIN.fullmatch(text):
            parsed.reject(at, line)
    if kept:
        parsed.partial = "only time on a CPU is sampled"
        what = f"event {event}: " if event else ""
        parsed.note(
            f"perf report counts samples ({what}waiting is not in them): {min(total, 100):.0f} % are listed, of "
            f"which {100 * (kernel / total):.0f} % in the kernel"
            if total
            else "perf report counts samples: waiting is not in them"
        )
        parsed.missing.append("sudo iowhy run -- CMD")
    return parsed
