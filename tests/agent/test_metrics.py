"""Metrics: right sums, bounded in number, named as they should be."""

import re
import urllib.request

import pytest

from iowhy.agent import totals
from iowhy.agent.counted import Latency
from iowhy.agent.totals import OTHER, Totals
from tests.agent.made import disk, interval, latency

prometheus_client = pytest.importorskip("prometheus_client")
from iowhy.agent.metrics import Collector, serve  # noqa: E402
from tests.problems import wrong  # noqa: E402


def text(of: Totals) -> str:
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(of))
    return str(prometheus_client.generate_latest(registry).decode())


def values(of: Totals) -> dict[str, float]:
    lines = (line for line in text(of).splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_intervals_add_up_to_counters_and_histograms() -> None:
    of = Totals()
    for _ in range(2):
        of.add(interval(latency(), disks=[disk(0.5)], pressure={"io": {"some": 0.1}}, waiting=3))
    found = values(of)
    labels = 'container="",measure="sync",name="fsync",namespace="",place="vda",pod="",service="db"'
    assert found[f"iowhy_latency_seconds_count{{{labels}}}"] == 200
    assert found[f"iowhy_latency_seconds_sum{{{labels}}}"] == pytest.approx(0.2)
    first, labels = labels.split(",", 1)
    bucket = f'iowhy_latency_seconds_bucket{{{{{first},le="{{}}",{{}}}}}}'
    # A bound is the end of a bucket: what is below 2 µs is below 4.096 µs, not below 1.024 µs.
    assert found[bucket.format("1.024e-06", labels)] == 0
    assert found[bucket.format("4.096e-06", labels)] == 196
    assert found[bucket.format("0.067108864", labels)] == 200
    assert found[bucket.format("+Inf", labels)] == 200
    read = '{disk_io_direction="read",system_device="vda"}'
    assert found[f"system_disk_io_bytes_total{read}"] == 8192
    assert found[f"system_disk_operations_total{read}"] == 6
    assert found['system_disk_io_time_seconds_total{system_device="vda"}'] == 10
    stalled = 'iowhy_pressure_stalled_seconds_total{kind="some",resource="io"}'
    assert found[stalled] == pytest.approx(2)
    assert found["iowhy_threads_uninterruptible"] == 3


def test_what_is_not_known_is_not_there() -> None:
    of = Totals()
    of.add(interval(disks=[disk(None)], waiting=None))
    assert not [name for name in values(of) if "io_time" in name or "uninterruptible" in name]


def test_services_that_come_and_go_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "HISTOGRAMS", 120)
    monkeypatch.setattr(totals, "HALF_S", float("inf"))
    of = Totals()
    for number in range(5000):
        row = latency(service=f"job-{number}", name=("fsync", "fdatasync")[number % 2])
        of.add(interval(row))
    assert len(of.groups) == totals.SERVICES
    assert {key[2] for key in of.histograms} == {*(f"job-{n}" for n in range(100)), OTHER}
    counted = sum(sum(histogram.counts) for histogram in of.histograms.values())
    assert counted + of.left_out == 5000 * 100
    of.add(interval(*(latency(name=f"call_{number}") for number in range(100))))
    assert len(of.histograms) <= 120 and of.left_out > 0


def test_statements_are_bounded() -> None:
    of = Totals()
    of.ran([(str(n), "x" * 5000, "Lock", 0.5) for n in range(1000)])
    of.ran([("1", "x" * 5000, "Lock", 0.5)])
    assert len(of.statement_s) == totals.STATEMENTS + 1
    assert sum(of.statement_s.values()) == 500.5
    assert max(len(key[1]) for key in of.statement_s) == totals.STATEMENT_CHARACTERS


def test_who_uses_most_has_metrics_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "SERVICES", 3)
    monkeypatch.setattr(totals, "KNOWN", 6)
    of = Totals()
    of.add(interval(*(latency(service=f"idle-{n}", sum_ns=1000 - n) for n in range(10))))
    assert {group[0] for group in of.groups} == {"idle-0", "idle-1", "idle-2"}
    for _ in range(3):
        of.add(interval(latency(service="db", sum_ns=10**9), latency(service="idle-0", sum_ns=900)))
    assert {group[0] for group in of.groups} == {"db", "idle-0", "idle-1"}
    assert len(of.used) == 6
    # What gave way has ended, what came begins at 0: nothing goes down but by ending.
    counts = {key[2]: sum(one.counts) for key, one in of.histograms.items()}
    assert counts == {"db": 300, "idle-0": 400, "idle-1": 100, OTHER: 700}


def of_pod(namespace: str, pod: str, container: str = "app", **more: object) -> Latency:
    names = {"namespace": namespace, "pod": pod, "container": container, "id": f"{pod}-id"}
    return latency(service=f"{namespace}/{pod}/{container}", **names | more)


def test_containers_of_one_name_in_two_pods_are_two_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "SERVICES", 3)
    of = Totals()
    of.add(
        interval(of_pod("prod", "db"), of_pod("ops", "backup"), of_pod("ops", "backup", id="again"))
    )
    of.add(interval(latency(), of_pod("x", "y"), of_pod("x", "z")))
    found = {
        dict(re.findall(r'(\w+)="([^"]*)"', name))["service"]: (name, value)
        for name, value in values(of).items()
        if name.startswith("iowhy_latency_seconds_count")
    }
    assert {service: value for service, (_, value) in found.items()} == {
        "prod/db/app": 100, "ops/backup/app": 200, "db": 100, OTHER: 200,
    }  # fmt: skip
    assert 'container="app"' in found["prod/db/app"][0] and 'pod="db"' in found["prod/db/app"][0]
    assert 'namespace="ops"' in found["ops/backup/app"][0]
    assert all(f'{name}="{OTHER}"' in found[OTHER][0] for name in ("namespace", "pod", "container"))


def test_names_are_prometheus_names_and_no_label_is_a_process_or_file() -> None:
    of = Totals(
        triggers={"a": 1}, suppressed={("a", "budget"): 2}, verdicts={("a", "sync-storm"): 1}
    )
    of.add(interval(latency(), disks=[disk(0.5)]))
    of.ran([("1", "SELECT ?", "none", 1.0)])
    labels = set()
    for name in values(of):
        metric, _, rest = name.partition("{")
        assert re.fullmatch(r"(iowhy|system)_[a-z_]+", metric)
        labels |= set(re.findall(r'(\w+)="', rest))
    assert labels <= {
        "le",
        "measure",
        "name",
        "service",
        "namespace",
        "pod",
        "container",
        "place",
        "kind",
        "trigger",
        "reason",
        "cause",
        "system_device",
        "disk_io_direction",
        "resource",
        "statement_id",
        "statement",
        "wait",
    }


def test_the_endpoint_answers_and_a_taken_port_is_a_problem() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    serve(("127.0.0.1", port), Totals())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert b"iowhy_lost_events_total 0.0" in answer.read()
    with wrong("metrics-address-unusable", port=port, error="Address already in use"):
        serve(("127.0.0.1", port), Totals())


def test_names_of_control_groups_cannot_act_on_a_terminal() -> None:
    of = Totals(cache_bytes={("cache_missed", "a\x1b[31mb"): 4096})
    of.add(interval(latency(service="d\x1b]0;x\x07b")))
    assert text(of).replace("\n", "").isprintable()
    assert r"a\\x1b[31mb" in text(of)
