"""vmstat of Linux and of FreeBSD."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, intervals, quick, read, values


def test_megabytes_with_dates() -> None:
    parsed = fixture("vmstat", "vmstat-4-t-megabytes.txt", "vmstat -S M -t 1 3")
    rows = parsed.tables["memory_samples"].rows()
    assert parsed.clock == "wall"
    assert len(rows) == 2
    assert rows[0]["free_bytes"] % 2**20 == 0
    assert rows[0]["free_bytes"] > 2**30
    assert rows[1]["ts_ns"] - rows[0]["ts_ns"] == 10**9


def test_wide_with_active_memory() -> None:
    parsed = fixture("vmstat", "vmstat-4-wide-active.txt")
    assert parsed.rejects == []
    assert len(intervals(parsed, "vm_samples")) == 2
    assert "cached_bytes" not in parsed.tables["memory_samples"].columns


def test_case_2_first_line_is_no_load() -> None:
    parsed = fixture("freebsd-vmstat", "build-j1.freebsd-vmstat.txt", "vmstat 5")
    cpu = intervals(parsed, "cpu_samples")
    assert len(cpu) == 9
    idle = [one.counters["idle_ns"] / one.interval_ns for one in cpu]
    assert max(idle) < 0.54
    assert cpu[0].interval_ns == 5 * 10**9
    levels = [one.levels for one in intervals(parsed, "vm_samples")]
    assert [level["procs_running"] for level in levels] == [2, 2, 0, 2, 0, 2, 1, 0, 1]
    assert any("unknown, not 0" in note for note in parsed.notes)


def test_case_2_each_disk_is_seen() -> None:
    parsed = fixture("freebsd-vmstat", "build-scsi.freebsd-vmstat.txt")
    rows = parsed.tables["measurements"]
    da0 = [row["value"] for row in rows if row["subject"] == "da0"]
    ad4 = [row["value"] for row in rows if row["subject"] == "ad4"]
    assert da0 == [23, 30, 65, 16, 15]
    assert ad4 == [1, 3, 14, 1, 0]


def test_case_2_blocked_processes() -> None:
    parsed = fixture("freebsd-vmstat", "build-j2.freebsd-vmstat.txt")
    blocked = [one.levels["procs_blocked"] for one in intervals(parsed, "vm_samples")]
    assert min(level for level in blocked if level is not None) > 0


def test_two_columns_of_one_name() -> None:
    """FreeBSD's `sy` stands for system calls and for system time."""
    parsed = fixture("freebsd-vmstat", "build-j1.freebsd-vmstat.txt")
    first = intervals(parsed, "cpu_samples")[0]
    assert first.counters["system_ns"] == pytest.approx(0.16e9)


def test_human_memory_of_newer_freebsd() -> None:
    text = (
        "procs  memory       page                    disks     faults         cpu\n"
        "r b w  avm   fre   flt  re  pi  po    fr   sr ada0 cd0   in    sy    cs us sy id\n"
        "0 0 0 514M  1.4G   141   0   0   0   137    3   0   0   12   131   230  0  0 100\n"
        "1 0 0 514M  1.4G   141   0   0   0   137    3   9   0   12   131   230  7  3 90\n"
    )
    parsed = read("freebsd-vmstat", text)
    assert parsed.tables["memory_samples"][0]["free_bytes"] == round(1.4 * 2**30)
    assert values(parsed, "ada0") == {"operations_per_s": 9}


def test_header_again_and_a_cut_line() -> None:
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    )
    row = " 1  2      0   1000     10    500    0    0     8    16  100  200 10  5 80  5  0\n"
    parsed = read("vmstat", head + row + row + head + row + row[:30])
    # The header that comes again does not make its next line one since boot.
    assert len(intervals(parsed, "vm_samples")) == 2
    assert [number for number, _ in parsed.rejects] == [8]
    one = intervals(parsed, "vm_samples")[0]
    assert one.counters["page_in_bytes"] == 8 * 1024
    assert one.levels == {"procs_running": 1, "procs_blocked": 2}


@quick
@given(
    rows=st.lists(
        st.tuples(*[st.integers(0, 10**6) for _ in range(12)], *[st.integers(0, 100)] * 5),
        min_size=1,
        max_size=6,
    ),
    unit=st.sampled_from([("k", 1000), ("K", 1024), ("m", 10**6), ("M", 2**20)]),
    seconds=st.integers(1, 60),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read_back(
    rows: list[tuple[int, ...]], unit: tuple[str, int], seconds: int, ending: str
) -> None:
    head = ["procs ---memory--- ---swap-- ---io--- -system- ---cpu---",
            " r  b  swpd free buff cache si so bi bo in cs us sy id wa st"]  # fmt: skip
    text = ending.join([*head, *(" ".join(map(str, row)) for row in [rows[0], *rows])]) + ending
    parsed = read("vmstat", text, f"vmstat -S {unit[0]} {seconds}")
    memory = parsed.tables["memory_samples"].rows()
    assert [row["free_bytes"] for row in memory] == [row[3] * unit[1] for row in rows]
    for one, row in zip(intervals(parsed, "vm_samples"), rows, strict=True):
        assert one.interval_ns == seconds * 10**9
        assert one.counters["context_switches"] == row[11] * seconds
        assert one.counters["page_out_bytes"] == row[9] * 1024 * seconds
        assert one.levels["procs_blocked"] == row[1]
    assert parsed.rejects == []
