"""Logs from anybody: NULs, half lines, lines without end, many lines, names that look like paths."""

import importlib
import random
import resource
from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.sources.names import Names
from tests.problems import wrong
from tests.sources.trace_reading import FIXTURES, query, read_file, rows

STREAMED = {
    "strace": "strace-f-ttt-T-y.txt",
    "perf_script": "perf-script.txt",
    "ftrace": "ftrace.txt",
    "perf_trace": "perf-trace.txt",
}


def damage(data: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(len(lines) // 6):
        at = rng.randrange(len(lines))
        line = lines[at]
        lines[at] = rng.choice(
            [
                line[: rng.randrange(len(line) + 1)],
                line.replace(b" ", b"\0", 3),
                line.replace(b"1", b"9" * rng.choice([2, 25, 400]), 2),
                line[::-1],
                b"\xff\xfe" + line,
                line.replace(b"(", b"[").replace(b"<", b""),
                line + b"'; DROP TABLE events; --",
                lines[rng.randrange(len(lines))],
            ]
        )
    return b"\n".join(lines)[: rng.randrange(len(data) // 2, len(data))]


@pytest.mark.parametrize("module", STREAMED)
def test_damaged_logs_are_read_as_far_as_they_go(module: str, tmp_path: Path) -> None:
    form = importlib.import_module(f"iowhy.sources.formats.{module}")
    data = (FIXTURES / STREAMED[module]).read_bytes()
    for seed in range(3):
        path = tmp_path / f"{seed}.txt"
        path.write_bytes(damage(data, seed))
        parsed = form.stream(path, Names(), lambda _done, _total: None)
        for table in parsed.tables:
            query(parsed, f"SELECT * FROM {table}")
        assert parsed.rejects or parsed.rejects_dropped or parsed.lines_understood


@pytest.mark.parametrize("module", STREAMED)
def test_a_line_without_end_costs_no_memory(module: str, tmp_path: Path) -> None:
    data = (FIXTURES / STREAMED[module]).read_bytes()
    path, short = tmp_path / "long.txt", tmp_path / "short.txt"
    short.write_bytes(data)
    read_file(module, short)  # what is imported and made once is no price of the line
    with path.open("wb") as file:
        file.write(data)
        for _ in range(200):
            file.write(b"(<x [" * (1 << 18))
        file.write(b"\n" + data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parsed = read_file(module, path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert parsed.lines_understood >= 2 * data.count(b"\n") - 20
    assert grown < 64 << 10, f"{grown >> 10} MiB for a line of 250 MiB"


def test_many_lines_that_are_nothing(tmp_path: Path) -> None:
    """Lines that are no calls end in one message, rejected lines are counted and not kept."""
    log = (FIXTURES / "strace-f-ttt-T-y.txt").read_bytes()
    path = tmp_path / "many.txt"
    with path.open("wb") as file:
        file.write(log)
        for _ in range(40):
            file.write(b"not a call at all\n" * 50_000)
    parsed = read_file("strace", path)
    assert len(parsed.rejects) == 1000 and parsed.rejects_dropped == 2_000_000 - 1000
    path.write_bytes(b"x\n" * 10_000_000)
    with wrong("log-too-large", path=path):
        diagnose([str(path)], tmp_path / "out.iowhy")


def test_names_are_only_names(tmp_path: Path) -> None:
    text = (
        '1 1700000000.1 openat(AT_FDCWD, "../../../../etc/passwd; rm -rf $(x)", O_RDONLY) = 3 <0.1>\n'
        '1 1700000000.2 read(3</proc/self/../../x\' OR 1=1 --\\n\\377>, "", 5) = 5 <0.1>\n'
    )
    path = tmp_path / "$(touch x).txt"
    path.write_text(text)
    recording = diagnose([str(path)], tmp_path / "out.iowhy").recording
    paths = [
        r[0]
        for r in recording.connection().execute("SELECT path FROM files ORDER BY ino").fetchall()
    ]
    assert paths == ["../../../../etc/passwd; rm -rf $(x)", "/proc/self/../../x' OR 1=1 --\n\\xFF"]


def test_numbers_that_do_not_fit(tmp_path: Path) -> None:
    big = "9" * 40
    text = (
        f'1 1700000000.1 read(3, "", {big}) = {big} <0.1>\n'
        f'{big} 1700000000.2 read(3, "", 5) = 5 <0.1>\n'
        f'1 {big}.2 read(3, "", 5) = 5 <0.1>\n'
        '1 1700000000.3 read(3, "", 5) = 5 <0.1>\n'
    )
    path = tmp_path / "big.txt"
    path.write_text(text)
    form = importlib.import_module("iowhy.sources.formats.strace")
    parsed = form.stream(path, Names(), lambda _done, _total: None)
    assert len(rows(parsed, "syscalls")) >= 1 and len(parsed.rejects) >= 2


def test_a_time_that_is_years_away_makes_no_row_for_each_second(tmp_path: Path) -> None:
    switch = (
        "app-7 [000] d..2. {}.000000: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state=S ==> "
        "next_comm={} next_pid={} next_prio=120\n"
    )
    path = tmp_path / "years.txt"
    path.write_text(
        switch.format(1, "idle", 0, "app", 7)
        + switch.format(2, "app", 7, "idle", 0)
        + switch.format(999_999_998, "idle", 0, "app", 7)
        + switch.format(999_999_999, "app", 7, "idle", 0)
    )
    parsed = read_file("ftrace", path)
    found = query(parsed, "SELECT count(*), sum(interval_ns), sum(sleeping_ns) FROM thread_time")
    ((count, whole, asleep),) = found
    assert int(str(count)) < 1_000_000
    assert (int(str(whole)), int(str(asleep))) == (999_999_998 * 10**9, 999_999_996 * 10**9)
