"""The agent's totals as Prometheus scrapes them, by its own client library (`pip install 'iowhy[metrics]'`)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from iowhy.agent import instruments
from iowhy.agent.instruments import INSTRUMENTS, in_prometheus
from iowhy.agent.totals import BOUNDS_NS, S, Totals, cumulative
from iowhy.errors import Problem
from iowhy.messages import printable

if TYPE_CHECKING:
    from prometheus_client import Metric


class Collector:
    """What a scrape asks: the totals as they are then."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals

    def collect(self) -> "Iterable[Metric]":
        """Every metric there is."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for one in INSTRUMENTS:
            family = CounterMetricFamily if one.adds_up else GaugeMetricFamily
            labels = [in_prometheus(name) for name in one.attributes]
            metric = family(in_prometheus(one.name, one.unit), one.what, labels=labels)
            for key, value in one.points(self.totals):
                metric.add_metric(list(key), value)
            yield metric
        yield self._latencies()

    def _latencies(self) -> "Metric":
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(
            in_prometheus(instruments.LATENCY, instruments.LATENCY_UNIT),
            instruments.LATENCY_WHAT,
            labels=instruments.LATENCY_ATTRIBUTES,
        )
        bounds = [*(f"{bound / S:.12g}" for bound in BOUNDS_NS), "+Inf"]
        for key, histogram in list(self.totals.histograms.items()):
            counts = cumulative(histogram.counts)
            buckets = list(zip(bounds, map(float, counts), strict=True))
            family.add_metric(list(map(printable, key)), buckets, sum_value=histogram.sum_ns / S)
        return family


def serve(address: tuple[str, int], totals: Totals) -> None:
    """Answers scrapes from here on, in a thread. Raises Problem where it cannot."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError:
        raise Problem("prometheus-client-missing") from None
    registry = CollectorRegistry()
    registry.register(Collector(totals))
    host, port = address
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise Problem(
            "metrics-address-unusable", host=host, port=port, error=error.strerror
        ) from None
