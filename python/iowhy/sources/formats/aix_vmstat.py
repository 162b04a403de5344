"""AIX `vmstat`: memory in pages of 4 KiB; the first line is the average since boot.

Manual: vmstat command, AIX Commands Reference. -I adds p, fi and fo (file pages in and out); a shared
partition adds pc and ec.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _vmstat
from iowhy.sources.numbers import NS_PER_S, row

NAME = "aix-vmstat"
TOOL = "vmstat"
HINT = r"^System [Cc]onfiguration: *lcpu=|^\s*kthr\s+memory|^\s*r\s+b\s+(?:p\s+)?avm\s+fre\s"

PAGE = 4096
#: Without these columns a header is not one.
NEEDED = {"avm", "fre", "cs", "us", "sy", "id", "wa"}
_CONFIGURATION = re.compile(r"System [Cc]onfiguration:.*?lcpu=(\d+)(?:.*?mem=(\d+)MB)?")
BEGINS = "System"
NEAR = (r"^\s*r\s+b\s(?=.*\bavm\b).*\bwa\b", 5)


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples and memory_samples."""
    parsed = Parsed(TOOL, units="pages of 4 KiB", host={"os": "AIX"})
    columns: list[str] = []
    rows: list[dict[str, float]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if match := _CONFIGURATION.match(line.strip()):
            configuration(parsed, match)
        elif words[0] == "kthr" or set(line.strip()) <= {"-", " "}:
            pass
        elif words[:2] == ["r", "b"] and set(words) >= NEEDED:
            columns = _vmstat.distinct(words)
        elif (found := row(columns, words)) is not None:
            rows.append(found)
        else:
            parsed.reject(at, line)
    for one, start, interval in parsed.load(rows, "line of vmstat", block, "vmstat 1 10"):
        seconds = interval / NS_PER_S
        counters = {"context_switches": one["cs"] * seconds}
        if "fi" in one and "fo" in one:
            counters["page_in_bytes"] = one["fi"] * PAGE * seconds
            counters["page_out_bytes"] = one["fo"] * PAGE * seconds
        if "pi" in one and "po" in one:
            counters["swap_in_pages"] = one["pi"] * seconds
            counters["swap_out_pages"] = one["po"] * seconds
        _vmstat.emit(parsed, one, start, interval, counters, one["fre"] * PAGE)
    return parsed


def configuration(parsed: Parsed, match: re.Match[str]) -> None:
    """The line "System configuration: lcpu=… mem=…MB"."""
    parsed.host["cpus"] = int(match[1])
    if match[2]:
        parsed.host["memory_bytes"] = int(match[2]) * 1024**2
