"""Metrics arrive at a collector as OpenTelemetry has them: the same as Prometheus gets, and whole again after an outage."""

import time

import pytest

from iowhy.agent.instruments import INSTRUMENTS, LATENCY, in_prometheus
from iowhy.agent.totals import BOUNDS_NS, Totals
from tests.agent.made import disk, interval, latency

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
from iowhy.agent import otlp
from iowhy.agent.otlp import Push, endpoint
from tests.agent.collector import collector, told
from tests.agent.dripping import BODY, HANDSHAKE, HEADERS, dripping
from tests.problems import wrong


def counted() -> Totals:
    of = Totals(
        triggers={"a": 1}, suppressed={("a", "budget"): 2}, verdicts={("a", "sync-storm"): 3}
    )
    for _ in range(2):
        of.add(interval(latency(), disks=[disk(0.5)], pressure={"io": {"some": 0.1}}, waiting=3))
    return of


def test_all_that_is_counted_arrives_with_its_unit_and_attributes() -> None:
    failures: list[str | None] = []
    with collector() as (port, got):
        Push(f"http://127.0.0.1:{port}", counted(), failures.append).end()
    assert failures == [None]
    (request,) = got
    found = told(request)
    assert found["system.disk.io"] == {("vda", "read"): 8192, ("vda", "write"): 16384}
    assert found["system.disk.operations"][("vda", "read")] == 6
    assert found["system.disk.io_time"] == {("vda",): 10}
    assert found["iowhy.pressure_stalled"][("io", "some")] == pytest.approx(2)
    assert found["iowhy.verdicts"] == {("a", "sync-storm"): 3}
    assert found["iowhy.threads_uninterruptible"] == {(): 3}
    (resource,) = request.resource_metrics
    named = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert named["service.name"] == "iowhy-agent" and named["host.name"]
    metrics = {one.name: one for one in resource.scope_metrics[0].metrics}
    io = metrics["system.disk.io"]
    assert (io.unit, io.sum.is_monotonic, io.sum.aggregation_temporality) == ("By", True, 2)
    assert [one.key for one in io.sum.data_points[0].attributes] == [
        "system.device",
        "disk.io.direction",
    ]
    assert 0 < io.sum.data_points[0].start_time_unix_nano <= io.sum.data_points[0].time_unix_nano
    assert metrics["iowhy.threads_uninterruptible"].WhichOneof("data") == "gauge"


def test_a_histogram_has_the_buckets_that_prometheus_has() -> None:
    with collector() as (port, got):
        Push(f"http://127.0.0.1:{port}", counted(), lambda _: None).end()
    point = told(got[0])[LATENCY][("sync", "fsync", "db", "", "", "", "vda")]
    assert (point.count, point.sum) == (200, pytest.approx(0.2))
    assert list(point.explicit_bounds) == [bound / 1e9 for bound in BOUNDS_NS]
    assert sum(point.bucket_counts) == 200 and point.bucket_counts[1] == 196
    assert not point.HasField("min") and not point.HasField("max")


def test_after_an_outage_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "WITHIN_S", 1)
    failures: list[str | None] = []
    of = Totals()
    with collector() as (port, got):
        push = Push(f"http://127.0.0.1:{port}", of, failures.append)
        of.add(interval(latency()))
        push.end()
        assert len(got) == 1
    # Nobody listens; none of these waits for the one before it.
    for _ in range(3):
        of.add(interval(latency()))
        push.push()
    end = time.monotonic() + 120
    while len(failures) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert failures[0] is None and failures[1]
    with collector(port) as (_, got):
        push.end()
    point = told(got[-1])[LATENCY][("sync", "fsync", "db", "", "", "", "vda")]
    assert failures[-1] is None and point.count == 400


def test_names_are_those_that_prometheus_makes_of_them() -> None:
    for one in INSTRUMENTS:
        assert one.name.startswith(("system.", "iowhy.")), one.name
    assert in_prometheus("system.disk.io", "By") == "system_disk_io_bytes"
    assert in_prometheus("system.disk.operations", "{operation}") == "system_disk_operations"
    assert in_prometheus("iowhy.latency", "s") == "iowhy_latency_seconds"


def test_where_it_is_posted_to() -> None:
    assert endpoint("http://c:4318") == endpoint("http://c:4318/") == "http://c:4318/v1/metrics"
    assert endpoint("https://c/otlp/v1/metrics") == "https://c/otlp/v1/metrics"


def test_without_the_library_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with wrong("otlp-missing"):
        Push("http://127.0.0.1:1", Totals(), lambda _: None)


@pytest.mark.timeout(60)  # without a deadline it takes as long as the collector likes
@pytest.mark.parametrize("begins", [HEADERS, BODY, HANDSHAKE])
def test_a_collector_that_drips_does_not_hold_up_the_next_push(
    monkeypatch: pytest.MonkeyPatch, begins: bytes
) -> None:
    monkeypatch.setattr(otlp, "WITHIN_S", 0.3)
    failures: list[str | None] = []
    with dripping(begins) as address:
        push = Push(address, counted(), failures.append)
        for _ in range(2):
            push.end()
    assert len(failures) == 2 and all(failures)
