"""What people paste most: one screen of top, ps, fio's text, zpool iostat, dd, iotop, the kernel's log, etcd's metrics."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.formats._states import Sleeper
from tests.numbers_told import tells

from .reading import fixture, intervals, quick, read, taken_apart, values
from .test_written_and_read import COUNTS, shares

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)


@quick
@given(cpu=shares(8), comma=st.booleans(), prompt=st.sampled_from(["top", "top -b -n 1", "top -bn1"]),
       states=st.lists(st.sampled_from("DSRI"), max_size=6))  # fmt: skip
def test_one_screen_of_top(cpu: list[int], comma: bool, prompt: str, states: list[str]) -> None:
    dot = "," if comma else "."
    names = ("us", "sy", "ni", "id", "wa", "hi", "si", "st")
    text = "top - 14:02:10 up 1 day,  2 users,  load average: 4.10, 2.22, 1.03\n%Cpu(s): "
    text += ", ".join(f"{share:>3}{dot}0 {name}" for share, name in zip(cpu, names, strict=True))
    text += "\n\n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    for pid, state in enumerate(states, 10):
        text += f"{pid} db 20 0 1201m 802m 12m {state} 1{dot}5 10{dot}1 3:12.04 jbd2/sda-{pid}\n"
    parsed = read("top", text, prompt)
    found = intervals(parsed, "cpu_samples")
    assert len(found) == (prompt == "top")
    for one in found:
        assert one.interval_ns == 3 * 10**9
        assert one.counters["iowait_ns"] == pytest.approx(cpu[4] / 100 * 3e9)
    assert (parsed.partial is not None) == (prompt == "top")
    sleeping = values(parsed, "unknown").get("uninterruptible_threads", 0)
    assert sleeping == states.count("D") and not parsed.rejects


def test_a_real_screen_of_top_and_its_tasks_alone() -> None:
    parsed = fixture("top", "top-3.3-screen.txt")
    (one,) = intervals(parsed, "cpu_samples")
    assert one.counters["idle_ns"] == pytest.approx(0.987 * 3e9)
    (part,) = taken_apart(
        "  PID USER      PR  NI  VIRT  RES  SHR S  %CPU %MEM    TIME+  COMMAND\n"
        " 1337 db        20   0  436m  86m  38m D  90.0 24.3  19:09.20 mysqld\n"
    ).parts
    assert part.format == "top" and values(part.parsed, "mysqld (1337)")["cpu_share"] == 0.9
    assert not part.parsed.intervals


TITLES = {
    "aux": "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND",
    "el": "F S UID PID PPID C PRI NI ADDR SZ WCHAN TTY TIME CMD",
    "o": "PID STAT WCHAN COMMAND",
    "o2": "PID STAT CMD WCHAN",
}


@quick
@given(style=st.sampled_from(sorted(TITLES)),
       rows=st.lists(st.tuples(st.integers(1, 99999), st.sampled_from(["D", "Ds", "S", "R+", "I<"]),
                               st.sampled_from(["io_schedule", "jbd2_log_wait_commit", "rpc_wait_bit_killable"]),
                               WORD), min_size=1, max_size=6))  # fmt: skip
def test_ps(style: str, rows: list[tuple[int, str, str, str]]) -> None:
    text = TITLES[style] + "\n"
    for pid, state, wchan, comm in rows:
        command = f"/usr/bin/{comm} --serve me"
        text += {
            "aux": f"root {pid} 1.5 0.1 100 2048 ? {state} Jan27 0:00 {command}\n",
            "el": f"4 {state[0]} 0 {pid} 1 0 80 0 - 100 {wchan} ? 00:00:00 {command}\n",
            "o": f"{pid} {state} {wchan} {command}\n",
            "o2": f"{pid} {state} {command} {wchan}\n",
        }[style]
    (part,) = taken_apart(text).parts
    assert part.format == "ps" and not part.parsed.rejects
    sleeping = [row for row in rows if row[1].startswith("D")]
    found = [
        row for row in part.parsed.tables.get("measurements", [])
        if row["metric"] == "uninterruptible_threads"
    ]  # fmt: skip
    assert sum(row["value"] for row in found) == len(sleeping)
    named = {row["subject"] for row in found}
    if style == "aux":
        assert named <= {"unknown"}
    else:
        wanted = {Sleeper(1, "x", (wchan,)).reason() for _, _, wchan, _ in sleeping}
        assert named == wanted
    assert all(comm in part.parsed.notes[0] for _, _, _, comm in sleeping[:5])


def test_ps_without_its_title() -> None:
    parsed = fixture("ps", "ps-wchan.txt")
    assert values(parsed, "cv_wait_common") == {"uninterruptible_threads": 1}
    assert values(parsed, "vfs_fsync_range") == {"uninterruptible_threads": 2}
    assert "nfsd (19513)" in parsed.notes[0]
    parsed = fixture("ps", "ps-aux-grep.txt")
    assert values(parsed, "unknown") == {"uninterruptible_threads": 1}
    assert any("wchan" in command for command in parsed.missing)


@quick
@given(iops=st.integers(1, 900), kib=st.integers(1, 900), mean=st.integers(1, 900), p99=st.integers(1, 900),
       unit=st.sampled_from([("nsec", 1), ("usec", 10**3), ("msec", 10**6)]), new=st.booleans(),
       syncs=st.integers(1, 900), busy=st.integers(0, 100))  # fmt: skip
def test_fios_text(
    iops: int,
    kib: int,
    mean: int,
    p99: int,
    unit: tuple[str, int],
    new: bool,
    syncs: int,
    busy: int,
) -> None:
    word, ns = unit
    text = (
        "db job: (g=0): rw=write, bs=4K, ioengine=sync, iodepth=1\nfio-3.33\nStarting 1 process\n"
    )
    text += "db job: (groupid=0, jobs=2): err= 0: pid=7: Mon Dec 16 12:34:15 2019\n"
    if new:
        text += f"  write: IOPS={iops}, BW={kib}KiB/s (1kB/s)(9.00MiB/5000msec); 0 zone resets\n"
    else:
        text += f"  write: io=9216KB, bw={kib}KB/s, iops={iops}, runt=  5000msec\n"
    text += f"    clat ({word}): min=1, max=999, avg={mean}.50, stdev= 3.47\n"
    text += f"     lat ({word}): min=1, max=999, avg={mean}.75, stdev= 3.47\n"
    text += f"    clat percentiles ({word}):\n     |  1.00th=[    1],  5.00th=[   1],\n"
    text += f"     | 99.00th=[ {p99}], 99.50th=[  734]\n"
    if new:
        text += "  fsync/fdatasync/sync_file_range:\n"
        text += f"    sync ({word}): min=1, max=999, avg={syncs}.50, stdev= 3.47\n"
        text += f"    sync percentiles ({word}):\n     | 99.00th=[ {p99}]\n"
    text += "  cpu          : usr=0.50%, sys=1.50%, ctx=100, majf=0, minf=12\n"
    text += "     issued rwts: total=0,456,0,455 short=0,0,0,0 dropped=0,0,0,0\n" if new else (
        "     issued    : total=r=0/w=456/d=0, short=r=0/w=0/d=0\n"
    )  # fmt: skip
    text += f"\nDisk stats (read/write):\n  sda: ios=0/9, merge=0/0, ticks=0/1, in_queue=1, util={busy}.00%\n"
    (part,) = taken_apart(text).parts
    assert part.format == "fio-text" and not part.parsed.rejects
    job = values(part.parsed, "db job")
    assert job["write_iops"] == iops and job["write_bytes_per_s"] == kib * 1024
    assert job["write_runtime_ns"] == 5e9 and job["write_count"] == 456
    assert job["write_clat_mean_ns"] == pytest.approx((mean + 0.5) * ns)
    assert job["write_lat_mean_ns"] == pytest.approx((mean + 0.75) * ns)
    assert job["write_clat_p99_ns"] == p99 * ns and job["cpu_kernel_share"] == 0.015
    assert values(part.parsed, "sda") == {"busy_share": busy / 100}
    if new:
        assert job["sync_lat_mean_ns"] == pytest.approx((syncs + 0.5) * ns)
        assert job["sync_count"] == 455 and job["sync_lat_p99_ns"] == p99 * ns


def test_fios_real_texts() -> None:
    job = values(fixture("fio-text", "fio-3.14-text.txt"), "test")
    assert job["write_clat_p99_ns"] == 603_000 and job["write_iops"] == 273
    job = values(fixture("fio-text", "fio-3.32-text.txt"), "test")
    assert job["read_lat_mean_ns"] == pytest.approx(6_852_750)
    assert job["read_bytes_per_s"] == pytest.approx(53.1 * 2**20)


@quick
@given(reports=st.lists(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=2), min_size=1, max_size=4),
       waits=st.booleans(), seconds=st.integers(1, 60))  # fmt: skip
def test_zpool_iostat(reports: list[list[tuple[int, int]]], waits: bool, seconds: int) -> None:
    extra = "  total_wait     disk_wait" if waits else ""
    text = ""
    for report in [reports[0], *reports]:
        text += f"              capacity     operations     bandwidth {extra}\n"
        text += (
            "pool        alloc   free   read  write   read  write"
            + "  read  write" * 2 * waits
            + "\n"
        )
        text += "----------  -----  -----  -----  -----  -----  -----\n"
        text += "tank        1.0T   2.0T    1  1  1  1" + " 1ms 1ms 1ms 1ms" * waits + "\n"
        text += "  mirror-0  1.0T   2.0T    1  1  1  1" + " 1ms 1ms 1ms 1ms" * waits + "\n"
        for name, (reads, written) in zip(("sda", "sdb"), report, strict=True):
            text += (
                f"    {name}  -  -  {reads}  2  4K  {written}" + " 9ms 9ms 3ms 500us" * waits + "\n"
            )
    parsed = read("zpool-iostat", text, f"zpool iostat -v {seconds}")
    assert not parsed.rejects
    for at, name in enumerate(("sda", "sdb")):
        found = intervals(parsed, "disk_samples", dev=(8 << 20) + 16 * at)
        assert len(found) == len(reports), name
        for one, report in zip(found, reports, strict=True):
            assert one.counters["reads"] == report[at][0] * seconds
            assert one.counters["written_bytes"] == report[at][1] * seconds
            if waits:
                assert one.counters["read_ns"] == pytest.approx(report[at][0] * seconds * 3e6)
    assert len(parsed.intervals) == 2 * len(reports)  # the pool and the mirror are sums of these


def test_real_zpool_iostats() -> None:
    parsed = fixture("zpool-iostat", "zpool-iostat-15.txt")
    first = parsed.intervals[0]
    assert first.interval_ns == 15 * 10**9 and first.counters["writes"] == 150
    for file in ("zpool-iostat-v.txt", "zpool-iostat-l.txt"):
        parsed = fixture("zpool-iostat", file)
        assert (
            not parsed.intervals
            and not parsed.rejects
            and "zpool iostat -vly 1 10" in parsed.missing
        )


@quick
@given(
    size=st.integers(1, 10**12), ms=st.integers(1, 10**6), comma=st.booleans(), bsd=st.booleans()
)
def test_dd(size: int, ms: int, comma: bool, bsd: bool) -> None:
    seconds = f"{ms // 1000}.{ms % 1000:03}9"
    line = f"{size} bytes (1.1 GB, 1.0 GiB) copied, {seconds} s, 430 MB/s"
    if bsd:
        line = f"{size} bytes transferred in {seconds} secs (429496729 bytes/sec)"
    elif comma:
        line = line.replace(".", ",")
    parsed = read("dd", f"10+0 records in\n10+0 records out\n{line}\n")
    run = values(parsed, "dd")
    assert run["elapsed_s"] == pytest.approx(ms / 1000 + 0.0009)
    assert run["bytes_per_s"] == pytest.approx(size / run["elapsed_s"])
    assert run["block_bytes"] == size / 10 and not parsed.rejects


def test_real_dd() -> None:
    run = values(fixture("dd", "dd-8.30-comma.txt"), "dd")
    assert run["block_bytes"] == 2**20 and run["elapsed_s"] == pytest.approx(11.1929)
    assert values(fixture("dd", "dd-8.31.txt"), "dd")["elapsed_s"] == pytest.approx(69.4666)


@quick
@given(rows=st.dictionaries(st.integers(1, 99999), st.tuples(COUNTS, st.integers(0, 9999)), max_size=5),
       swap=st.booleans())  # fmt: skip
def test_iotop(rows: dict[int, tuple[int, int]], swap: bool) -> None:
    text = "Total DISK READ :       0.00 B/s | Total DISK WRITE :      15.49 K/s\n"
    text += "Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      46.00 K/s\n"
    text += "    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n"
    for tid, (written, delay) in rows.items():
        text += f"{tid:>6} be/4 db  0.00 B/s  {written}.00 K/s " + "0.00 % " * swap
        text += f"{delay / 100:.2f} % /usr/bin/app --x\n"
    parsed = read("iotop", text)
    assert not parsed.rejects
    for tid, (written, delay) in rows.items():
        (one,) = intervals(parsed, "process_io", tgid=tid)
        assert one.counters["written_bytes"] == written * 1024
        assert values(parsed, f"app ({tid})")["io_delay_share"] == pytest.approx(delay / 10**4)
    assert values(parsed, "all")["actual_written_bytes_per_s"] == 46 * 1024


def test_real_iotop() -> None:
    parsed = fixture("iotop", "iotop-0.6.txt")
    assert values(parsed, "jbd2/dm-1-8 (1640)")["io_delay_share"] == pytest.approx(0.2597)


@pytest.mark.parametrize(
    ("file", "why"),
    [("dmesg-4.18-hung.txt", "journal_space"), ("dmesg-5.19-hung.txt", "journal_commit")],
)
def test_tasks_that_hang_are_named_by_their_stack(file: str, why: str) -> None:
    parsed = fixture("dmesg", file)
    assert values(parsed, why) == {"uninterruptible_threads": 1} and not parsed.rejects
    assert "longer than the kernel's limit" in parsed.notes[0]


@quick
@given(counts=st.lists(st.integers(0, 5), min_size=5, max_size=5),
       prefix=st.sampled_from(["", "[  12.345678] ", "[Mon Dec 16 12:34:15 2019] ", "Dec 16 12:34:15 db1 kernel: [ 3.5] "]))  # fmt: skip
def test_the_kernels_log(counts: list[int], prefix: str) -> None:
    messages = {
        ("sda", "io_errors"): "blk_update_request: I/O error, dev sda, sector 12345 op 0x0:(READ)",
        ("ata3", "link_resets"): "ata3: hard resetting link",
        ("nvme0", "command_timeouts"): "nvme nvme0: I/O 12 QID 3 timeout, aborting",
        (
            "dm-1",
            "filesystem_errors",
        ): "EXT4-fs error (device dm-1): ext4_find_entry:1455: inode #2",
        ("nas", "server_timeouts"): "nfs: server nas not responding, still trying",
    }
    text = "".join(
        f"{prefix}{line}\n" * count for line, count in zip(messages.values(), counts, strict=True)
    )
    parsed = read("dmesg", text)
    assert not parsed.rejects
    for (device, metric), count in zip(messages, counts, strict=True):
        assert values(parsed, device) == ({metric: count} if count else {})
    assert len(parsed.notes) == sum(count > 0 for count in counts)


@quick
@given(counts=st.lists(st.integers(0, 10**6), min_size=4, max_size=4), floats=st.booleans())
def test_etcds_histograms(counts: list[int], floats: bool) -> None:
    name, upto, text = "etcd_disk_wal_fsync_duration_seconds", 0, ""
    for bound, count in zip(("0.001", "0.002", "0.004", "+Inf"), counts, strict=True):
        upto += count
        text += f'{name}_bucket{{le="{bound}"}} {upto:e}\n' if floats and upto < 10**6 else (
            f'{name}_bucket{{le="{bound}"}} {upto}\n'
        )  # fmt: skip
    text += f"{name}_sum 12.5\n{name}_count {upto}\n"
    parsed = read("etcd", text)
    rows = parsed.tables.get("histograms", [])
    assert [row["count"] for row in rows] == [count for count in counts if count]
    assert {row["metric"] for row in rows} <= {"etcd_disk_wal_fsync_duration_ns"}
    if upto:
        assert values(parsed, name)["mean_ns"] == pytest.approx(12.5e9 / upto)


def test_real_metrics_of_etcd() -> None:
    parsed = fixture("etcd", "etcd-3.4-metrics.txt")
    assert any(tells(note, "99 %", "789,148", "8 ms") for note in parsed.notes)
    parsed = fixture("etcd", "etcd-wal.txt")
    assert values(parsed, "etcd_wal_fsync_durations_seconds")["p50_below_ns"] == 64e6


def test_htop_s_meters_and_rows() -> None:
    text = (Path(__file__).parent / "pastes" / "htop.txt").read_text()
    (part,) = taken_apart(text).parts
    assert part.format == "htop" and not part.parsed.rejects and part.parsed.host["cpus"] == 2
    assert values(part.parsed, "CPUs")["busy_share"] == pytest.approx(0.4765)
    assert values(part.parsed, "mysqld (4711)")["cpu_share"] == pytest.approx(0.123)
    assert part.parsed.tables["memory_samples"][0]["swap_free_bytes"] == 1536 * 2**20
