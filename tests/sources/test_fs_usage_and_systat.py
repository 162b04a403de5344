"""macOS' fs_usage and BSD's systat: written from generated data as the tools print them, and every number read back."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.format import Parsed

from .reading import fixture, intervals, quick, read, taken_apart, values
from .test_traced_tops import clock
from .test_written_and_read import shares

COMMS = st.sampled_from(["sqlite3", "Web Content", "mds_stores", "com.apple.x"])
REQUESTS = (
    "RdData[A]",
    "WrData[AT2]",
    "RdMeta[S]",
    "WrMeta[ST1]",
    "PgIn[A]",
    "PgOut[S]",
    "RdChunkCS",
    "WrChunkCS",
)
#: A call's name, what stands behind it, and what it is summed up as.
CALLED = (
    ("pread", "F=5    B=0x1000   O=0x00002000", "pread", 0),
    ("open", "F=5        (R_____)  /private/etc/passwd", "open", 0),
    ("open", "      [  2]           /Users/me/not here.txt", "open", 1),
    ("read", "F=3  [ 35]", "read", 1),
    ("stat64", "/tmp/[ 12]/x", "stat64", 0),
    ("fcntl", "F=5    <FULLFSYNC>", "fsync", 0),
    ("fsync", "F=5", "fsync", 0),
    ("close", "F=5", "close", 0),
)
LINES = st.tuples(st.one_of(st.sampled_from(REQUESTS), st.sampled_from(CALLED)), st.integers(0, 10**7),
                  st.integers(0, 5 * 10**6), st.booleans(), COMMS, st.integers(1, 10**7), st.integers(1, 2**24))  # fmt: skip


@quick
@given(lines=st.lists(LINES, min_size=1, max_size=6), wide=st.booleans())
def test_fs_usage(
    lines: list[tuple[str | tuple[str, str, str, int], int, int, bool, str, int, int]], wide: bool
) -> None:
    text, now_us = "", 86_380_000_000  # the first line is before midnight
    requests, calls = [], defaultdict[tuple[int, str], list[tuple[int, bool, int]]](list)
    for what, gap_us, took_us, waited, comm, tid, size in lines:
        now_us += gap_us if wide else gap_us // 10**6 * 10**6
        name, rest = (
            (f"  {what}", f"D=0x00a886d2  B=0x{size:x}   /dev/disk3s5  /a b/B=0x1")
            if isinstance(what, str)
            else what[:2]
        )
        stamp = clock(now_us // 10**6) + (f".{now_us % 10**6:06}" if wide else "")
        text += f"{stamp}  {name:<16}  {rest:<60} {took_us / 1e6:.6f} {'W' if waited else ' '} {comm}{f'.{tid}' if wide else ''}\n"
        if isinstance(what, str):
            requests.append((now_us, took_us, what, size, tid if wide else 0))
        else:
            calls[tid if wide else 0, what[2]].append((took_us, waited, what[3]))
    parsed = read("fs-usage", text)
    assert not parsed.rejects
    assert [part.format for part in taken_apart(text).parts] == ["fs-usage"]
    for row, (end, took, what, size, tid) in zip(
        parsed.tables.get("block_requests", []), requests, strict=True
    ):
        assert (row["complete_ns"], row["issue_ns"]) == (end * 1000, (end - took) * 1000)
        assert row["op"] == ("read" if what.startswith(("Rd", "PgIn")) else "write")
        assert (row["bytes"], row["tid"], row["sector"]) == (size, tid, None)
        assert (
            (row["flags"] == ["metadata"]) == ("Meta" in what) == (row["owner_kind"] == "metadata")
        )
    found = {(row["tid"], row["name"]): row for row in parsed.tables.get("syscall_totals", [])}
    assert found.keys() == calls.keys()
    for key, made in calls.items():
        row = found[key]
        assert (row["calls"], row["errors"]) == (len(made), sum(failed for *_, failed in made))
        assert row["total_ns"] == 1000 * sum(took for took, *_ in made)
        assert row["max_ns"] == 1000 * max(took for took, *_ in made)
        assert row["cpu_ns"] == 1000 * sum(took for took, waited, _ in made if not waited)


def names(parsed: Parsed) -> dict[str, tuple[object, object]]:
    """Call → calls and errors."""
    return {
        str(row["name"]): (row["calls"], row["errors"]) for row in parsed.tables["syscall_totals"]
    }


def test_real_traces() -> None:
    parsed = fixture("fs-usage", "fs-usage-core-storage.txt")
    requests = parsed.tables["block_requests"]
    # Core Storage's requests to the disk and those of the volume above it are of two devices.
    assert len(requests) == 6 and len({row["dev"] for row in requests}) == 2
    assert [row["bytes"] for row in requests] == [0x2000] * 6
    assert {row["complete_ns"] - row["issue_ns"] for row in requests} >= {192_000, 218_000}  # type: ignore[operator]
    assert names(parsed) == {"listxattr": (1, 0)} and not parsed.rejects
    narrow = fixture("fs-usage", "fs-usage-narrow.txt")
    assert names(narrow)["open"] == (4, 0) and not narrow.rejects
    assert sum(row["total_ns"] for row in narrow.tables["syscall_totals"]) == 198_000  # type: ignore[misc]


SCREENS = st.tuples(shares(5), st.integers(0, 999), st.integers(0, 99), st.integers(0, 99),
                    st.lists(st.tuples(*[st.integers(0, 9999)] * 3, st.integers(0, 100)), min_size=1, max_size=6))  # fmt: skip


@quick
@given(
    screens=st.lists(SCREENS, min_size=1, max_size=3),
    head=st.booleans(),
    seconds=st.sampled_from([0, 1, 30]),
)
def test_systat(
    screens: list[tuple[list[int], int, int, int, list[tuple[int, int, int, int]]]],
    head: bool,
    seconds: int,
) -> None:
    text = ""
    for cpu, running, paging, blocked, disks in screens:
        text += (
            "    2 users    Load  0.36  0.26  0.18                  Thu Dec  5 18:44\n\n"
            if head
            else ""
        )
        text += "Proc:                                                            Interrupts\n"
        text += "  r   p   d   s   w   Csw  Trp  Sys  Int  Sof  Flt    457 cow    5728 total\n"
        text += "".join(
            f"{n or '':>{w}}" for n, w in ((running, 3), (paging, 4), (blocked, 4), (490, 4))
        )
        text += "      7572 2125 5962 2528  140 2058   1359 zfod        atkbd0 1\n\n"
        text += "{:4.1f}%Sys  {:4.1f}%Intr {:4.1f}%User {:4.1f}%Nice {:4.1f}%Idle        %ozfod  2410 em0:rx 0 2\n".format(
            *cpu
        )
        text += "|    |    |    |    |    |    |    |    |    |    |       daefr   117 em0:tx 0 2\n"
        text += "Disks" + "".join(f"{f'ada{n}':>6}" for n in range(len(disks))) + "\n"
        for at, title in enumerate(("KB/t", "tps", "MB/s", "%busy")):
            cells = ((row[at] / 100 if at in (0, 2) else row[at]) for row in disks)
            line = f"{title:<5}" + "".join(
                f"{cell:6.2f}" if at in (0, 2) else f"{cell:6}" for cell in cells
            )
            text += f"{line:<49}{1_069_868 + at} wire\n"
    parsed = read("systat", text, f"systat -vmstat {seconds}" if seconds else "")
    assert not parsed.rejects
    assert [part.format for part in taken_apart(text).parts] == ["systat"]
    interval = (seconds or 5) * 10**9
    vm, cpus = intervals(parsed, "vm_samples"), intervals(parsed, "cpu_samples", cpu=-1)
    assert [one.start_ns for one in vm] == [at * interval for at in range(len(screens))]
    for at, (cpu, running, paging, blocked, disks) in enumerate(screens):
        assert vm[at].levels == {"procs_running": running, "procs_blocked": paging + blocked}
        system, irq, user, nice, idle = (share / 100 * interval for share in cpu)
        assert cpus[at].interval_ns == interval
        assert cpus[at].counters == pytest.approx(
            {"system_ns": system, "irq_ns": irq, "user_ns": user + nice, "idle_ns": idle}
        )
        for disk, (mean, operations, moved, busy) in enumerate(disks):
            found = {
                row["metric"]: row["value"]
                for row in parsed.tables["measurements"]
                if row["subject"] == f"ada{disk}" and row["ts_ns"] == (at + 1) * interval
            }
            assert found == pytest.approx({
                "operations_per_s": operations, "moved_bytes_per_s": moved / 100 * 2**20,
                "mean_bytes": mean / 100 * 1024, "busy_share": busy / 100,
            })  # fmt: skip


def test_dstats_files() -> None:
    loaded = fixture("dstat", "dstat-0.7-csv.txt")
    assert not loaded.rejects and loaded.host["name"] == "node1"
    written = [one.counters["page_out_bytes"] for one in intervals(loaded, "vm_samples")]
    assert written == pytest.approx([272_334_848, 276_201_472])
    cpus = intervals(loaded, "cpu_samples", cpu=-1)
    assert [one.counters["iowait_ns"] for one in cpus] == pytest.approx([130_650_000, 133_840_000])
    idle = fixture("dstat", "dstat-0.8-csv.txt")
    assert [one.counters["page_out_bytes"] for one in intervals(idle, "vm_samples")] == [
        0,
        32_768,
        0,
    ]
    # PCP names each column with its group before it.
    pcp = fixture("dstat", "dstat-pcp-csv.txt")
    assert not pcp.rejects
    waited = [one.counters["iowait_ns"] for one in intervals(pcp, "cpu_samples", cpu=-1)]
    assert waited[4] == pytest.approx(1_250_000) and sum(waited) == waited[4]
    assert intervals(pcp, "vm_samples")[4].counters["page_out_bytes"] == pytest.approx(32.016)


def test_an_old_screen_does_not_say_how_busy_disks_are() -> None:
    assert "busy_share" not in values(fixture("systat", "systat-4.txt"), "sd0")


def test_a_loaded_gstat() -> None:
    parsed = fixture("gstat", "gstat-s.txt")
    assert not parsed.rejects and len(intervals(parsed, "disk_samples")) == 5
    _, full, second, *_ = intervals(parsed, "disk_samples")
    assert full.interval_ns == 1_005_000_000 and full.levels == {"in_flight": 72}
    assert full.counters == pytest.approx({
        "reads": 0, "read_bytes": 0, "read_ns": 0, "writes": 540 * 1.005, "written_bytes": 69155 * 1024 * 1.005,
        "write_ns": 540 * 1.005 * 135.7e6, "busy_ns": 1_005_000_000,
    })  # fmt: skip
    # kB is a request's size, not a rate: with -s it stands before kBps.
    assert second.counters["read_bytes"] == pytest.approx(36 * 1024 * 1.005)
