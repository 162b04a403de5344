"""What the agent's totals are called, once for Prometheus and OTLP: OpenTelemetry's names and units, and its rules for what Prometheus calls them.

`system.*` is as the semantic conventions have it (https://opentelemetry.io/docs/specs/semconv/system/system-metrics/), all else is `iowhy.*`.
No attribute is a process or a file.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from iowhy.agent.totals import Totals
from iowhy.messages import printable

#: How Prometheus writes a unit (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/).
_UNITS = {"By": "bytes", "s": "seconds"}


class Instrument(Struct, frozen=True):
    """A counter (`adds_up`) or a gauge. `values`: of each combination of attributes; a key that is no tuple is the only one."""

    name: str
    unit: str
    what: str
    attributes: tuple[str, ...]
    values: Callable[[Totals], Mapping[Any, float]]
    adds_up: bool = True

    def points(self, totals: Totals) -> list[tuple[tuple[str, ...], float]]:
        """What it comes to now; names of control groups come from anybody, and scrapes are read on terminals."""
        found = list(self.values(totals).items())
        keys = [((key,) if isinstance(key, str) else key, value) for key, value in found]
        return [(tuple(map(printable, key)), value) for key, value in keys]


def in_prometheus(name: str, unit: str = "") -> str:
    """Its name there, without `_total`; an attribute's, without a unit."""
    words = [name.replace(".", "_"), *([_UNITS[unit]] if unit in _UNITS else [])]
    return "_".join(words)


#: Whose it is (totals.Group).
_GROUP = ("service", "namespace", "pod", "container")
_DISK = ("system.device", "disk.io.direction")
INSTRUMENTS = (
    Instrument(
        "system.disk.io",
        "By",
        "Bytes that the disk read or wrote (/proc/diskstats)",
        _DISK,
        lambda totals: totals.disk_bytes,
    ),
    Instrument(
        "system.disk.operations",
        "{operation}",
        "Requests that the disk completed (/proc/diskstats)",
        _DISK,
        lambda totals: totals.disk_operations,
    ),
    Instrument(
        "system.disk.io_time",
        "s",
        "Time with a request in flight (/proc/diskstats)",
        ("system.device",),
        lambda totals: totals.disk_busy_s,
    ),
    Instrument(
        "iowhy.page_cache",
        "By",
        "Pages that came into the page cache other than by a write (cache_missed), or left it (cache_evicted)",
        ("kind", *_GROUP),
        lambda totals: totals.cache_bytes,
    ),
    Instrument(
        "iowhy.pressure_stalled",
        "s",
        "Time that some or all tasks stalled for a resource (/proc/pressure)",
        ("resource", "kind"),
        lambda totals: totals.stalled_s,
    ),
    Instrument(
        "iowhy.triggers",
        "{trigger}",
        "Full recordings started",
        ("trigger",),
        lambda totals: totals.triggers,
    ),
    Instrument(
        "iowhy.triggers_suppressed",
        "{trigger}",
        "Times that a trigger held and started none, and why",
        ("trigger", "reason"),
        lambda totals: totals.suppressed,
    ),
    Instrument(
        "iowhy.verdicts",
        "{verdict}",
        "Verdicts of recordings that triggers started, by their first cause",
        ("trigger", "cause"),
        lambda totals: totals.verdicts,
    ),
    Instrument(
        "iowhy.statement_time",
        "s",
        "Time of sessions of databases in a statement, by what their server says that they wait for (none: nothing), sampled",
        ("statement_id", "statement", "wait"),
        lambda totals: dict(totals.statement_s),
    ),
    Instrument(
        "iowhy.lost_events",
        "{event}",
        "Events for which the kernel's tables had no room",
        (),
        lambda totals: {(): totals.lost},
    ),
    Instrument(
        "iowhy.unkept_intervals",
        "{interval}",
        "Intervals that could not be saved",
        (),
        lambda totals: {(): totals.unkept},
    ),
    Instrument(
        "iowhy.left_out_events",
        "{event}",
        "Events in no histogram, as there are too many series",
        (),
        lambda totals: {(): totals.left_out},
    ),
    Instrument(
        "iowhy.sent",
        "{message}",
        "What was sent, and with what result: recordings to an object store, metrics by OTLP, verdicts to a webhook",
        ("what", "result"),
        lambda totals: totals.sent,
    ),
    Instrument(
        "iowhy.threads_uninterruptible",
        "{thread}",
        "Threads in state D at the last interval's end",
        (),
        lambda totals: {} if totals.waiting is None else {(): totals.waiting},
        adds_up=False,
    ),
    Instrument(
        "iowhy.recordings",
        "By",
        "What recordings take on the disk",
        (),
        lambda totals: {(): totals.kept_bytes},
        adds_up=False,
    ),
    Instrument(
        "iowhy.recordings_to_upload",
        "{recording}",
        "Recordings that are still to be stored in the object store",
        (),
        lambda totals: {(): totals.to_upload},
        adds_up=False,
    ),
)
#: The one histogram.
LATENCY, LATENCY_UNIT = "iowhy.latency", "s"
LATENCY_WHAT = "Times of calls, waits, syncs, requests and pauses"
LATENCY_ATTRIBUTES = ("measure", "name", *_GROUP, "place")
