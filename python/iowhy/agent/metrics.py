"""The agent's totals as Prometheus scrapes them, by its own client library (`pip install 'iowhy[metrics]'`).

Names are OpenTelemetry's where it has them (`system.disk.io`: https://opentelemetry.io/docs/specs/semconv/system/system-metrics/), as
its rules for Prometheus write them, and `iowhy_…` elsewhere. No label is a process or a file.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from iowhy.agent.totals import BOUNDS_NS, S, Totals, cumulative
from iowhy.errors import Problem

if TYPE_CHECKING:
    from prometheus_client import Metric

#: Counters: the name, what it is, its labels, and where the totals have it.
_COUNTERS: tuple[tuple[str, str, tuple[str, ...], Callable[[Totals], Mapping[Any, float]]], ...] = (
    (
        "system_disk_io_bytes",
        "Bytes that the disk read or wrote (/proc/diskstats)",
        ("system_device", "disk_io_direction"),
        lambda totals: totals.disk_bytes,
    ),
    (
        "system_disk_operations",
        "Requests that the disk completed (/proc/diskstats)",
        ("system_device", "disk_io_direction"),
        lambda totals: totals.disk_operations,
    ),
    (
        "system_disk_io_time_seconds",
        "Time with a request in flight (/proc/diskstats)",
        ("system_device",),
        lambda totals: totals.disk_busy_s,
    ),
    (
        "iowhy_page_cache_bytes",
        "Pages that came into the page cache other than by a write (cache_missed), or left it (cache_evicted)",
        ("kind", "service"),
        lambda totals: totals.cache_bytes,
    ),
    (
        "iowhy_pressure_stalled_seconds",
        "Time that some or all tasks stalled for a resource (/proc/pressure)",
        ("resource", "kind"),
        lambda totals: totals.stalled_s,
    ),
    ("iowhy_triggers", "Full recordings started", ("trigger",), lambda totals: totals.triggers),
    (
        "iowhy_triggers_suppressed",
        "Times that a trigger held and started none, and why",
        ("trigger", "reason"),
        lambda totals: totals.suppressed,
    ),
    (
        "iowhy_verdicts",
        "Verdicts of recordings that triggers started, by their first cause",
        ("trigger", "cause"),
        lambda totals: totals.verdicts,
    ),
    ("iowhy_lost_events", "What found no room in the kernel", (), lambda totals: {(): totals.lost}),
    (
        "iowhy_unkept_intervals",
        "Intervals that could not be written down",
        (),
        lambda totals: {(): totals.unkept},
    ),
    (
        "iowhy_left_out_events",
        "What is in no histogram because there are too many",
        (),
        lambda totals: {(): totals.left_out},
    ),
)
LABELS = ("measure", "name", "service", "place")


class Collector:
    """What a scrape asks: the totals as they are then."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals

    def collect(self) -> "Iterable[Metric]":
        """Every metric there is."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, what, labels, values in _COUNTERS:
            counter = CounterMetricFamily(name, what, labels=labels)
            for key, value in list(values(self.totals).items()):
                counter.add_metric([key] if isinstance(key, str) else list(key), value)
            yield counter
        yield self._latencies()
        waiting = GaugeMetricFamily(
            "iowhy_threads_uninterruptible", "Threads in state D at the last interval's end"
        )
        if self.totals.waiting is not None:
            waiting.add_metric([], self.totals.waiting)
        yield waiting
        kept = GaugeMetricFamily("iowhy_recordings_bytes", "What recordings take on the disk")
        kept.add_metric([], self.totals.kept_bytes)
        yield kept

    def _latencies(self) -> "Metric":
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(
            "iowhy_latency_seconds",
            "Times of calls, waits, syncs, requests and pauses",
            labels=LABELS,
        )
        bounds = [*(f"{bound / S:.12g}" for bound in BOUNDS_NS), "+Inf"]
        for key, histogram in list(self.totals.histograms.items()):
            counts = cumulative(histogram.counts)
            buckets = list(zip(bounds, map(float, counts), strict=True))
            family.add_metric(list(key), buckets, sum_value=histogram.sum_ns / S)
        return family


def serve(address: tuple[str, int], totals: Totals) -> None:
    """Answers scrapes from here on, in a thread. Raises Problem where it cannot."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise Problem(
            "metrics: prometheus_client is not installed; `pip install 'iowhy[metrics]'` brings it along"
        ) from None
    registry = CollectorRegistry()
    registry.register(Collector(totals))
    host, port = address
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise Problem(f"metrics: {host}:{port}: {error.strerror}") from None
