"""The agent's totals, pushed by OTLP over HTTP with OpenTelemetry's own exporter (`pip install 'iowhy[otlp]'`).

They are handed to the exporter as its SDK's data, since the counts are made in the kernel and no instrument of the SDK takes a histogram whole. All
of it adds up from the agent's start (cumulative), so a push that did not arrive costs resolution, never a count. Headers, certificates and
more attributes of the resource come from the environment (OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES, …).
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from iowhy.agent import host, instruments
from iowhy.agent.deadline import Connections
from iowhy.agent.instruments import INSTRUMENTS, Instrument
from iowhy.agent.totals import BOUNDS_NS, S, Totals
from iowhy.errors import Problem
from iowhy.messages import printable
from iowhy.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import Metric, MetricsData

#: Of an address without a path (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
PATH = "/v1/metrics"
#: For one push, its tries together.
WITHIN_S = 10


class Push:
    """Pushes in its own thread, one at a time: while one is under way (an outage), the totals wait for the next."""

    def __init__(self, address: str, totals: Totals, pushed: Callable[[str | None], None]) -> None:
        """`pushed` is called with why each push failed, or None. Raises Problem where the library is missing."""
        try:
            from opentelemetry.exporter.otlp.proto.http import Compression
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError:
            raise Problem("otlp-missing") from None
        self.totals, self.pushed = totals, pushed
        # What it logs is told by `pushed`.
        self._why = _Kept()
        log = logging.getLogger("opentelemetry.exporter.otlp.proto.http.metric_exporter")
        log.handlers, log.propagate = [self._why], False
        self._connections = Connections()
        self._exporter = OTLPMetricExporter(
            endpoint(address),
            compression=Compression.Gzip,
            timeout=WITHIN_S,
            session=self._connections.session(),
        )
        self._resource = Resource.create(
            {
                "service.name": "iowhy-agent",
                "service.version": VERSION,
                "host.name": host.name(),
            }
        )
        self._start_ns = time.time_ns()
        self._under_way = threading.Lock()

    def push(self) -> None:
        """Sends what has been counted until now."""
        if self._under_way.acquire(blocking=False):
            data = self._data()
            threading.Thread(target=self._send, args=[data], daemon=True).start()

    def end(self) -> None:
        """Sends the last, and waits for it."""
        with self._under_way:
            data = self._data()
        self._send(data, locked=False)

    def _send(self, data: "MetricsData", locked: bool = True) -> None:
        try:
            from opentelemetry.sdk.metrics.export import MetricExportResult

            self._why.last = ""
            with self._connections.within(WITHIN_S):
                done = self._exporter.export(data, timeout_millis=WITHIN_S * 1000)
            worked = done is MetricExportResult.SUCCESS and not self._connections.late
            self.pushed(
                None if worked else self._why.last or f"no whole answer within {WITHIN_S} s"
            )
        finally:
            if locked:
                self._under_way.release()

    def _data(self) -> "MetricsData":
        from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        # A clock that was set back must not end the time before it begins.
        times = (self._start_ns, max(time.time_ns(), self._start_ns))
        metrics = [_metric(one, self.totals, times) for one in INSTRUMENTS]
        metrics.append(_latencies(self.totals, times))
        told = [metric for metric in metrics if metric.data.data_points]
        scope = ScopeMetrics(InstrumentationScope("iowhy", VERSION), told, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])


class _Kept(logging.Handler):
    """The last thing that was logged."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


def endpoint(address: str) -> str:
    """Where to post to: an address without a path is that of a collector."""
    return address if urlsplit(address).path.strip("/") else address.rstrip("/") + PATH


def _metric(one: Instrument, totals: Totals, times: tuple[int, int]) -> "Metric":
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Metric,
        NumberDataPoint,
        Sum,
    )

    start_ns, now_ns = times
    points = [
        NumberDataPoint(
            dict(zip(one.attributes, key, strict=True)),
            start_ns if one.adds_up else None,
            now_ns,
            value,
        )
        for key, value in one.points(totals)
    ]
    data: Any = (
        Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        if one.adds_up
        else Gauge(points)
    )
    return Metric(one.name, one.what, one.unit, data)


def _latencies(totals: Totals, times: tuple[int, int]) -> "Metric":
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Histogram,
        HistogramDataPoint,
        Metric,
    )

    bounds = [bound / S for bound in BOUNDS_NS]
    points = [
        HistogramDataPoint(
            dict(zip(instruments.LATENCY_ATTRIBUTES, map(printable, key), strict=True)),
            *times,
            count=sum(histogram.counts),
            sum=histogram.sum_ns / S,
            bucket_counts=list(histogram.counts),
            explicit_bounds=bounds,
            min=None,
            max=None,
        )
        for key, histogram in list(totals.histograms.items())
    ]
    data = Histogram(points, AggregationTemporality.CUMULATIVE)
    return Metric(instruments.LATENCY, instruments.LATENCY_WHAT, instruments.LATENCY_UNIT, data)
