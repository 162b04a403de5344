"""Copies of /proc/vmstat: counters since boot (mm/vmstat.c); pgpgin and pgpgout are KiB."""

import re

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats._proc import copies
from iowhy.sources.numbers import KIB

NAME = "proc-vmstat"
TOOL = "cat /proc/vmstat"
HINT = r"^nr_free_pages \d+"

_ROW = re.compile(r"([a-z][a-z0-9_]*) (-?\d{1,19})")
COUNTERS = {
    "pgpgin": ("page_in_bytes", KIB),
    "pgpgout": ("page_out_bytes", KIB),
    "pswpin": ("swap_in_pages", 1),
    "pswpout": ("swap_out_pages", 1),
    "zswpin": ("zswap_in_pages", 1),
    "zswpout": ("zswap_out_pages", 1),
    "pgmajfault": ("major_faults", 1),
    "pgscan_direct": ("direct_scan_pages", 1),
    "pgscan_kswapd": ("kswapd_scan_pages", 1),
    "workingset_refault_file": ("refault_file_pages", 1),
    "workingset_refault_anon": ("refault_anon_pages", 1),
}
FIRST = (rf".*\n\s*{_ROW.pattern}\s*$", 2)


def read(block: Block) -> Parsed:
    """Into vm_samples; nr_free_pages begins each copy."""
    parsed = Parsed(TOOL, units="pages; pgpgin and pgpgout in KiB")
    found = copies(block, parsed, _ROW, "nr_free_pages", COUNTERS)
    for number, copy in enumerate(found):
        if copy:
            counters = {
                COUNTERS[name][0]: value * COUNTERS[name][1] for name, value in copy.items()
            }
            parsed.snapshots.append(Snapshot("vm_samples", {}, number, counters))
    if len(found) < 2:
        parsed.missing.append("cat /proc/vmstat; sleep 10; cat /proc/vmstat")
    return parsed
