"""dstat, atop, collectl, nmon, macOS' and FreeBSD's samplers: real outputs, number by number, and generated ones read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.format import Parsed

from .reading import FIXTURES, fixture, intervals, near, quick, read, taken_apart, values

SHARES = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)).map(
    lambda three: (*three, 100 - sum(three))
)
RATES = st.integers(0, 999_000)


def cpu(parsed: Parsed, name: str) -> list[float]:
    """One state's share of all CPUs, an interval each."""
    found = intervals(parsed, "cpu_samples", cpu=-1)
    return [one.counters[name] / one.interval_ns for one in found]


def test_dstats_first_row_is_since_boot() -> None:
    parsed = fixture("dstat", "dstat-0.7.txt")
    assert cpu(parsed, "iowait_ns") == near([0.04, 0.05, 0.07])
    assert cpu(parsed, "irq_ns") == near([0.01] * 3)
    written = [one.counters["page_out_bytes"] for one in intervals(parsed, "vm_samples")]
    assert written == near([12 * 2**20, 12 * 2**20, 7880 * 1024])
    assert intervals(parsed, "vm_samples")[0].counters["context_switches"] == 12_288
    assert len(cpu(fixture("dstat", "dstat-0.7-lo.txt"), "idle_ns")) == 3


def test_dstat_with_a_clock_and_processes() -> None:
    parsed = fixture("dstat", "dstat-time.txt")
    (first, _) = intervals(parsed, "vm_samples")
    assert first.interval_ns == 5 * 10**9
    assert first.levels == {"procs_running": 1, "procs_blocked": 3}
    assert first.counters["page_out_bytes"] == pytest.approx(18 * 2**20 * 5)
    assert cpu(parsed, "iowait_ns") == near([0.76, 0.76])
    assert parsed.tables["memory_samples"][0]["free_bytes"] == 2400 * 2**20


def test_dstats_titles_of_several_disks_touch() -> None:
    text = "--dsk/sda-----dsk/sdb-- ---io/sda------io/sdb-- sda--sdb- ---sda-------sdb---\n"
    text += " read  writ: read  writ| read  writ: read  writ|util:util|rawa wawa:rawa wawa\n"
    text += "   0  3442k:   0     0 |   0   800 :   0     0 | 0.9:   0|   0 3.34:   0    0\n" * 2
    parsed = read("dstat", text, "dstat 1")
    first, second = intervals(parsed, "disk_samples")
    assert first.counters["written_bytes"] == 3442 * 1024 and first.counters["writes"] == 800
    assert first.counters["write_ns"] == pytest.approx(800 * 3.34e6)
    assert first.counters["busy_ns"] == pytest.approx(9e6) and second.counters["writes"] == 0


def test_dstats_csv() -> None:
    parsed = fixture("dstat", "dstat-csv.txt")
    assert parsed.host["name"] == "node1" and cpu(parsed, "iowait_ns") == near([0.38])
    (only,) = intervals(parsed, "vm_samples")
    assert only.interval_ns == 5 * 10**9 and only.counters["page_out_bytes"] == 114_688 * 5


def test_atops_screens() -> None:
    parsed = fixture("atop", "atop-2.8.txt")
    assert parsed.host["cpus"] == 2
    assert cpu(parsed, "user_ns") == near([0.83, 0.905])
    (first, second) = intervals(parsed, "vm_samples")
    assert first.interval_ns == 3 * 10**9 and first.counters["page_out_bytes"] == 686_927 * 1024
    assert second.counters["context_switches"] == 9846
    io = intervals(parsed, "pressure_samples", resource="io", kind="some")
    assert [one.counters["total_ns"] / one.interval_ns for one in io] == near([0.21, 0.09])
    assert values(parsed, "vda")["busy_share"] == 0.18  # no bytes on a narrow screen
    assert any("since boot" in note for note in parsed.notes)


def test_atops_lines_that_grep_took() -> None:
    parsed = fixture("atop", "atop-dsk.txt")
    (first, second) = intervals(parsed, "disk_samples")
    assert first.counters["writes"] == 18_450 and second.counters["busy_ns"] == 8.6e9
    assert first.counters["written_bytes"] == pytest.approx(7.2 * 2**20 * 10)


def test_a_screen_of_atop_since_boot_is_no_load() -> None:
    head = "ATOP - vm      2026/11/22  11:30:42      -----------------      3h51m37s elapsed\n"
    parsed = read("atop", head + "CPU | sys  24% | user 142% | irq 0% | idle 30% | wait  3% |\n")
    assert not parsed.intervals and parsed.missing == ["atop 5 5"]


def test_collectls_brief_lines_do_not_tell_of_waiting() -> None:
    parsed = fixture("collectl", "collectl-posted.txt")
    written = [one.counters["page_out_bytes"] for one in intervals(parsed, "vm_samples")]
    assert written[0] == 342_208 * 1024 and len(written) == 5
    assert "iowait_ns" not in intervals(parsed, "cpu_samples")[0].counters
    assert any("iowait is unknown" in note for note in parsed.notes)
    timed = fixture("collectl", "collectl-4.3.txt")
    assert cpu(timed, "system_ns") == near([0.16, 0.11, 0.07, 0.09])
    assert timed.tables["memory_samples"][0]["free_bytes"] == 19 * 2**30


def test_collectls_records() -> None:
    parsed = fixture("collectl", "collectl-4.3-detail.txt")
    assert [one.counters["reads"] for one in intervals(parsed, "disk_samples")] == [260, 226, 93]
    assert intervals(parsed, "disk_samples")[2].counters["read_ns"] == 93e6
    assert len(intervals(parsed, "cpu_samples", cpu=1)) == 3
    verbose = fixture("collectl", "collectl-4.3-verbose.txt")
    assert verbose.host["cpus"] == 2 and cpu(verbose, "user_ns")[0] == pytest.approx(0.86)


def test_nmons_files() -> None:
    parsed = fixture("nmon", "nmon-16n.txt")
    assert parsed.host["cpus"] == 2 and parsed.version == "16n"
    assert cpu(parsed, "user_ns")[:2] == near([0.823, 0.852])
    first = intervals(parsed, "vm_samples")[0]
    assert first.levels == {"procs_running": 10, "procs_blocked": 1}
    assert first.counters["page_in_bytes"] == 4960 * 1024  # of the interval, not of a second
    # Two of the four snapshots' worth of one disk; what Linux cannot tell (-1) is left out.
    assert values(parsed, "vda")["busy_share"] >= 0
    aix = fixture("nmon", "nmon-aix.txt")
    assert (
        aix.host["os"] == "AIX"
        and aix.host["cpus"] == 256
        and cpu(aix, "iowait_ns") == near([0.007])
    )


def test_macos_iostat_counts_waiting_as_idle() -> None:
    parsed = fixture("macos-iostat", "macos-iostat-w3.txt")
    assert cpu(parsed, "idle_ns") == near([0.82, 0.80, 0.69])
    assert intervals(parsed, "cpu_samples")[0].interval_ns == 3 * 10**9
    assert values(parsed, "disk0") == {
        "operations_per_s": 363.0, "moved_bytes_per_s": pytest.approx(8.72 * 2**20), "mean_bytes": pytest.approx(24.6 * 1024),
    }  # fmt: skip
    assert "disk5" in {
        row["subject"]
        for row in fixture("macos-iostat", "macos-iostat-c2.txt").tables["measurements"]
    }


def test_gstat() -> None:
    parsed = fixture("gstat", "gstat-10s.txt")
    ada0 = intervals(parsed, "disk_samples")[1]
    assert ada0.interval_ns == 57_000_000 and ada0.levels == {"in_flight": 10}
    assert ada0.counters["reads"] == pytest.approx(316 * 0.057)
    assert ada0.counters["busy_ns"] == ada0.interval_ns  # 111.8 % is what jitter makes of 100 %
    with_deletes = fixture("gstat", "gstat-d.txt")
    found = intervals(with_deletes, "disk_samples")
    assert len(found) == 4  # da0p2 is a part of da0
    assert found[0].counters["written_bytes"] == pytest.approx(640 * 1024 * 1.033)
    assert "discards" in found[0].counters


def test_systat() -> None:
    parsed = fixture("systat", "systat-4.txt")
    assert cpu(parsed, "system_ns") == near([0.008])
    newer = read("systat", (FIXTURES / "systat-9.txt").read_text())
    (vm,) = intervals(newer, "vm_samples")
    assert vm.levels == {"procs_running": 2, "procs_blocked": 4}
    assert values(newer, "ada0")["busy_share"] == 0.0 and newer.partial == "one screen of systat"


@quick
@given(rows=st.lists(st.tuples(SHARES, RATES, RATES, st.integers(0, 99)), min_size=2, max_size=5), dool=st.booleans(),
       comma=st.booleans())  # fmt: skip
def test_dstat_as_written(
    rows: list[tuple[tuple[int, ...], int, int, int]], dool: bool, comma: bool
) -> None:
    names = ["usr", "sys", "wai", "idl"] + (["stl"] if dool else ["hiq", "siq"])
    if comma:
        text = f'"{"Dool" if dool else "Dstat"} 1.0 CSV output"\n"Host:","h",,,,"User:","u"\n\n'
        text += '"total cpu usage",' + "," * (len(names) - 1) + '"dsk/total",,"procs",,\n'
        text += (
            ",".join(f'"{name}"' for name in [*names, "read", "writ", "run", "blk", "new"]) + "\n"
        )
    else:
        text = "----total-cpu-usage---- -dsk/total- ---procs---\n"
        text += " ".join(names) + "| read  writ|run blk new\n"
    for shares, read_, written, blocked in rows:
        cells = [*shares, *[0] * (len(names) - 4)]
        if comma:
            text += ",".join(map(str, [*cells, read_, written, 1.0, blocked, 0.0])) + "\n"
        else:
            text += " ".join(map(str, cells)) + f"|{read_}B {written}B|  1 {blocked:>3}   0\n"
    parsed = read("dstat", text, "dstat 4")
    assert parsed.rejects == []
    assert cpu(parsed, "iowait_ns") == near([shares[2] / 100 for shares, *_ in rows[1:]])
    found = intervals(parsed, "vm_samples")
    assert [one.counters["page_in_bytes"] for one in found] == near(
        [r * 4 for _, r, _, _ in rows[1:]]
    )
    assert [one.levels["procs_blocked"] for one in found] == [b for *_, b in rows[1:]]


@quick
@given(rows=st.lists(st.tuples(SHARES, st.integers(0, 9999), st.integers(0, 100)), min_size=1, max_size=4),
       cpus=st.integers(1, 64), seconds=st.integers(1, 600))  # fmt: skip
def test_atop_as_written(
    rows: list[tuple[tuple[int, ...], int, int]], cpus: int, seconds: int
) -> None:
    text = ""
    for at, (shares, writes, busy) in enumerate(rows):
        minutes, rest = divmod(seconds, 60)
        text += (
            f"ATOP - host   2026/11/22  {10 + at}:00:00   -----------   {minutes}m{rest}s elapsed\n"
        )
        names = ("sys", "user", "wait", "idle")
        text += (
            "CPU | "
            + " | ".join(f"{n}  {s * cpus}%" for n, s in zip(names, shares, strict=True))
            + " |\n"
        )
        text += f"DSK |   sda | busy {busy}% | read 0 | write {writes} | KiB/r 0 | KiB/w 4 | MBr/s 0.0 | MBw/s 0.0 | avio 1 ms |\n\n"
    parsed = read("atop", text)
    assert parsed.rejects == [] and parsed.host["cpus"] == cpus
    assert cpu(parsed, "iowait_ns") == near([shares[2] / 100 for shares, *_ in rows])
    disks = intervals(parsed, "disk_samples")
    assert [one.counters["writes"] for one in disks] == near([w for _, w, _ in rows])
    assert [one.counters["written_bytes"] for one in disks] == near([w * 4096 for _, w, _ in rows])
    assert [one.counters["busy_ns"] / one.interval_ns for one in disks] == near(
        [b / 100 for *_, b in rows]
    )


@quick
@given(
    rows=st.lists(
        st.tuples(SHARES, st.integers(0, 999), st.integers(0, 99)), min_size=1, max_size=4
    )
)
def test_nmon_as_written(rows: list[tuple[tuple[int, ...], int, int]]) -> None:
    text = "AAA,host,h\nAAA,interval,7\nAAA,cpus,4\nCPU_ALL,CPU Total h,User%,Sys%,Wait%,Idle%,Busy,CPUs\n"
    text += "DISKBUSY,Disk %Busy h,sda\nDISKREAD,Disk Read KB/s h,sda\n"
    for at, (shares, kib, busy) in enumerate(rows, 1):
        text += f"ZZZZ,T{at:04},10:00:{at * 7:02},22-NOV-2026\n"
        text += f"CPU_ALL,T{at:04}," + ",".join(f"{share}.0" for share in shares) + ",,4\n"
        text += f"DISKBUSY,T{at:04},{busy}.0\nDISKREAD,T{at:04},{kib}.0\n"
    parsed = read("nmon", text)
    assert parsed.rejects == []
    assert cpu(parsed, "iowait_ns") == near([shares[2] / 100 for shares, *_ in rows])
    assert {one.interval_ns for one in intervals(parsed, "cpu_samples")} == {7 * 10**9}
    rates = [
        row["value"] for row in parsed.tables["measurements"] if row["metric"] == "read_bytes_per_s"
    ]
    assert rates == [kib * 1024 for _, kib, _ in rows]


@quick
@given(rows=st.lists(st.tuples(st.integers(0, 64), st.integers(0, 9999), st.integers(0, 9999), st.integers(0, 100)),
                     min_size=1, max_size=4))  # fmt: skip
def test_gstat_as_written(rows: list[tuple[int, int, int, int]]) -> None:
    text = ""
    for queue, reads, kib, busy in rows:
        text += "dT: 2.000s  w: 2.000s\n L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name\n"
        text += f"{queue} {reads} {reads} {kib} 3.0 0 0 0.0 {busy}.0| ada0\n"
        text += f"{queue} {reads} {reads} {kib} 3.0 0 0 0.0 {busy}.0| ada0p1\n"
    parsed = read("gstat", text)
    assert parsed.rejects == []
    found = intervals(parsed, "disk_samples")
    assert [one.counters["reads"] for one in found] == [2 * reads for _, reads, _, _ in rows]
    assert [one.counters["read_ns"] for one in found] == near(
        [reads * 6e6 for _, reads, _, _ in rows]
    )
    assert [one.levels["in_flight"] for one in found] == [queue for queue, *_ in rows]


@quick
@given(
    rows=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), RATES), min_size=1, max_size=5)
)
def test_collectl_as_written(rows: list[tuple[int, int, int]]) -> None:
    text = "waiting for 3 second sample...\n#<--------CPU--------><----------Disks----------->\n"
    text += "#cpu sys inter  ctxsw KBRead  Reads KBWrit Writes\n"
    for busy, system, written in rows:
        text += f"{max(busy, system)} {min(busy, system)} 10 20 0 0 {written} 7\n"
    parsed = read("collectl", text)
    assert parsed.rejects == []
    assert cpu(parsed, "system_ns") == near([min(busy, system) / 100 for busy, system, _ in rows])
    moved = [one.counters["page_out_bytes"] for one in intervals(parsed, "vm_samples")]
    assert moved == near([written * 1024 * 3 for *_, written in rows])


@quick
@given(rows=st.lists(st.tuples(SHARES, st.integers(0, 999)), min_size=2, max_size=5), disks=st.integers(1, 3),
       freebsd=st.booleans())  # fmt: skip
def test_bsd_iostat_as_written(
    rows: list[tuple[tuple[int, ...], int]], disks: int, freebsd: bool
) -> None:
    names = " ".join(f"disk{at}" for at in range(disks))
    text = f"  {'tty ' if freebsd else ''}{names} cpu{'' if freebsd else ' load average'}\n"
    text += (" tin tout" if freebsd else "") + " KB/t tps  MB/s" * disks
    text += " us ni sy in id\n" if freebsd else "  us sy id   1m   5m   15m\n"
    for (user, nice, system, idle), tps in rows:
        text += (" 0 1" if freebsd else "") + f" 4.00 {tps} 1.00" * disks
        text += (
            f" {user} {nice} {system} 0 {idle}\n"
            if freebsd
            else f" {user + nice} {system} {idle} 1.0 1.0 1.0\n"
        )
    parsed = read("macos-iostat", text, "iostat -w 2")
    assert parsed.rejects == [] and parsed.host["os"] == ("FreeBSD" if freebsd else "macOS")
    assert cpu(parsed, "user_ns") == near([(user + nice) / 100 for (user, nice, *_), _ in rows[1:]])
    rates = [row["value"] for row in parsed.tables["measurements"]
             if row["metric"] == "operations_per_s" and row["subject"] == "disk0"]  # fmt: skip
    assert rates == [tps for _, tps in rows[1:]]


def test_iosnoops_devices_have_commas() -> None:
    head = "COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n"
    (part,) = taken_apart(head + "java 30603 RM 202,144 1670768496 8192 0.28\n" * 3).parts
    assert part.format == "iosnoop" and not part.parsed.rejects
    assert values(part.parsed, "202:144 read") == {
        "requests": 3.0, "bytes": 24576.0, "wait_mean_ns": pytest.approx(280_000), "wait_max_ns": 280_000.0,
    }  # fmt: skip


def test_commas_of_a_csv_are_no_thousands() -> None:
    parsed = fixture("nmon", "nmon-16n.txt")
    assert not any("comma" in note for note in parsed.notes)
