"""mpstat, pidstat, sar and sadf."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, intervals, quick, read, values

BANNER = "Linux 6.1.0 (host) \t{date} \t_x86_64_\t(2 CPU)\n\n"


def test_mpstat_has_each_cpu_and_all() -> None:
    parsed = fixture("mpstat", "mpstat-12-all.txt")
    assert {one.key["cpu"] for one in parsed.intervals} == {-1, 0, 1}
    assert len(intervals(parsed, "cpu_samples", cpu=1)) == 3
    for one in parsed.intervals:
        assert sum(one.counters.values()) == pytest.approx(one.interval_ns, rel=2e-3)
    assert parsed.rejects == []


def test_midnight_and_the_12_hour_clock() -> None:
    head = "{}     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    row = "{}     all   10.00    0.00    5.00    1.00    0.00    0.00    0.00    0.00    0.00   84.00\n"
    text = BANNER.format(date="03/04/2024") + head.format("11:59:58 PM") + row.format("11:59:59 PM")
    text += row.format("12:00:00 AM") + row.format("12:00:01 AM")
    parsed = read("mpstat", text)
    assert [one.interval_ns for one in parsed.intervals] == [10**9] * 3
    starts = [one.start_ns for one in parsed.intervals]
    assert starts == [starts[0], starts[0] + 10**9, starts[0] + 2 * 10**9]


def test_pidstat_disk_and_cpu() -> None:
    parsed = fixture("pidstat", "pidstat-12-d-u.txt")
    bash = intervals(parsed, "process_io", tgid=1354)
    assert len(bash) == 1
    assert bash[0].counters["written_bytes"] == 819240 * 1024
    # A process of two threads may use more than one CPU.
    assert values(parsed, "java (32349)")["cpu_share"] == pytest.approx(0.97)


def test_pidstat_threads_go_to_thread_time() -> None:
    parsed = fixture("pidstat", "pidstat-12-threads.txt")
    rows = parsed.tables["thread_time"]
    assert rows
    assert all(row["tid"] and row["cpu_user_ns"] is not None for row in rows)
    assert all(row["cpu_user_ns"] <= row["interval_ns"] for row in rows)


def test_pidstat_in_one_line_per_process() -> None:
    parsed = fixture("pidstat", "pidstat-12-h.txt")
    assert parsed.rejects == []
    assert any(row["metric"] == "resident_bytes" for row in parsed.tables["measurements"])
    assert intervals(parsed, "process_io")


def test_pidstat_that_may_not_see_io() -> None:
    text = BANNER.format(date="2024-03-04") + (
        "10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
        "10:00:01     1000      4711     -1.00     -1.00     -1.00       3  my program\n"
    )
    parsed = read("pidstat", text)
    assert intervals(parsed, "process_io") == []
    assert values(parsed, "my program (4711)") == {"io_delay_share": pytest.approx(0.03)}


def test_sar_joins_its_tables() -> None:
    parsed = fixture("sar", "sar-12.txt")
    (first, *_) = vm = intervals(parsed, "vm_samples")
    assert len(vm) == 3
    assert {"context_switches", "page_in_bytes", "swap_in_pages"} <= first.counters.keys()
    assert "procs_blocked" in first.levels
    assert len(parsed.tables["memory_samples"]) == 3
    assert parsed.rejects == []
    assert {"busy_share", "wait_mean_ns", "read_bytes_per_s"} <= values(parsed, "vda").keys()


def test_sar_over_a_restart() -> None:
    text = BANNER.format(date="2024-03-04") + (
        "10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        "10:10:00        all      5.00      0.00      1.00      2.00      0.00     92.00\n"
        "\n10:13:20     LINUX RESTART\t(2 CPU)\n\n"
        "10:20:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        "10:30:00        all     50.00      0.00      1.00      2.00      0.00     47.00\n"
        "Average:        all     27.50      0.00      1.00      2.00      0.00     69.50\n"
    )
    parsed = read("sar", text)
    assert [one.interval_ns // 10**9 for one in parsed.intervals] == [600, 600]
    assert len(parsed.notes) == 1


def test_sar_pressure() -> None:
    text = BANNER.format(date="2024-03-04") + (
        "10:00:00    %sio-10   %sio-60  %sio-300      %sio   %fio-10   %fio-60  %fio-300      %fio\n"
        "10:00:10      20.00     10.00      5.00     25.00     10.00      5.00      2.00     12.50\n"
    )
    parsed = read("sar", text)
    some = intervals(parsed, "pressure_samples", kind="some")
    assert some[0].counters["total_ns"] == pytest.approx(2.5e9)


def test_sadf_json() -> None:
    parsed = fixture("sadf", "sadf-12.json")
    assert parsed.clock == "wall"
    assert len(intervals(parsed, "cpu_samples")) == 2
    assert parsed.host["cpus"] == 2
    assert "busy_share" in values(parsed, "vda")


SHARES = st.tuples(*[st.integers(0, 2000) for _ in range(5)])


@quick
@given(rows=st.lists(SHARES, min_size=1, max_size=8), seconds=st.sampled_from([1, 5, 600]),
       tool=st.sampled_from(["mpstat", "sar"]))  # fmt: skip
def test_what_is_written_is_read_back(rows: list[tuple[int, ...]], seconds: int, tool: str) -> None:
    usual = "CPU %user %nice %system %iowait %steal %idle"
    other = "CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle"
    text = BANNER.format(date="2024-03-04") + f"00:00:00 {usual if tool == 'sar' else other}\n"
    for at, (user, nice, system, iowait, steal) in enumerate(rows, 1):
        when = at * seconds
        clock = f"{when // 3600:02}:{when // 60 % 60:02}:{when % 60:02}"
        used = [user, nice, system, iowait, *([steal] if tool == "sar" else [0, 0, steal, 0, 0])]
        cells = [value / 100 for value in (*used, 10000 - sum(used))]
        text += f"{clock} all " + " ".join(f"{cell:.2f}" for cell in cells) + "\n"
    parsed = read(tool, text)
    assert len(parsed.intervals) == len(rows)
    for one, (user, nice, _, iowait, steal) in zip(parsed.intervals, rows, strict=True):
        assert one.interval_ns == seconds * 10**9
        part = one.interval_ns / 10000
        assert one.counters["user_ns"] == pytest.approx((user + nice) * part)
        assert one.counters["iowait_ns"] == pytest.approx(iowait * part)
        assert one.counters["steal_ns"] == pytest.approx(steal * part)
        assert sum(one.counters.values()) == pytest.approx(one.interval_ns)
