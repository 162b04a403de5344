"""A control group's cpu.stat, versions 1 and 2: CPU time, and the periods in which its quota was used up.

Documentation/admin-guide/cgroup-v2.rst (µs), scheduler/sched-bwc.rst (version 1: throttled_time in ns). All are since
the group began; a period counts only while a thread of the group wants a CPU.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats import _cgroup

NAME = "cgroup-cpu-stat"
TOOL = "cat cpu.stat"
HINT = r"^(?:/\S*cpu\.stat:)?(?:usage_usec|nr_periods|nr_throttled) \d+$|^==> \S*/cpu\.stat"
BEGINS = "(?!.*(?:usage_usec|nr_))"

_LINE = re.compile(r"([a-z_.]{3,40}) (\d{1,19})")
US = 1_000


def read(block: Block) -> Parsed:
    """Into measurements since the group began; two copies also into cgroup_samples (periods alone: their time is not shown)."""
    parsed = Parsed(TOOL, units="µs (version 1: ns)")
    for group, found in _cgroup.copies(block, parsed, _LINE).items():
        _emit(parsed, group, found)
    return parsed


def _emit(parsed: Parsed, group: str, found: Sequence[dict[str, int]]) -> None:
    first, last = found[0], found[-1]
    since = "" if len(found) > 1 else " since it began"

    def grown(name: str) -> int | None:
        if name not in last:
            return None
        return last[name] - (first.get(name, 0) if len(found) > 1 else 0)

    periods, throttled = grown("nr_periods"), grown("nr_throttled")
    held = grown("throttled_usec")
    held_ns = None if held is None else held * US
    if held_ns is None:
        held_ns = grown("throttled_time")
    used = grown("usage_usec")
    parsed.measure(group, "cpu_ns", used, unit=US)
    parsed.measure(group, "throttled_ns", held_ns)
    if periods and throttled is not None and 0 <= throttled <= periods:
        parsed.measure(group, "throttled_periods_share", throttled / periods)
        parsed.note(
            f"{group}: the CPU quota was used up in {throttled:,} of {periods:,} periods"
            f" ({100 * (throttled / periods):.1f} %){since}"
        )
    elif periods == 0:
        parsed.note(f"{group} has no CPU quota{since}, or did not use a CPU")
    if len(found) == 1:
        parsed.partial = _cgroup.SINCE_IT_BEGAN
        parsed.missing.append("cat cpu.stat; sleep 10; cat cpu.stat")
    for copy, values in enumerate(found):
        if "nr_periods" in values and "nr_throttled" in values and len(found) > 1:
            counters = {
                "cpu_periods": values["nr_periods"],
                "cpu_throttled_periods": values["nr_throttled"],
            }
            parsed.snapshots.append(Snapshot("cgroup_samples", {"path": group}, copy, counters))
