"""A fact is the same number in a report, in the facts of a verdict, and in a comparison."""

import re
import tempfile
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from benchmarks.generated import generate
from iowhy.comparisons.layers import _measured
from iowhy.recordings import open_recording
from iowhy.relations import Relations
from iowhy.reports import run
from iowhy.whys.facts import Facts
from tests.examples import costly


@costly(3)
@given(seed=st.integers(0, 10_000), calls=st.integers(200, 800))
def test_a_fact_is_one_number_wherever_it_is_seen(seed: int, calls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rec = generate(Path(folder) / "made.iowhy", calls=calls, seed=seed, files=8, threads=5)
        with Relations(rec) as relations:
            compared = _measured(relations)
        files = run(rec, "files").to_pylist()
        cache = run(rec, "cache").to_pylist()[0]
        syncs = run(rec, "sync").to_pylist()
        devices = {row["device"]: row for row in run(rec, "devices").to_pylist()}
        slices = run(rec, "devices-over-time").to_pylist()
        with Relations(rec) as relations:
            ((own_files,),) = relations.rows("SELECT sum(requests) FROM file_requests")
            ((every,),) = relations.rows("SELECT count(*) FROM command_requests")
        with Facts(rec) as facts:
            requests, calls_, cached = facts.requests, facts.calls, facts.cache
            assert facts.run.elapsed_ns is not None
            elapsed_s = facts.run.elapsed_ns / 1e9

    assert requests.count == requests.reads + requests.writes
    assert every == compared["device.reads"] + compared["device.writes"] >= requests.count
    assert own_files == sum(row["requests"] for row in files)
    assert requests.owners
    by_ino = {(row["dev"], row["ino"]): row for row in files}
    for owner in requests.owners:
        row = by_ino[owner.dev, owner.ino]
        assert row["requests"] >= owner.count and row["request_bytes"] >= owner.bytes

    assert calls_.syncs.calls == compared["sync_calls"] == sum(row["calls"] for row in syncs)
    assert calls_.syncs.total_ns == sum(row["total_ns"] for row in syncs)
    assert cached.hit_ratio == approx(max(0.0, cache["hit_ratio"]))
    assert compared["cache.hit_share"] == approx(cache["hit_ratio"])
    assert cached.misses == cache["miss_pages"] and cached.readahead == cache["readahead_pages"]

    assert requests.device is not None
    device = devices[requests.device]
    assert requests.busy_share == approx(device["utilisation"])
    own = [row for row in slices if row["device"] == requests.device]
    length_s = own[1]["at_s"] - own[0]["at_s"] if len(own) > 1 else elapsed_s
    busy_s = sum(row["utilisation"] * min(length_s, elapsed_s - row["at_s"]) for row in own)
    assert busy_s / elapsed_s == approx(device["utilisation"], abs=1e-6)


def test_the_report_of_the_machine_and_the_verdict_see_the_same_cpus() -> None:
    rec = open_recording(Path(__file__).parents[2] / "docs/recordings/noisy.iowhy.zip")
    rows = run(rec, "system").to_pylist()
    with Facts(rec) as facts:
        machine = facts.machine
    rows = [row for row in rows if row["idle_share"] is not None]
    busy = [1 - row["idle_share"] - row["iowait_share"] for row in rows]
    assert len(busy) > 1 and machine.busy is not None
    assert min(busy) <= machine.busy <= max(busy)
    assert machine.busiest_cpu is not None
    assert machine.busiest_cpu <= max(row["busiest_cpu_share"] for row in rows)


@pytest.mark.parametrize(
    ("table", "relations"),
    [
        # What an interrupt or a stolen tick counts as is decided there.
        ("cpu_samples", {"cpu_steps.sql", "cpu_count.sql"}),
        # What is in flight is no counter: unanswered_requests reads its last value.
        ("disk_samples", {"disk_steps.sql", "unanswered_requests.sql"}),
    ],
)
def test_only_one_relation_takes_counters_from_each_other(table: str, relations: set[str]) -> None:
    root = resources.files("iowhy")
    readers = {
        path.name
        for path in Path(str(root)).rglob("*.*")
        if path.suffix in (".sql", ".py")
        and "sources" not in path.parts
        and re.search(rf"FROM (main\.)?{table}\b", path.read_text("utf-8"))
    }
    assert readers == relations
