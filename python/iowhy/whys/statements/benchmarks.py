"""What fio's jobs measure: how long an operation takes, how large it is, how many a second and at a time."""

import math
from collections.abc import Iterator

from iowhy.units import duration, size
from iowhy.whys.chain import count, link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import TELLING, Statement

#: From so many on, an operation waits for others of the same job.
SEVERAL = 1.5
#: fio prints rates with three digits, below 100 without a decimal.
ROUNDED = 0.02


def state(facts: Facts) -> Iterator[Statement]:
    """One statement for each job, the slowest operations first."""
    jobs: dict[str, dict[str, float]] = {}
    for one in facts.measured.numbers:
        if one.tool == "fio":
            jobs.setdefault(one.subject, {})[one.metric] = one.value
    for name, found in jobs.items():
        sides = [
            (ns, words)
            for side in ("read", "write", "trim")
            if (ns := _latency(found, side)) is not None and (words := _side(found, side, ns))
        ]
        if not sides:
            continue
        sides.sort(key=lambda one: -one[0])
        said = f"fio's job {name}: {'; '.join(words for _, words in sides)}"
        if sync := found.get("sync_lat_mean_ns"):
            said += f"; a sync takes {duration(sync)}"
        longest = sides[0][0]
        grave = TELLING + 0.03 + min(longest, 1e11) / 1e13
        yield Statement(grave, link(said, longest or None, "ns", "measurements"))


def _latency(found: dict[str, float], side: str) -> float | None:
    """Its mean in ns, 0.0 if only the rate is printed; None of a direction that did nothing."""
    if not found.get(f"{side}_iops"):
        return None
    return found.get(f"{side}_lat_mean_ns", found.get(f"{side}_clat_mean_ns", 0.0))


def _block(mean: float) -> float:
    """The power of two that a mean size is, but for the digits that fio leaves out of its rates."""
    near = 2.0 ** round(math.log2(mean)) if mean > 0 else mean
    return near if abs(near - mean) <= ROUNDED * near else mean


def _side(found: dict[str, float], side: str, ns: float) -> str:
    """`a write of 4 KiB takes 24.7 ms (1,293 a second, 32 at a time)`."""
    each, moved = found[f"{side}_iops"], found.get(f"{side}_bytes_per_s")
    large = "" if moved is None else f" of {size(_block(moved / each))}"
    if not ns:
        return f"{count(each)} {side}s{large} a second"
    flying = each * ns / 1e9
    many = f", {flying:,.0f} at a time" if flying >= SEVERAL else ""
    return f"a {side}{large} takes {duration(ns)} ({count(each)} a second{many})"
