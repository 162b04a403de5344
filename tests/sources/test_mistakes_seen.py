"""What real pastes were read wrongly as, one test each: the wrong tool, or the wrong number."""

import json
from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.sources.numbers import number
from tests.numbers_told import tells
from tests.problems import wrong

from .reading import intervals, taken_apart, values

VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
"""
ROW = " 1  0      0 1000000  20000 500000    0    0     8    16  100  200 10  5 80  5  0\n"
HISTOGRAM = """\
     usecs               : count     distribution
         0 -> 1          : 10       |****                                    |
         2 -> 3          : 90       |****************************************|
"""


def test_one_line_of_vmstat_is_no_load_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(VMSTAT + ROW)
    found = diagnose([str(tmp_path / "in")], tmp_path / "out.iowhy")
    assert found.missing == ("vmstat 1 10",)
    assert not found.parts[0].parsed.intervals


def test_200_000_headers(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(VMSTAT * 100_000 + ROW * 3)
    found = diagnose([str(tmp_path / "in")], tmp_path / "out.iowhy")
    assert len(intervals(found.parts[0].parsed, "cpu_samples")) == 2


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("Tracing run queue latency... Hit Ctrl-C to end.\n^C\n" + HISTOGRAM, "run_queue_latency_ns"),
        ("Tracing ext4 operation latency... Hit Ctrl-C to end.\n^C\noperation = read\n" + HISTOGRAM,
         "filesystem_latency_ns read"),
        ('Tracing 1 functions for "vfs_read"... Hit Ctrl-C to end.\n^C\n' + HISTOGRAM,
         "function_latency_ns vfs_read"),
        ("Tracing block device I/O... Hit Ctrl-C to end.\n^C\n" + HISTOGRAM, "request_latency_ns"),
        (HISTOGRAM, "latency_ns"),
        ("$ sudo runqlat 10 1\n" + HISTOGRAM, "run_queue_latency_ns"),
        ("$ sudo biolatency-bpfcc 10 1\n" + HISTOGRAM, "request_latency_ns"),
    ],
)  # fmt: skip
def test_a_histogram_is_of_what_its_tool_traces(text: str, metric: str) -> None:
    (part,) = taken_apart(text).parts
    rows = part.parsed.tables["histograms"]
    assert {row["metric"] for row in rows} == {metric}
    assert [row["count"] for row in rows] == [10, 90]


def test_one_bogus_bucket_does_not_lose_a_histogram() -> None:
    bogus = "18014398509481984 -> 36028797018963967 : 1        |                    |\n"
    (part,) = taken_apart(
        "Tracing block device I/O... Hit Ctrl-C to end.\n" + HISTOGRAM + bogus
    ).parts
    assert [row["count"] for row in part.parsed.tables["histograms"]] == [10, 90]
    assert any("left out" in note for note in part.parsed.notes)


def test_solaris_iostat_is_not_freebsds() -> None:
    rows = ("    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n"
            "    0.0  120.0    0.0 2000.0  0.5  1.5    4.0   12.0   1  80 c0t0d0\n"
            "    0.0    0.0    0.0    0.0  0.0  0.0    0.0    0.0   0   0 c0t1d0\n")  # fmt: skip
    text = "                    extended device statistics              \n" + rows
    (part,) = taken_apart(text + text.replace("120.0", "100.0")).parts
    assert part.format == "solaris-iostat" and part.parsed.host["os"] == "Solaris"
    first, second = part.parsed.intervals
    assert (first.counters["writes"], second.counters["writes"]) == (100, 0)
    assert first.counters["busy_ns"] == pytest.approx(0.8e9)
    assert first.counters["queue_ns"] == pytest.approx(2.0e9)
    assert first.counters["write_ns"] == pytest.approx(100 * 16e6)


def test_mpstat_json_is_not_iostats() -> None:
    load = {"cpu": "all", "usr": 10, "nice": 0, "sys": 5, "iowait": 25, "idle": 60}
    host = {"nodename": "h", "number-of-cpus": 4, "date": "2024-03-04"}
    stamps = [{"timestamp": f"10:00:0{at}", "cpu-load": [load]} for at in (1, 3, 5)]
    text = json.dumps({"sysstat": {"hosts": [host | {"statistics": stamps}]}}, indent=1)
    (part,) = taken_apart(text).parts
    assert part.format == "mpstat-json"
    assert [one.interval_ns for one in part.parsed.intervals] == [2 * 10**9] * 3
    assert part.parsed.intervals[0].counters["iowait_ns"] == pytest.approx(0.25 * 2e9)


@pytest.mark.parametrize("banner", [
    "Linux 5.4.0-42-generic \t01/02/2023 \t_x86_64_\t(4 CPU)",
    "Linux 5.4.0-42-generic () \t01/02/2023 \t_x86_64_\t(4 CPU)",
    "Linux 2.6.18-194.el5 (db1) \t01/02/2010",
])  # fmt: skip
def test_the_report_below_any_banner_is_since_boot(banner: str) -> None:
    report = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 9.9 1.0 2.0 3 4\n"
    (part,) = taken_apart(f"{banner}\n\n{report}").parts
    assert part.format == "iostat" and not part.parsed.intervals
    assert values(part.parsed, "sda") == {
        "since_boot_operations_per_s": 9.9,
        "since_boot_read_bytes_per_s": 1024.0,
        "since_boot_written_bytes_per_s": 2048.0,
    }


def test_negative_and_impossible_numbers_are_left_out() -> None:
    head = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    rows = ["sda 10 10 40 40 1 1 1 50", "sda -10 10 40 40 1 1 1 50", "sda 10 10 40 40 1 1 1 900",
            "sda 10 10 40 40 1 1 1 101.2"]  # fmt: skip
    (part,) = taken_apart("".join(f"{head}{row}\n\n" for row in rows)).parts
    found = intervals(part.parsed, "disk_samples")
    assert [one.counters["busy_ns"] for one in found] == [0.5e9, 1e9]
    assert any(tells(note, "2 rows", "iostat") for note in part.parsed.notes)
    text = VMSTAT + ROW + ROW.replace("80  5  0", "900 5 0")
    (part,) = taken_apart(text).parts
    assert not intervals(part.parsed, "cpu_samples")


@pytest.mark.parametrize(
    ("others", "tps"),
    [("12,5 0,3", 1.234), ("12.5 0.3", 1234.0), ("1,234,567 3", 1234.0), ("12 3", None)],
)
def test_a_comma_is_what_the_rest_of_the_text_says(others: str, tps: float | None) -> None:
    text = f"Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 1,234 {others} 5 6\n"
    (part,) = taken_apart(text).parts
    assert values(part.parsed, "sda").get("operations_per_s") == tps
    assert any("1,234" in note for note in part.parsed.notes) == (tps is None)
    assert number("1,234") is None and number("1,23") == 1.23


def test_a_clock_before_vmstats_columns() -> None:
    head = "procs -----------memory---------- ---swap-- -----io---- --system-- -----cpu-----\n"
    head += (
        "--time-- r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    )
    text = head + "".join(f"10:00:{at:02} {ROW.strip()}\n" for at in (0, 5, 10))
    (part,) = taken_apart(text).parts
    found = intervals(part.parsed, "cpu_samples")
    assert [one.interval_ns for one in found] == [5 * 10**9] * 2 and not part.parsed.rejects


def test_pidstats_averages_alone() -> None:
    text = ("Average:      UID       PID    %usr %system  %guest    %CPU   CPU  Command\n"
            "Average:     1000      4711   40.00   10.00    0.00   50.00     -  app\n")  # fmt: skip
    (part,) = taken_apart(text).parts
    assert part.format == "pidstat"
    assert values(part.parsed, "app (4711)") == {"cpu_share": 0.5}
    assert any("averages" in note for note in part.parsed.notes)


def test_perf_traces_total_of_all_threads() -> None:
    text = ("\n Summary of events:\n\n total, 1200 events\n\n"
            "   syscall            calls  errors  total       min       avg       max       stddev\n"
            "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
            "   --------------- --------  ------ -------- --------- --------- ---------     ------\n"
            "   fsync                100      0   900.000     1.000     9.000    20.000      3.00%\n")  # fmt: skip
    (part,) = taken_apart(text).parts
    (row,) = part.parsed.tables["syscall_totals"]
    assert (row["name"], row["calls"], row["total_ns"]) == ("fsync", 100, 900_000_000)
    assert not part.parsed.rejects


@pytest.mark.parametrize("text", [
    "              gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar\n"
    "Speicher:   16264064     4000000     2000000      300000    10264064    11000000\n"
    "Auslager:    2097148           0     2097148\n",
    "              总计         已用        空闲      共享    缓冲/缓存    可用\n"
    "内存：  16264064     4000000     2000000      300000    10264064    11000000\n"
    "交换：   2097148           0     2097148\n",
])  # fmt: skip
def test_free_in_other_languages(text: str) -> None:
    (part,) = taken_apart(text).parts
    (row,) = part.parsed.tables["memory_samples"]
    assert part.format == "free" and not part.parsed.rejects
    assert (row["total_bytes"], row["free_bytes"]) == (16264064 * 1024, 2000000 * 1024)
    assert (row["available_bytes"], row["swap_free_bytes"]) == (11000000 * 1024, 2097148 * 1024)


def test_biosnoop_through_grep() -> None:
    text = ("0.000004001    supervise      1950   xvda   W 13092560   4096    0.74\n"
            "0.000178002    java worker    1951   xvda   R 13092432   4096    0.61\n")  # fmt: skip
    (part,) = taken_apart(text).parts
    assert part.format == "biosnoop"
    assert [row["op"] for row in part.parsed.tables["block_requests"]] == ["write", "read"]


def test_aix_configuration_that_is_indented() -> None:
    text = ("  System configuration: lcpu=4 mem=8192MB\n\nkthr    memory              page              faults        cpu\n"
            " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa\n" + " 1  1 5 9 0 7 8 0 0 0 1 2 3 10 20 60 10\n" * 2)  # fmt: skip
    (part,) = taken_apart(text).parts
    assert part.format == "aix-vmstat" and part.parsed.host["cpus"] == 4 and not part.parsed.rejects


def test_a_tool_that_is_known_but_not_read_is_named(tmp_path: Path) -> None:
    text = "NAME CPU(cores) MEMORY(bytes)\n"
    (tmp_path / "in").write_text(text)
    with wrong("log-known-unread", where=tmp_path / "in") as said:
        diagnose([str(tmp_path / "in")], tmp_path / "out.iowhy")
    assert str(said.value.sentence.values["known"]).startswith("kubectl top ")
    (tmp_path / "in").write_text(text + VMSTAT + ROW * 3)
    found = diagnose([str(tmp_path / "in")], tmp_path / "out.iowhy")
    assert any("kubectl top is recognised" in note for note in found.recording.manifest.notes)
    assert "iostat -x 1 10" in found.missing
