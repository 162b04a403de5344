"""What counts of texts that tell of more: one process (`--pid`), one of two tellings of the same calls."""

from pathlib import Path

from iowhy.sources.diagnose import diagnose
from tests.numbers_told import tells
from tests.problems import wrong
from tests.sources.test_trace_events import generated

STRACE = """\
100 1000.000000 clone(child_stack=NULL, flags=SIGCHLD) = 200 <0.000100>
200 1000.001000 fsync(3) = 0 <0.500000>
300 1000.002000 write(4, "x", 1) = 1 <0.000200>
200 1000.600000 pwrite64(3, "x", 4096, 0) = 4096 <0.000300>
100 1000.700000 fsync(5) = 0 <0.100000>
300 1000.800000 fsync(4) = 0 <0.900000>
"""


def rows(path: Path, sql: str, tmp_path: Path, *pids: int) -> list[tuple[object, ...]]:
    found = diagnose([str(path)], tmp_path / f"{len(list(tmp_path.iterdir()))}.iowhy", pids=pids)
    return found.recording.connection().execute(sql).fetchall()


def test_a_trace_of_a_machine(tmp_path: Path) -> None:
    lines = generated(6, "ftrace")
    trace = tmp_path / "trace.txt"
    trace.write_text("\n".join(lines) + "\n")
    everybody = "SELECT DISTINCT tgid FROM thread_time ORDER BY 1"
    all_of_them = [pid for (pid,) in rows(trace, everybody, tmp_path)]
    assert len(all_of_them) > 10
    assert rows(trace, everybody, tmp_path, 105) == [(105,)]
    sums = """SELECT count(*), sum(interval_ns) FROM thread_time WHERE tgid = 105 UNION ALL
        SELECT count(*), sum(dur_ns) FROM waits WHERE tgid = 105 UNION ALL
        SELECT count(*), sum(dur_ns) FROM syscalls WHERE tgid = 105"""
    assert rows(trace, sums, tmp_path, 105) == rows(trace, sums, tmp_path)
    scopes = "SELECT DISTINCT tid, in_scope FROM block_requests WHERE tid IN (105, 106) ORDER BY 1"
    assert rows(trace, scopes, tmp_path, 105) == [(105, True), (106, False)]


def test_the_busiest_processes_are_named(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("\n".join(generated(6, "perf")) + "\n")
    (note,) = [
        note
        for note in diagnose([str(trace)], tmp_path / "x.iowhy").recording.manifest.notes
        if "--pid" in note
    ]
    assert tells(note, "20 processes") and "app 1" in note


def test_a_process_and_what_it_forks(tmp_path: Path) -> None:
    log = tmp_path / "strace.txt"
    log.write_text(STRACE)
    calls = "SELECT tid, name FROM syscalls WHERE name = 'fsync' ORDER BY ts_ns"
    assert rows(log, calls, tmp_path, 100) == [(200, "fsync"), (100, "fsync")]
    assert rows(log, calls, tmp_path, 300) == [(300, "fsync")]
    totals = "SELECT DISTINCT tgid FROM syscall_totals ORDER BY 1"
    assert rows(log, totals, tmp_path, 200, 300) == [(200,), (300,)]


def test_a_process_that_is_not_there(tmp_path: Path) -> None:
    log = tmp_path / "strace.txt"
    log.write_text(STRACE)
    with wrong("pid-not-in-inputs", asked=7) as found:
        diagnose([str(log)], tmp_path / "x.iowhy", pids=[7])
    assert "(300)" in str(found.value.sentence.values["some"])
    log.write_text("      total  used  free\nMem:  8000000  4000000  4000000\n")
    with wrong("inputs-without-processes"):
        diagnose([str(log)], tmp_path / "x.iowhy", pids=[7])


def test_a_log_and_the_table_of_the_same_calls_are_not_added(tmp_path: Path) -> None:
    log, table = tmp_path / "strace.txt", tmp_path / "table.txt"
    log.write_text(STRACE)
    head = "% time     seconds  usecs/call     calls    errors syscall\n"
    rule = "------ ----------- ----------- --------- --------- ----------------\n"
    for seconds, calls, fsyncs in ((0.5, 2, 3), (9.0, 40, 40)):
        row = f"100.00 {seconds:11.6f} {1000:11} {calls:9} {'':9} fsync\n"
        table.write_text(head + rule + row + rule + row.replace("fsync", "total"))
        out = tmp_path / f"{calls}.iowhy"
        recording = diagnose([str(log), str(table)], out).recording
        counted = recording.connection().execute(
            "SELECT sum(calls) FROM syscall_totals WHERE name = 'fsync'"
        )
        assert counted.fetchone() == (fsyncs,)
        assert any("has the same calls" in note for note in recording.manifest.notes)
