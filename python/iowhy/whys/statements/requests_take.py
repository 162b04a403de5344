"""How busy devices are and how long their requests take, in iostat's and sar's figures."""

from collections.abc import Iterator

from msgspec import Struct

from iowhy.sentences import worded
from iowhy.units import duration, percent
from iowhy.whys import links
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import WRONG, Statement
from iowhy.whys.statements.processors import LEAST

#: As in the causes device-saturated and device-slow.
BUSY = 0.9
SLOW_NS = 20e6
#: Below it no device is what is waited for.
RESTS = 0.3
#: From it on, a device may be what is waited for.
HALF = 0.5
#: A device with fewer requests a second is only woken now and then.
FEWEST_PER_S = 1.0
#: How many devices are spoken of.
SHOWN = 2

_WAITS = """
WITH named AS (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev), kinds AS (
    SELECT dev, dur_ns, 'reads' AS kind, reads AS n, read_ns AS ns FROM disk_steps
    UNION ALL SELECT dev, dur_ns, 'writes', writes, write_ns FROM disk_steps
    UNION ALL SELECT dev, dur_ns, 'flushes', flushes, flush_ns FROM disk_steps
)
SELECT n.name, k.kind, sum(k.n) * 1e9 / sum(k.dur_ns) AS per_s, sum(k.ns) / sum(k.n) AS mean_ns,
  min(k.ns / k.n) AS least_ns, max(k.ns / k.n) AS most_ns
FROM kinds k JOIN named n ON n.dev = k.dev WHERE k.n > 0 AND k.ns IS NOT NULL GROUP BY n.name, k.kind ORDER BY 1, 4 DESC
"""


class Wait(Struct, frozen=True):
    """Requests of one kind of one device: how many a second, and how long the mean of an interval is."""

    name: str
    kind: str
    per_s: float
    mean_ns: float
    least_ns: float
    most_ns: float

    def words(self) -> str:
        """`writes take 49 ms (16 to 86 ms)`."""
        wide = self.most_ns > 1.5 * self.least_ns
        between = f" ({duration(self.least_ns)} to {duration(self.most_ns)})" if wide else ""
        return f"{self.kind} take {duration(self.mean_ns)}{between}"


_KINDS = ("reads", "writes", "flushes")
_FIELDS = ("per_s", "mean_ns", "least_ns", "most_ns")


def waits(facts: Facts) -> list[Wait]:
    """Of all devices whose requests are timed: as printed by iostat, else by their counters; the slowest first."""
    found = []
    for kind in _KINDS:
        columns = [facts.measured.metric(f"{kind}_{field}") for field in _FIELDS]
        found += [
            Wait(name, kind, *(one[name] for one in columns))
            for name in columns[0]
            if all(name in one for one in columns)
        ]
    if found:
        return sorted(found, key=lambda one: -one.mean_ns)
    known = facts.relations.has("disk_samples") and facts.relations.has("devices")
    return facts.relations.read(Wait, _WAITS) if known else []


def state(facts: Facts) -> Iterator[Statement]:
    """Of the most loaded devices: their use, and the times of their requests."""
    timed, loaded = waits(facts), links.most_loaded(facts)
    for device in facts.devices.all[:SHOWN]:
        own = [one for one in timed if one.name == device.name and one.mean_ns > 0]
        busy = device.busy_share
        slow = [one for one in own if one.mean_ns >= SLOW_NS and one.per_s >= FEWEST_PER_S]
        if loaded is not None and loaded.name == device.name and loaded.stuck:
            said = "{device} is stuck: {depth:count request} in flight, and none completes"
            found = worded(
                "disk-is-stuck", said, device=device.name, depth=round(loaded.depth or 0)
            )
            yield Statement(0.95, link(found, loaded.depth, "requests", "devices"))
        elif slow:
            use = "" if busy is None else f" at {percent(busy)} use"
            said = f"{', '.join(one.words() for one in slow)}{use}"
            yield Statement(
                0.8 + 0.05 * ((busy or 0) >= BUSY),
                link(
                    worded(
                        "requests-take",
                        "{device}: {said}",
                        device=device.name,
                        said=said,
                        mean_ns=slow[0].mean_ns,
                        busy=busy,
                    ),
                    slow[0].mean_ns,
                    "ns",
                    "devices",
                ),
            )
        elif busy is not None and busy >= RESTS:
            said = f"{device.name} is {percent(busy)} busy"
            if own:
                said += f": {', '.join(one.words() for one in own)}"
            queue = facts.measured.metric("queue_length").get(device.name)
            if queue is not None and queue >= busy:  # old kernels print less than a busy device has
                said += f", queue depth {queue:.3g}"
            if (facts.machine.iowait or 0.0) >= LEAST:
                said += (
                    f"; the CPUs wait for I/O {percent(facts.machine.iowait or 0.0)} of the time"
                )
            yield Statement(
                _busy_grave(facts, busy),
                link(
                    worded("disk-is-busy", "{said}", said=said, device=device.name, busy=busy),
                    busy,
                    "share",
                    "devices",
                ),
            )
    yield from _rest(facts)
    yield from _printed(facts)
    yield from _waited(facts)


def _busy_grave(facts: Facts, busy: float) -> float:
    """Of a busy device whose requests are quick: it is named before the CPUs' waiting, which is for it."""
    if busy >= BUSY:
        return WRONG + 0.02 if (facts.machine.iowait or 0.0) >= LEAST else 0.55
    return 0.5 if busy >= HALF else 0.3


def _rest(facts: Facts) -> Iterator[Statement]:
    known = [one for one in facts.devices.all if one.busy_share is not None]
    if not known or len(known) < len(facts.devices.all):
        return
    most = max(known, key=lambda one: one.busy_share or 0)
    busy = most.busy_share or 0
    if busy < RESTS and (most.wait_ns or 0) < SLOW_NS:
        said = (
            worded(
                "disk-rests",
                "{device} is {busy:share} busy: the disk is not it",
                device=most.name,
                busy=busy,
            )
            if len(known) == 1
            else worded("disks-rest", "no disk is more than {busy:share} busy", busy=busy)
        )
        yield Statement(0.1, link(said, busy, "share", "devices"))


def _waited(facts: Facts) -> Iterator[Statement]:
    """Of devices of which only the waits are printed (dstat --disk-wait), not how many requests have them."""
    for kind in ("read", "write"):
        times = facts.measured.metric(f"{kind}_wait_mean_ns")
        name = max(times, key=times.__getitem__, default=None)
        if name is not None:
            said = worded(
                "kind-takes",
                "{device}: a " + kind + " takes {mean_ns:ns}",
                device=name,
                mean_ns=times[name],
            )
            grave = 0.8 if times[name] >= SLOW_NS else 0.25 + times[name] / 1e10
            yield Statement(grave, link(said, times[name], "ns", "measurements"))


def _printed(facts: Facts) -> Iterator[Statement]:
    """Of devices of which only sums of reads and writes are printed (sar -d)."""
    busy, waited = facts.measured.metric("busy_share"), facts.measured.metric("wait_mean_ns")
    rates = facts.measured.metric("operations_per_s")
    for name in sorted(waited, key=lambda one: -busy.get(one, 0.0))[:SHOWN]:
        used, wait, rate = busy.get(name), waited[name], rates.get(name)
        words = [] if rate is None else [f"{rate:.3g} requests a second"]
        words += [f"{duration(wait)} each"] + ([] if used is None else [f"{percent(used)} busy"])
        grave = (
            0.8
            if wait >= SLOW_NS and (rate or 0) >= FEWEST_PER_S
            else 0.7
            if (used or 0) >= BUSY
            else 0.3
        )
        yield Statement(
            grave,
            link(
                worded(
                    "request-takes",
                    "{device}: {said}",
                    device=name,
                    said=", ".join(words),
                    mean_ns=wait,
                    busy=used,
                ),
                wait,
                "ns",
                "measurements",
            ),
        )
