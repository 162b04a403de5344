"""perf trace, bpftrace, ext4slower and offcputime."""

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from tests.sources.trace_reading import fixture, query, read_text, rows

# make.sh: dd writes 8 times 16 KiB and 8 times 4 KiB and reads 12 times 8 KiB.
DATA = "SELECT bytes, count(*) FROM syscalls WHERE name = '{}' AND ret = bytes AND bytes IN (4096, 8192, 16384) GROUP BY 1 ORDER BY 1"


def test_perf_trace() -> None:
    for name, clock in (("perf-trace.txt", "own"), ("perf-trace-T.txt", "boot")):
        parsed = fixture("perf_trace", name)
        assert parsed.rejects == [] and parsed.clock == clock, name
        assert query(parsed, DATA.format("write")) == [(4096, 8), (8192, 12), (16384, 8)], name
        comms = query(parsed, "SELECT comm, count(*) FROM threads GROUP BY 1 ORDER BY 1")
        assert comms == [("dd", 4), ("sh", 1)]
    named = query(
        fixture("perf_trace", "perf-trace.txt"),
        "SELECT count(DISTINCT ino) FROM syscalls WHERE name = 'write' AND dev IS NOT NULL",
    )
    assert named[0][0] >= 2


def test_perf_trace_halves_and_errors() -> None:
    text = (
        "     1.000 (         ): db/7 pwrite64(fd: 5</data/db>, buf: 0x7f, count: 4096, pos: 8192) ...\n"
        "     1.500 ( 0.010 ms): db/8 fsync(fd: 6</data/log>)   = -1 EIO (Input/output error)\n"
        "     1.000 ( 9.500 ms): db/7  ... [continued]: pwrite64())  = 4096\n"
        "     2.000 ( 0.001 ms): db/8 read(buf: 0x7f, count: 10)  = 0\n"
    )
    parsed = read_text("perf_trace", text)
    found = [
        (r["name"], r["fd"], r["bytes"], r["offset"], r["ret"], r["dur_ns"])
        for r in rows(parsed, "syscalls")
    ]
    assert found == [
        ("pwrite64", 5, 4096, 8192, 4096, 9_500_000),
        ("fsync", 6, None, None, -5, 10_000),
        ("read", 0, 10, None, 0, 1000),
    ]


def test_perf_trace_summary() -> None:
    parsed = fixture("perf_trace_summary", "perf-trace-s.txt")
    assert parsed.rejects == []
    assert query(parsed, "SELECT sum(calls) FROM syscall_totals WHERE name = 'write'") == [(41,)]
    assert query(parsed, "SELECT count(DISTINCT tid) FROM syscall_totals") == [(5,)]
    old = (
        " Summary of events:\n\n dd (25), 106 events, 99.1%\n\n"
        "   syscall            calls    total       min       avg       max      stddev\n"
        "                               (msec)    (msec)    (msec)    (msec)        (%)\n"
        "   --------------- -------- --------- --------- --------- ---------     ------\n"
        "   write                 30    12.500     0.100     0.400     2.000      3.10%\n"
    )
    (row,) = rows(read_text("perf_trace_summary", old), "syscall_totals")
    assert (row["calls"], row["total_ns"], row["max_ns"]) == (30, 12_500_000, 2_000_000)


def test_bpftrace() -> None:
    parsed = fixture("bpftrace", "bpftrace.txt")
    assert parsed.rejects == []
    times = query(
        parsed,
        "SELECT min(low), max(high), sum(count) > 0 FROM histograms WHERE metric = 'latency_ns'",
    )
    assert times[0][0] % 1000 == 0 and times[0][2]
    assert query(parsed, "SELECT count(*) FROM histograms WHERE comm = 'dd'")[0][0] > 0
    assert query(parsed, "SELECT value FROM measurements WHERE subject = 'calls[dd]'") == [(41.0,)]


BUCKET = st.integers(0, 10**12)


@costly(10)
@given(st.lists(BUCKET, min_size=1, max_size=30), st.text("abc xyz/:-", min_size=1, max_size=15))
def test_bpftrace_histograms_are_read_back(counts: list[int], key: str) -> None:
    def label(number: int) -> str:
        for power, letter in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
            if number >= 1 << power:
                return f"{number >> power}{letter}"
        return str(number)

    lines, expected = [f"@usecs[{key}]: "], []
    for at, count in enumerate(counts):
        low, high = (0, 1) if at == 0 else (1 << at - 1, 1 << at)
        bucket = f"[{low}]" if high - low == 1 else f"[{label(low)}, {label(high)})"
        lines.append(f"{bucket:<16s} {count:8d} |{'@' * (at % 5):<52s}|")
        expected.append((low * 1000, high * 1000, count))
    parsed = read_text("bpftrace", "\n".join(lines))
    found = [(r["low"], r["high"], r["count"]) for r in rows(parsed, "histograms", "low")]
    assert found == expected and parsed.rejects == []


def test_ext4slower_and_fileslower() -> None:
    text = (
        "Tracing ext4 operations\n"
        "TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n"
        "06:35:01 cron job       16464  R 1249    4          16.05 common-auth\n"
        "06:35:03 postgres       16463  S 0       0          25.50 wal file\n"
    )
    parsed = read_text("ext4slower", text)
    assert parsed.rejects == []
    read, sync = rows(parsed, "syscalls")
    assert (read["name"], read["bytes"], read["offset"], read["dur_ns"]) == (
        "read",
        1249,
        4096,
        16_050_000,
    )
    assert (sync["name"], sync["bytes"], sync["dur_ns"]) == ("fsync", None, 25_500_000)
    assert read["ino"] != sync["ino"]
    old = "TIME(s)  COMM           TID    D BYTES   LAT(ms) FILENAME\n0.500    randread.pl    4762   R 8192       12.70 data1\n"
    (row,) = rows(read_text("ext4slower", "Tracing VFS operations\n" + old), "syscalls")
    assert (row["tid"], row["bytes"], row["dur_ns"]) == (4762, 8192, 12_700_000)
    # Above a threshold they are a part of an unknown whole: no rows of calls.
    parsed = read_text("ext4slower", text.replace("operations", "operations slower than 10 ms"))
    assert "syscalls" not in parsed.tables and parsed.partial is not None
    found = {(row["subject"], row["metric"]): row["value"] for row in parsed.tables["measurements"]}
    assert found["fsync", "slow_max_ns"] == 25_500_000 and found["read", "slow_calls"] == 1


def test_offcputime() -> None:
    text = (
        "dd;[unknown];write;vfs_write;ext4_sync_file;io_schedule;schedule;finish_task_switch 91234\n"
        "dd;[unknown];write;vfs_write;ext4_sync_file;io_schedule;schedule;finish_task_switch 1000\n"
        "java;-;start_thread;futex_wait;schedule;finish_task_switch 5\n"
        "nonsense\n"
    )
    parsed = read_text("offcputime", text)
    assert [n for n, _ in parsed.rejects] == [4]
    assert len(rows(parsed, "stacks", "stack_id")) == 2
    assert rows(parsed, "stacks", "stack_id")[0]["frames"][0] == "finish_task_switch"
    assert query(parsed, "SELECT sum(value) FROM measurements") == [(92_239_000.0,)]
