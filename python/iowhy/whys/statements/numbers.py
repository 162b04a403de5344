"""The longest latency, else the first number, that a text has: better than that nothing is known."""

from collections.abc import Iterator

from iowhy.units import duration, percent, rate, size
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.facts.measured import Number
from iowhy.whys.stated_fact import Statement

_UNITS = {
    "_ns": ("ns", duration),
    "_share": ("share", percent),
    "_bytes_per_s": ("bytes/s", rate),
    "_bytes": ("bytes", size),
}

#: Tables of what happened one by one, or of one process.
_ROWS = frozenset({"block_requests", "syscalls", "syscall_totals", "process_io", "thread_time"})


def state(facts: Facts) -> Iterator[Statement]:
    """One statement, of the least weight."""
    numbers = [
        one
        for one in facts.measured.numbers
        if one.value > 0 and not one.metric.startswith("since_")
    ]
    timed = [one for one in numbers if one.metric.endswith("_ns")]
    shares = [one for one in numbers if one.metric.endswith("_share")]
    one = max(timed or shares, key=lambda number: number.value, default=None) or next(
        iter(numbers), None
    )
    rows = [name for name in facts.manifest.tables if name.endswith("_samples") or name in _ROWS]
    none = not any(facts.relations.has(name) for name in rows)
    busy = [of.busy_share for of in facts.devices.all if of.busy_share is not None]
    if one is None and busy:
        busiest = max(busy)
        said = f"the busiest device is {percent(busiest)} busy"
        yield Statement(0.02, link(said, busiest, "share", "devices"))
    elif one is None and none and any("since boot" in note for note in facts.manifest.notes):
        yield Statement(
            0.02,
            link(
                "the text has only averages since boot, which show no load",
                None,
                "text",
                "measurements",
            ),
        )
    if one is not None:
        unit, words = _in_words(one)
        name = (
            one.metric.removesuffix("_per_s")
            .removesuffix("_ns")
            .removesuffix("_share")
            .removesuffix("_bytes")
        )
        subject = "" if one.subject in (one.tool, "all") else f" of {one.subject}"
        said = f"{one.tool}: {name.replace('_', ' ')}{subject} is {words}"
        yield Statement(0.05, link(said, one.value, unit, "measurements"))


def _in_words(one: Number) -> tuple[str, str]:
    for suffix, (unit, write) in _UNITS.items():
        if one.metric.endswith(suffix):
            return unit, write(one.value)
    return (
        ("1/s", f"{one.value:,.4g} a second")
        if one.metric.endswith("_per_s")
        else ("count", f"{one.value:,.4g}")
    )
