"""Reports of block requests and devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.reports import Filters, run
from tests.examples import costly
from tests.problems import wrong
from tests.reports.conftest import MS, T0, Make, S, file, filesystem, request

VDA = {"dev": 80, "name": "vda"}


def test_a_devices_writes_are_those_that_the_kernel_counts(make: Make) -> None:
    """Two writes, and three of no bytes that ask for a flush, of which the device did two: queue and shares have these once."""
    rec = make(
        {
            "devices": [VDA],
            "block_requests": [
                request(0, 100 * MS, bytes=4096),
                request(0, 100 * MS, bytes=8192, in_scope=False, tgid=77),
                *(request(500 * MS, 40 * MS, bytes=0, issue_ns=None) for _ in range(3)),
                request(500 * MS, 20 * MS, "flush", in_scope=None),
                request(520 * MS, 20 * MS, "flush", in_scope=None),
            ],
        },
        end_s=1,
    )
    (row,) = run(rec, "devices").to_pylist()
    assert (row["writes"], row["writes_per_s"], row["flushes"]) == (5, 5, 2)
    assert (row["written_bytes"], row["write_await_ns"]) == (12288, (2 * 100 + 3 * 40) / 5 * MS)
    assert (row["utilisation"], row["mean_queue"]) == (pytest.approx(0.14), pytest.approx(0.24))
    assert (row["others_share"], row["shared_share"]) == (0.5, 0.5)
    slices = run(rec, "devices-over-time").to_pylist()
    assert sum(one["writes_per_s"] for one in slices) / 10 == pytest.approx(5)
    assert sum(one["flushes_per_s"] for one in slices) / 10 == pytest.approx(2)
    layers = {(one["layer"], one["what"]): one for one in run(rec, "amplification").to_pylist()}
    assert layers["device vda", "write"]["operations"] == 5
    assert layers["requests", "write data"]["operations"] == 1


def test_device_known_by_its_requests(make: Make) -> None:
    """2 s; one read in flight for 500 ms, two writes at once for 250 ms, one flush for 50 ms."""
    rec = make(
        {
            "devices": [VDA | {"below_dev": 81}, {"dev": 81, "name": "sda"}],
            "neighbours": [{"tgid": 77, "comm": "noise"}, {"tgid": 78, "comm": "quiet"}],
            "block_requests": [
                request(0, 500 * MS, "read", bytes=8192, issue_ns=T0 + 100 * MS),
                request(
                    S, 250 * MS, "write", bytes=4096, owner_kind="unknown", error=5, requeues=3
                ),
                request(S, 250 * MS, "write", bytes=12288, in_scope=False, tgid=77),
                request(1500 * MS, 50 * MS, "flush", in_scope=None),
                request(1600 * MS, None, "read", bytes=1 << 20),
                request(1500 * MS, 50 * MS, "discard", bytes=1 << 30),
            ],
        },
        end_s=2,
    )
    (row,) = run(rec, "devices").to_pylist()
    expected = {
        "device": "vda",
        "source": "requests",
        "reads_per_s": 0.5,
        "writes_per_s": 1,
        "read_bytes_per_s": 4096,
        "written_bytes_per_s": 8192,
        "mean_read_bytes": 8192,
        "mean_write_bytes": 8192,
        "mean_queue": (500 + 2 * 250 + 2 * 50) / 2000,
        "read_await_ns": 500 * MS,
        "write_await_ns": 250 * MS,
        "service_ns": (400 + 250 + 250) / 3 * MS,
        "utilisation": 0.4,
        "best_bytes_per_s": 16384,
        "best_ops_per_s": 2,
        "others_share": 1 / 5,
        "others_time_share": 250 / (500 + 2 * 250 + 2 * 50),
        "shared_share": 1 / 6,
        "others_most": "noise (77)",
        "unowned_share": 0.25,
        "flushes": 1,
        "flush_ns": 50 * MS,
        "discards": 1,
        "discarded_bytes": 1 << 30,
        "reads": 1,
        "writes": 2,
        "read_bytes": 8192,
        "written_bytes": 16384,
        "await_ns": 1000 / 3 * MS,
        "unseen": 1,
        "failed": 1,
        "requeues": 3,
        "lies_on": "sda",
    }
    assert row == pytest.approx(expected)


def test_device_known_by_samples(make: Make) -> None:
    def sample(at_s: float, reads: int, read_bytes: int, busy_ms: int) -> dict[str, object]:
        return {
            "ts_ns": T0 + int(at_s * S),
            "dev": 8 << 20,
            "reads": reads,
            "read_bytes": read_bytes,
            "read_ns": reads * 2 * MS,
            "writes": 50,
            "written_bytes": 4096,
            "busy_ns": busy_ms * MS,
        }

    rec = make(
        {
            "disk_samples": [
                sample(0, 1000, 10**6, 100),
                sample(0.95, 1000, 10**6, 100),
                sample(2, 1200, 3 * 10**6, 900),
                sample(4, 1300, 4 * 10**6, 1100),
            ]
        },
        end_s=4,
    )
    (row,) = run(rec, "devices").to_pylist()
    assert (row["device"], row["source"]) == ("8:0", "samples")
    assert (row["reads_per_s"], row["writes_per_s"]) == (75, 0)
    assert (row["mean_read_bytes"], row["read_await_ns"], row["mean_write_bytes"]) == (
        10**4,
        2 * MS,
        None,
    )
    assert row["utilisation"] == pytest.approx(0.25)
    assert row["best_bytes_per_s"] == pytest.approx(2 * 10**6 / 1.05)
    assert (row["mean_queue"], row["flushes"], row["service_ns"]) == (None, None, None)
    assert (row["failed"], row["requeues"]) == (None, None)


@pytest.mark.parametrize(("at_ms", "sources"), [(1, ["requests"]), (-9, []), (4500, [])])
def test_samples_beyond_the_run_stand_for_no_requests_in_it(
    make: Make, at_ms: int, sources: list[str]
) -> None:
    """A device whose requests all lie beside the run did nothing in it, whatever its counters say."""
    counters = {"dev": 80, "read_bytes": 0, "read_ns": 0, "writes": 0, "written_bytes": 0}
    rec = make(
        {
            "block_requests": [request(at_ms * MS, MS, "read")],
            "disk_samples": [
                {"ts_ns": T0, "reads": 0, "busy_ns": 0} | counters,
                {"ts_ns": T0 + MS, "reads": 3, "busy_ns": 0} | counters,
            ],
        },
        end_s=4,
    )
    assert [row["source"] for row in run(rec, "devices").to_pylist()] == sources


def test_only_the_time_of_the_command_counts(make: Make) -> None:
    """The recorder is there before and after the command: no device is busier than all the time."""
    rec = make(
        {
            "block_requests": [
                request(-500 * MS, 400 * MS),
                request(-100 * MS, 300 * MS),
                request(900 * MS, 400 * MS),
                request(950 * MS, 50 * MS),
                request(1100 * MS, 100 * MS),
            ]
        }
    )
    (row,) = run(rec, "devices").to_pylist()
    assert (row["writes"], row["write_await_ns"]) == (2, 225 * MS)
    assert (row["utilisation"], row["mean_queue"]) == (pytest.approx(0.1), pytest.approx(0.15))
    (last,) = run(rec, "devices-over-time").to_pylist()
    assert (last["utilisation"], last["mean_queue"]) == (pytest.approx(1), pytest.approx(1.5))
    assert (last["at_s"], last["writes_per_s"]) == (pytest.approx(0.9), pytest.approx(20))


def test_devices_over_time(make: Make) -> None:
    rec = make(
        {
            "devices": [VDA],
            "block_requests": [
                request(0, 50 * MS, "read", bytes=4096),
                request(150 * MS, 200 * MS, "write", bytes=8192, in_scope=False),
                request(310 * MS, 25 * MS, "flush", in_scope=False),
            ],
        },
        end_s=0.4,
    )
    rows = run(rec, "devices-over-time").to_pylist()
    assert [row["at_s"] for row in rows] == [
        0,
        pytest.approx(0.1),
        pytest.approx(0.2),
        pytest.approx(0.3),
    ]
    assert [row["utilisation"] for row in rows] == pytest.approx([0.5, 0.5, 1, 0.5])
    assert [row["deep_share"] for row in rows] == pytest.approx([0, 0, 0, 0.25])
    assert [row["mean_queue"] for row in rows] == pytest.approx([0.5, 0.5, 1, 0.75])
    assert [row["reads_per_s"] for row in rows] == pytest.approx([10, 0, 0, 0])
    assert [row["written_bytes_per_s"] for row in rows] == pytest.approx([0, 0, 0, 81920])
    assert [row["await_ns"] for row in rows] == [50 * MS, None, None, 200 * MS]
    assert [row["others_share"] for row in rows] == [0, None, None, 1]


@pytest.mark.parametrize("power", [0, 9, 12, 20, 29, 30, 31, 47, 52])
def test_buckets_have_exact_limits(make: Make, power: int) -> None:
    """One below, at, and one below the next power of two: logarithms alone get some of these wrong."""
    values = [v for v in (2**power - 1, 2**power, 2 ** (power + 1) - 1) if v > 0]
    rec = make({"block_requests": [request(0, v, bytes=v) for v in values]}, end_s=1)
    rows = run(rec, "request-size").to_pylist()
    found = {row["low_bytes"]: row["requests"] for row in rows}
    assert found.pop(2**power) == len({2**power, 2 ** (power + 1) - 1} & set(values)) + (
        values.count(1) - 1 if power == 0 else 0
    )
    assert found == ({2 ** (power - 1): 1} if power else {})
    assert rows[-1]["cumulative_share"] == pytest.approx(1)
    # Latencies have two buckets to a power: the lower half ends where the upper one begins.
    rows = run(rec, "request-latency").to_pylist()
    assert sum(row["requests"] for row in rows) == len(values)
    assert rows[-1]["cumulative_share"] == pytest.approx(1)
    for row in rows:
        inside = [v for v in values if row["low_ns"] <= v < row["high_ns"]]
        assert len(inside) == row["requests"]
        low = row["low_ns"]
        power_below = 2 ** (low.bit_length() - 1)
        assert low in (power_below, power_below * 3 // 2)
        assert row["high_ns"] == (
            2 if low == 1 else power_below * 3 // 2 if low == power_below else power_below * 2
        )


@costly(6)
@given(st.lists(st.integers(0, 2**40) | st.integers(0, 5), min_size=1, max_size=60))
def test_percentiles_of_latency(make: Make, values: list[int]) -> None:
    rec = make({"block_requests": [request(0, v) for v in values]}, end_s=1)
    rows = run(rec, "request-latency").to_pylist()
    for column, part in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999)):
        expected = float(np.quantile(values, part))
        (found,) = {row[column] for row in rows}
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert {row["max_ns"] for row in rows} == {max(values)}


def test_intervals_in_which_a_device_idles_have_no_row(make: Make) -> None:
    """Two short bursts with nothing between them; each interval is a tenth of a second."""
    work = [request(210 * MS, 30 * MS), request(810 * MS, 20 * MS)]
    rows = run(make({"block_requests": work, "devices": [VDA]}), "devices-over-time").to_pylist()
    assert [row["at_s"] for row in rows] == pytest.approx([0.2, 0.8])
    assert [row["utilisation"] for row in rows] == pytest.approx([0.3, 0.2])


def test_one_device_and_none_that_idles(make: Make) -> None:
    other = VDA | {"dev": 81, "name": "vdb"}
    idle = {"dev": 82, "reads": 5, "read_bytes": 5, "writes": 0, "written_bytes": 0, "busy_ns": 7}
    samples = [idle | {"ts_ns": T0 + i * MS} for i in range(3)]
    rec = make(
        {
            "devices": [VDA, other, VDA | {"dev": 82, "name": "vdc"}],
            "block_requests": [request(0, MS), request(0, MS, dev=81)],
            "disk_samples": samples,
        }
    )
    rows = run(rec, "devices-over-time").to_pylist()
    assert {row["device"] for row in rows} == {"vda", "vdb"}
    rows = run(rec, "devices-over-time", Filters(device="/dev/vdb")).to_pylist()
    assert {row["device"] for row in rows} == {"vdb"}
    rows = run(rec, "request-latency", Filters(device="vdb")).to_pylist()
    assert [(row["device"], row["requests"]) for row in rows] == [("vdb", 1)]
    with wrong("device-not-in-recording", device="sda"):
        run(rec, "devices-over-time", Filters(device="sda"))
    with wrong("filter-not-of-report", name="device", report="syscalls"):
        run(rec, "syscalls", Filters(device="vda"))


def test_latency_of_unseen_completions_is_unknown(make: Make) -> None:
    rec = make({"block_requests": [request(0, 3), request(0, 3), request(0, None)]})
    rows = run(rec, "request-latency").to_pylist()
    assert [(r["low_ns"], r["requests"], r["share"]) for r in rows] == [(3, 2, 1), (None, 1, None)]
    assert (rows[0]["total_ns"], rows[1]["total_ns"]) == (6, None)


def test_histograms_of_other_tools(make: Make) -> None:
    bucket = {"dev": "sda", "low": 4096, "high": 8192, "count": 3}
    rec = make(
        {
            "histograms": [
                bucket | {"metric": "request_bytes"},
                bucket | {"metric": "request_bytes", "low": 8192, "high": 16384, "count": 9},
                bucket | {"metric": "off_cpu_ns"},
            ]
        },
        without=["block_requests"],
    )
    rows = run(rec, "request-size").to_pylist()
    assert [(r["device"], r["low_bytes"], r["share"]) for r in rows] == [
        ("sda", 4096, 0.25),
        ("sda", 8192, 0.75),
    ]
    assert run(rec, "request-latency").num_rows == 0


def test_pattern(make: Make) -> None:
    """Each request 8 sectors: 0, 8, 16 in a row, a jump to 1000, back to 100, a read in the middle."""
    places = [0, 8, 16, 1000, 100, 108]
    rec = make(
        {
            "devices": [VDA],
            "block_requests": [
                request(
                    i * MS, MS, "read" if i == 5 else "write", sector=sector, issue_ns=T0 + i * MS
                )
                for i, sector in enumerate(places)
            ]
            # Another device, a flush and a request of others between do not move this head …
            + [request(2 * MS, MS, dev=81, sector=5), request(2 * MS, MS, "flush")],
        }
    )
    rows = {(r["device"], r["op"]): r for r in run(rec, "request-pattern").to_pylist()}
    write = rows["vda", "write"]
    assert (write["requests"], write["bytes"], write["mean_bytes"]) == (5, 5 * 4096, 4096)
    assert (write["sequential_share"], write["seek_share"]) == (
        0.5,
        0.5,
    )  # the first has none before
    assert write["p50_seek_bytes"] == pytest.approx((976 + 908) / 2 * 512)
    assert write["backward_share"] == 0.5
    assert rows["vda", "read"]["sequential_share"] == 1
    assert rows["0:81", "write"]["sequential_share"] is None
    addresses = run(rec, "addresses").to_pylist()
    assert [r["address_bytes"] // 512 for r in addresses if r["device"] == "vda"] == places


def test_seeks_are_against_everybodys_requests(make: Make) -> None:
    """Two writers in turn, each sequential: to the device, and under any filter, all are seeks."""
    rec = make(
        {
            "files": [file(2, "/srv/a"), file(3, "/srv/b")],
            "filesystems": [filesystem()],
            "block_requests": [
                request(
                    i * MS,
                    MS,
                    sector=i // 2 * 8 + 10_000 * (i % 2),
                    owner_ino=2 + i % 2,
                    tgid=10 + i % 2,
                    tid=10 + i % 2,
                )
                for i in range(20)
            ],
        }
    )
    for filters in (Filters(), Filters(file="/srv/b"), Filters(pids=(11,))):
        (row,) = run(rec, "request-pattern", filters).to_pylist()
        assert row["seek_share"] == 1
    by_path = {r["path"]: r for r in run(rec, "files").to_pylist()}
    assert by_path["/srv/a"]["jump_share"] == by_path["/srv/b"]["jump_share"] == 1
    assert by_path["/srv/a"]["requests"] == 10


@pytest.mark.parametrize("since", [0, 1, 3, 4])
def test_a_later_part_of_two_devices_is_as_busy_as_they_were_in_it(make: Make, since: int) -> None:
    """Each second of five the first is busy for 0.2 s, the second for 0.4."""
    requests = [
        request(at * S, (number + 1) * 200 * MS, dev=dev)
        for at in range(5)
        for number, dev in enumerate((80, 81))
    ]
    devices = [VDA, {"dev": 81, "name": "vdb"}]
    recording = make({"block_requests": requests, "devices": devices}, end_s=5)
    rows = run(recording, "devices", Filters(since=str(since))).to_pylist()
    found = {row["device"]: row["utilisation"] for row in rows}
    assert found == {"vda": pytest.approx(0.2), "vdb": pytest.approx(0.4)}
