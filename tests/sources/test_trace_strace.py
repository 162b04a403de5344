"""strace: logs of every kind of times, its table, and what is written comes back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.whys.verdict import judge
from tests.examples import costly
from tests.sources.trace_reading import FIXTURES, fixture, query, read_file, read_text, rows

# The workload of make.sh: dd writes 8 times 16 KiB and 8 times 4 KiB, reads 12 times 8 KiB from the file.
WRITES = "SELECT bytes, count(*) FROM syscalls WHERE name = 'write' AND ret = bytes AND bytes IN (4096, 8192, 16384) GROUP BY 1 ORDER BY 1"


def test_the_same_calls_with_every_kind_of_times() -> None:
    for name in ("strace-f-ttt-T-y", "strace-f-tt-T", "strace-f-r-T", "strace-stderr"):
        parsed = fixture("strace", f"{name}.txt")
        assert query(parsed, WRITES) == [(4096, 8), (8192, 12), (16384, 8)], name
        assert parsed.rejects == [], name
        comms = query(parsed, "SELECT comm, count(*) FROM threads GROUP BY 1 ORDER BY 1")
        assert comms == [("dd", 4), ("sh", 1)], name


def test_clocks() -> None:
    assert fixture("strace", "strace-f-ttt-T-y.txt").clock == "wall"
    relative = fixture("strace", "strace-f-r-T.txt")
    assert relative.clock == "own"
    spans = []
    for name in ("strace-f-ttt-T-y.txt", "strace-f-tt-T.txt", "strace-f-r-T.txt"):
        sql = "SELECT (max(ts_ns) - min(ts_ns)) / 1e6 FROM syscalls"
        spans.append(query(fixture("strace", name), sql)[0][0])
    assert all(20 < span < 2000 for span in spans), spans  # ms; a mistaken clock is off by far


def test_files_are_named_by_y_and_by_the_open() -> None:
    text = (
        '7 1700000000.000001 openat(AT_FDCWD, "/data/a", O_RDONLY) = 3 <0.000010>\n'
        '7 1700000000.000100 read(3, "x"..., 512) = 512 <0.000020>\n'
        "7 1700000000.000200 close(3) = 0 <0.000001>\n"
        '7 1700000000.000300 read(3, "", 512) = 0 <0.000020>\n'
        '7 1700000000.000400 pread64(4</data/b>, "1, 2) = 5"..., 4096, 8192) = 100 <0.000020>\n'
        '7 1700000000.000500 write(5<pipe:[77]>, "a", 1) = 1 <0.000001>\n'
        "7 1700000000.000600 fsync(4</data/b> (deleted)) = -1 EIO (Input/output error) <2.500000>\n"
    )
    parsed = read_text("strace", text)
    found = [
        (r["name"], r["fd"], r["ino"], r["offset"], r["bytes"], r["ret"])
        for r in rows(parsed, "syscalls")
    ]
    assert found == [
        ("openat", None, 1, None, None, 3),
        ("read", 3, 1, None, 512, 512),
        ("read", 3, None, None, 512, 0),
        ("pread64", 4, 2, 8192, 4096, 100),
        ("write", 5, 3, None, 1, 1),
        ("fsync", 4, 2, None, None, -5),
    ]
    assert rows(parsed, "syscalls")[-1]["dur_ns"] == 2_500_000_000


def test_halves_threads_and_names() -> None:
    text = (
        '10 1700000000.000000 execve("/usr/bin/server", ["server"], 0x7f) = 0 <0.000100>\n'
        "10 1700000000.001000 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f}, 88) = 11 <0.000050>\n"
        "10 1700000000.001500 clone(child_stack=NULL, flags=SIGCHLD) = 12 <0.000050>\n"
        "11 1700000000.002000 fdatasync(5</db> <unfinished ...>\n"
        '12 1700000000.002100 prctl(PR_SET_NAME, "worker") = 0 <0.000001>\n'
        "10 1700000000.002500 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
        "11 1700000000.012000 <... fdatasync resumed>) = 0 <0.010000>\n"
        '12 1700000000.013000 writev(6</log>, [{iov_base="a", iov_len=10}, {iov_base="b", iov_len=5}], 2) = 15 <0.000010>\n'
        "12 1700000000.020000 +++ exited with 3 +++\n"
        "11 1700000000.030000 msync(0x7f0000000000, 4194304, MS_SYNC <unfinished ...>\n"
    )
    parsed = read_text("strace", text)
    assert parsed.rejects == []
    calls = {r["name"]: r for r in rows(parsed, "syscalls")}
    assert calls["fdatasync"]["dur_ns"] == 10_000_000 and calls["fdatasync"]["tgid"] == 10
    assert calls["writev"]["bytes"] == 15 and calls["writev"]["tgid"] == 12
    # Never answered: no result, and as long as the log goes on.
    assert calls["msync"]["ret"] is None and calls["msync"]["dur_ns"] == 0
    assert calls["msync"]["bytes"] == 4194304
    threads = {r["tid"]: r for r in rows(parsed, "threads", "tid")}
    assert threads[11]["tgid"] == 10 and threads[11]["comm"] == "server"
    assert threads[12]["tgid"] == 12 and threads[12]["comm"] == "worker"
    assert threads[12]["exit_code"] == 768 and threads[12]["end_ns"] is not None


def test_without_T_durations_are_unknown_and_not_zero() -> None:
    parsed = fixture("strace", "strace-f-t.txt")
    assert rows(parsed, "syscalls") == [] and rows(parsed, "syscall_totals") == []
    counts = dict(query(parsed, "SELECT subject, value FROM measurements WHERE metric = 'calls'"))
    assert counts["write"] == 41
    assert (
        any("-T" in note for note in parsed.notes)
        and "strace -f -ttt -T -y -p {pid}" in parsed.missing
    )


def test_the_table_of_c() -> None:
    for name in ("strace-c.txt", "strace-c-w.txt", "strace-c-columns.txt"):
        parsed = fixture("strace_summary", name)
        totals = {r["name"]: r for r in rows(parsed, "syscall_totals")}
        assert totals["write"]["calls"] == 41, name
        assert totals["wait4"]["errors"] == 3, name
        assert "total" not in totals and parsed.rejects == [], name
    waiting = read_text(
        "strace_summary",
        (FIXTURES / "strace-c-w.txt").read_text(),
        ("strace", "-f", "-c", "-w", "sh"),
    )
    assert rows(waiting, "syscall_totals")[0]["cpu_ns"] is None


@pytest.mark.parametrize(
    ("line", "elapsed"),
    [
        ("", False),
        ("strace -f -c sh", False),
        ("strace -c --follow-forks -e write sh -w", False),
        ("strace -fc -ewrite -o w sh", False),
        ("strace -c -- -w", False),
        ("strace -cw sh", True),
        ("strace -o out -fwc sh", True),
        ("strace -c --summary-wall-clock sh", True),
    ],
)
def test_the_table_of_c_is_cpu_time_unless_the_command_has_w(line: str, elapsed: bool) -> None:
    """The table itself is the same with -w and without."""
    command = tuple(line.split()) or None
    parsed = read_text("strace_summary", (FIXTURES / "strace-c.txt").read_text(), command)
    for row in rows(parsed, "syscall_totals"):
        assert row["cpu_ns"] == (None if elapsed else row["total_ns"])
    assert (parsed.missing == ["strace -f -c -w -p {pid}"]) is not elapsed
    assert any("waiting is not in it" in note for note in parsed.notes) is not elapsed


CALL = st.tuples(
    st.sampled_from(
        ["read", "write", "pread64", "pwrite64", "fsync", "fallocate", "openat", "getdents64"]
    ),
    st.integers(0, 1000),  # fd
    st.integers(0, 2**40),  # bytes
    st.integers(0, 2**50),  # offset
    st.integers(0, 10**10),  # duration, us
    st.one_of(st.integers(0, 2**31), st.sampled_from([-5, -11, -28])),
    st.text(st.characters(codec="ascii", exclude_characters='"\\\n\r'), max_size=20),
    st.booleans(),  # printed in two lines
)
ERRORS = {
    -5: "-1 EIO (Input/output error)",
    -11: "-1 EAGAIN (Resource temporarily unavailable)",
    -28: "-1 ENOSPC (No space left on device)",
}


def printed(name: str, fd: int, size: int, offset: int, data: str) -> str:
    return {
        "read": f'read({fd}</f>, "{data}"..., {size}',
        "write": f'write({fd}</f>, "{data}", {size}',
        "pread64": f'pread64({fd}</f>, "{data}"..., {size}, {offset}',
        "pwrite64": f'pwrite64({fd}</f>, "{data}"..., {size}, {offset}',
        "fsync": f"fsync({fd}</f>",
        "fallocate": f"fallocate({fd}</f>, 0, {offset}, {size}",
        "openat": f'openat(AT_FDCWD</d>, "{data}", O_RDONLY',
        "getdents64": f"getdents64({fd}</f>, 0x55 /* 4 entries */, {size}",
    }[name]


@costly(4)
@given(st.lists(CALL, min_size=1, max_size=30))
def test_what_is_written_is_read_back(calls: list) -> None:
    lines, expected = [], []
    at = 1_700_000_000_000_000
    for tid, (name, fd, size, offset, dur, ret, data, halves) in enumerate(calls, 100):
        text, result = printed(name, fd, size, offset, data), ERRORS.get(ret, str(ret))
        stamp = f"{tid} {at // 10**6}.{at % 10**6:06d} "
        end = at + dur
        tail = f") = {result} <{dur // 10**6}.{dur % 10**6:06d}>"
        if halves:
            lines += [
                f"{stamp}{text} <unfinished ...>",
                f"{tid} {end // 10**6}.{end % 10**6:06d} <... {name} resumed>{tail}",
            ]
        else:
            lines.append(stamp + text + tail)
        whole = {"read", "write", "pread64", "pwrite64", "fallocate", "getdents64"}
        expected.append((
            tid, name, at * 1000, dur * 1000, None if name == "openat" else fd,
            size if name in whole else None,
            offset if name in {"pread64", "pwrite64", "fallocate"} else None, ret,
        ))  # fmt: skip
        at += 1000
    parsed = read_text("strace", "\n".join(lines) + "\n")
    found = query(
        parsed,
        'SELECT tid, name, ts_ns, dur_ns, fd, bytes, "offset", ret FROM syscalls ORDER BY tid',
    )
    assert found == expected
    assert parsed.rejects == []


def test_a_log_is_the_same_on_disk(monkeypatch) -> None:
    source = FIXTURES / "strace-f-ttt-T-y.txt"
    whole = read_file("strace", source)
    monkeypatch.setattr("iowhy.sources.tracing.workspace.ON_DISK_FROM_BYTES", 0)
    small = read_file("strace", source)
    for table in ("syscalls", "syscall_totals", "threads"):
        key = f"SELECT * FROM {table} ORDER BY ALL"
        assert query(whole, key) == query(small, key), table


def test_lines_about_processes_are_strace_s_too(tmp_path: Path) -> None:
    """What strace -p prints before the first call, and after the last one."""
    text = """strace: Process 101 attached with 2 threads
strace: Process 102 attached
[pid   101] 1795297373.023962 pread64(3, "a", 4096, 0) = 4096 <0.000115>
strace: Process 103 attached
[pid   103] 1795297373.123962 fsync(3) = 0 <0.010115>
[pid   102] 1795297373.223962 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=103} ---
[pid   103] 1795297373.323962 +++ exited with 0 +++
strace: Process 101 detached
"""
    (tmp_path / "log.txt").write_text(text)
    found = diagnose([str(tmp_path / "log.txt")], tmp_path / "out.iowhy")
    assert found.unread == () and found.unread_dropped == 0
    assert [(part.format, part.lines) for part in found.parts] == [("strace", 8)]


def test_time_outside_the_calls_is_of_threads_while_they_are_there(tmp_path: Path) -> None:
    """A child that is gone computes no more."""
    (tmp_path / "log.txt").write_text(
        '10 1700000001.000000 write(3</srv/a>, "x", 1) = 1 <0.400000>\n'
        "10 1700000001.500000 wait4(11, NULL, 0, NULL <unfinished ...>\n"
        '11 1700000001.500000 read(3</srv/a>, "x", 1) = 1 <0.100000>\n'
        "11 1700000001.700000 +++ exited with 0 +++\n"
        "10 1700000001.700000 <... wait4 resumed>) = 11 <0.200000>\n"
        '10 1700000004.500000 write(3</srv/a>, "x", 1) = 1 <0.500000>\n'
        "10 1700000005.000000 +++ exited with 0 +++\n"
    )
    found = diagnose([str(tmp_path / "log.txt")], tmp_path / "log.iowhy").recording
    lines = {line.cls: line.thread_s for line in judge(found).budget.lines}
    assert lines["waiting to write"] == pytest.approx(0.9)
    assert lines["waiting to read"] == pytest.approx(0.1)
    # Of 4 s of the parent, which waits for the child meanwhile, and 0.2 s of the child.
    assert lines["unexplained"] == pytest.approx(4.2 - 1.0 - 0.2)
    assert lines["idle"] == pytest.approx(0.2)


def test_helpers_that_wait_for_work_share_no_time_with_the_thread_that_does_it(
    tmp_path: Path,
) -> None:
    """One syncs for 3 of 4 s; three wait for work, a peer or a time, which is idle wherever somebody works."""
    log = [
        '10 1700000001.000000 openat(AT_FDCWD, "/srv/a", O_WRONLY) = 3 <0.000100>',
        *(f"10 {1700000001 + at * 0.4:.6f} fsync(3) = 0 <0.300000>" for at in range(10)),
    ]
    for tid, waits in ((11, "futex(0x7f, FUTEX_WAIT, 0, NULL"), (12, "epoll_wait(7, [], 8, -1"),
                       (13, "ppoll([], 0, NULL, NULL, 0")):  # fmt: skip
        log += [
            f'{tid} 1700000001.000200 openat(AT_FDCWD, "/srv/b", O_RDONLY) = 4 <0.000100>',
            f"{tid} 1700000001.000400 {waits}) = 0 <3.990000>",
            f"{tid} 1700000005.000000 +++ exited with 0 +++",
        ]
    log.append("10 1700000005.000000 +++ exited with 0 +++")
    log.sort(key=lambda line: line.split()[1])
    (tmp_path / "log.txt").write_text("\n".join(log) + "\n")
    verdict = judge(diagnose([str(tmp_path / "log.txt")], tmp_path / "log.iowhy").recording)
    lines = {line.cls: line for line in verdict.budget.lines}
    assert lines["idle"].thread_s == pytest.approx(3 * 3.99)
    assert lines["idle"].elapsed_share == pytest.approx(0, abs=0.001)
    assert lines["waiting for sync"].elapsed_share == pytest.approx(3 / 4, abs=0.01)
    assert lines["waiting to read"].thread_s < 0.001


def test_where_all_wait_the_time_is_idle(tmp_path: Path) -> None:
    """The near miss: nobody does anything meanwhile."""
    (tmp_path / "log.txt").write_text(
        '10 1700000001.000000 write(3</srv/a>, "x", 1) = 1 <1.000000>\n'
        "10 1700000002.000000 futex(0x7f, FUTEX_WAIT, 0, NULL) = 0 <3.000000>\n"
        "10 1700000005.000000 +++ exited with 0 +++\n"
    )
    verdict = judge(diagnose([str(tmp_path / "log.txt")], tmp_path / "log.iowhy").recording)
    lines = {line.cls: line.elapsed_share for line in verdict.budget.lines}
    assert lines["idle"] == pytest.approx(0.75, abs=0.01)
    assert lines["waiting to write"] == pytest.approx(0.25, abs=0.01)
