"""The same texts read by jc, an independent reader: the numbers must be the same.

jc knows neither line numbers nor cut lines nor several tools in one text, so it cannot be the reader
here; what both can read, both read alike.
"""

import jc
import pytest

from .reading import FIXTURES, fixture, intervals, values


def text_of(name: str) -> str:
    return (FIXTURES / name).read_text()


def test_vmstat() -> None:
    known = jc.parse("vmstat", text_of("vmstat-4-wide-active.txt").replace("--procs--", "procs"))
    found = intervals(fixture("vmstat", "vmstat-4-wide-active.txt"), "cpu_samples")
    assert len(found) == len(known) - 1
    for one, row in zip(found, known[1:], strict=True):
        assert one.counters["user_ns"] == pytest.approx(row["user_time"] * 1e7)
        assert one.counters["iowait_ns"] == pytest.approx(row["io_wait_time"] * 1e7)


def test_iostat() -> None:
    known = jc.parse("iostat", text_of("iostat-12-x.txt"))
    cpus = [row for row in known if row["type"] == "cpu"]
    disks = [row for row in known if row["type"] == "device" and row["device"] == "vda"]
    parsed = fixture("iostat", "iostat-12-x.txt")
    (cpu,) = intervals(parsed, "cpu_samples")
    assert cpu.counters["idle_ns"] == pytest.approx(cpus[1]["percent_idle"] * 1e7)
    vda = [one for one in intervals(parsed, "disk_samples") if one.key["dev"] != 7 << 20]
    assert vda[0].counters["writes"] == pytest.approx(disks[1]["w_s"])
    assert vda[0].counters["written_bytes"] == pytest.approx(disks[1]["wkb_s"] * 1024)


def test_mpstat() -> None:
    known = [
        row
        for row in jc.parse("mpstat", text_of("mpstat-12-all.txt"))
        if row["type"] == "cpu" and not row.get("average")
    ]
    found = fixture("mpstat", "mpstat-12-all.txt").intervals
    assert len(found) == len(known)
    for one, row in zip(found, known, strict=True):
        assert one.counters["idle_ns"] == pytest.approx(row["percent_idle"] * 1e7)


def test_pidstat() -> None:
    known = jc.parse("pidstat", text_of("pidstat-12-h.txt"))
    parsed = fixture("pidstat", "pidstat-12-h.txt")
    last = {}
    for row in known:
        last[f"{row['command']} ({row['pid']})"] = row
    for subject, row in last.items():
        rows = [r for r in parsed.tables["measurements"] if r["subject"] == subject]
        shares = [r["value"] for r in rows if r["metric"] == "cpu_share"]
        assert shares[-1] == pytest.approx((row["percent_usr"] + row["percent_system"]) / 100)
        assert values(parsed, subject)["resident_bytes"] == row["rss"] * 1024


def test_free() -> None:
    known = jc.parse("free", text_of("free-4-wide-bytes.txt"))
    (row,) = fixture("free", "free-4-wide-bytes.txt").tables["memory_samples"]
    assert row["free_bytes"] == known[0]["free"]
    assert row["cached_bytes"] == known[0]["cache"]


def test_top() -> None:
    known = jc.parse("top", text_of("top-4.txt"))
    found = intervals(fixture("top", "top-4.txt"), "cpu_samples")
    assert len(found) == len(known) - 1
    for one, row in zip(found, known[1:], strict=True):
        assert one.counters["system_ns"] == pytest.approx(row["cpu_sys"] / 100 * one.interval_ns)


def test_proc_files() -> None:
    known = jc.parse("proc_meminfo", text_of("proc-meminfo.txt"))
    (row,) = fixture("proc-meminfo", "proc-meminfo.txt").tables["memory_samples"]
    assert row["dirty_bytes"] == known["Dirty"] * 1024
    first = text_of("proc-diskstats.txt").split("\n\n")[0]
    disks = {row["device"]: row for row in jc.parse("proc_diskstats", first)}
    snapshot = next(
        r for r in fixture("proc-diskstats", "proc-diskstats.txt").snapshots
        if r.copy == 0 and r.counters["reads"] == disks["vda"]["reads_completed"]
    )  # fmt: skip
    assert snapshot.counters["read_bytes"] == disks["vda"]["sectors_read"] * 512
    assert snapshot.counters["busy_ns"] == disks["vda"]["io_time_ms"] * 10**6
