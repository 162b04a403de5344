"""Kernel events as text: the same run through perf, ftrace and trace-cmd; states of threads, exactly."""

import random
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.format import Parsed
from tests.examples import costly
from tests.sources.trace_reading import fixture, query, read_text, rows

DISK = 7 << 20  # the loop device of make.sh
EVENTS = {
    "perf-script.txt": "perf_script",
    "ftrace.txt": "ftrace",
    "trace-cmd-report.txt": "ftrace",
}


def test_the_workload_is_seen_alike_by_each_tool() -> None:
    for name, module in EVENTS.items():
        parsed = fixture(module, name)
        assert parsed.rejects == [] and parsed.clock == "boot", name
        calls = query(
            parsed,
            """SELECT bytes, count(*) FROM syscalls WHERE name = 'write' AND ret = bytes
            AND bytes IN (4096, 8192, 16384) GROUP BY 1 ORDER BY 1""",
        )
        assert calls == [(4096, 8), (8192, 12), (16384, 8)], name
        data = query(
            parsed,
            f"""SELECT op, bytes, count(*), count(complete_ns) FROM block_requests
            WHERE dev = {DISK} AND tid IN (SELECT tid FROM threads WHERE comm = 'dd') AND op <> 'flush'
            AND NOT list_contains(flags, 'metadata') GROUP BY ALL ORDER BY ALL""",
        )
        assert (("read", 8192, 12, 12) in data) and (("write", 16384, 8, 8) in data), (name, data)
        # Each of the 16 synchronous writes waited for a commit of the journal or the device.
        waits = query(
            parsed,
            "SELECT count(DISTINCT tid) FROM waits WHERE syscall = 'write' AND dur_ns > 50000",
        )
        assert waits == [(2,)], name
        assert query(parsed, "SELECT count(*) > 5, bool_and(dur_ns > 0) FROM journal_commits") == [
            (True, True)
        ]


def test_states_add_up_to_each_interval_and_each_call() -> None:
    for name, module in EVENTS.items():
        parsed = fixture(module, name)
        bad = query(
            parsed,
            """SELECT count(*) FROM thread_time WHERE interval_ns <>
            cpu_user_ns + cpu_kernel_ns + runnable_ns + blocked_ns + sleeping_ns""",
        )
        assert bad == [(0,)], name
        bad = query(
            parsed,
            """SELECT count(*) FROM syscalls WHERE ret IS NOT NULL AND
            abs(dur_ns - cpu_ns - runnable_ns - blocked_ns - sleeping_ns) > 1000""",
        )
        assert bad == [(0,)], name


def line(us: int, comm: str, tid: int, event: str, args: str) -> str:
    return f"  {comm}-{tid}  [000] d..2. {us // 10**6}.{us % 10**6:06d}: {event}: {args}"


def switch(us: int, out: tuple[str, int, str], into: tuple[str, int]) -> str:
    args = (
        f"prev_comm={out[0]} prev_pid={out[1]} prev_prio=120 prev_state={out[2]} ==> "
        f"next_comm={into[0]} next_pid={into[1]} next_prio=120"
    )
    return line(us, out[0], out[1], "sched_switch", args)


def test_known_states_of_one_thread() -> None:
    idle = ("swapper/0", 0)
    text = "\n".join(
        [
            "# tracer: nop",
            switch(1_000_000, (*idle, "R"), ("app one", 7)),
            line(1_000_100, "app one", 7, "sys_enter", "NR 74 (5, 0, 0, 0, 0, 0)"),
            switch(1_000_300, ("app one", 7, "D"), idle),
            line(
                1_004_300, "<idle>", 0, "sched_waking", "comm=app one pid=7 prio=120 target_cpu=000"
            ),
            line(
                1_004_301, "<idle>", 0, "sched_wakeup", "comm=app one pid=7 prio=120 target_cpu=000"
            ),
            switch(1_004_350, (*idle, "R"), ("app one", 7)),
            line(1_004_400, "app one", 7, "sys_exit", "NR 74 = 0"),
            switch(1_004_500, ("app one", 7, "S"), idle),
            line(
                3_004_500, "<idle>", 0, "sched_waking", "comm=app one pid=7 prio=120 target_cpu=000"
            ),
            switch(3_004_600, (*idle, "R"), ("app one", 7)),
            switch(3_004_700, ("app one", 7, "R+"), ("other", 8)),
            switch(3_004_800, ("other", 8, "X"), ("app one", 7)),
            switch(3_005_000, ("app one", 7, "X"), idle),
        ]
    )
    parsed = read_text("ftrace", text)
    us = 1000
    (call,) = rows(parsed, "syscalls")
    assert (call["name"], call["fd"], call["dur_ns"]) == ("fsync", 5, 4300 * us)
    assert call["cpu_ns"] == 250 * us and call["blocked_ns"] == 4000 * us
    assert call["runnable_ns"] == 50 * us and call["sleeping_ns"] == 0
    (wait,) = rows(parsed, "waits")
    assert (wait["dur_ns"], wait["syscall"], wait["tid"]) == (4000 * us, "fsync", 7)
    sums = query(
        parsed,
        """SELECT sum(cpu_user_ns), sum(cpu_kernel_ns), sum(runnable_ns), sum(blocked_ns),
        sum(sleeping_ns), sum(interval_ns) FROM thread_time WHERE tid = 7""",
    )
    assert [int(x) // us for x in sums[0]] == [500, 250, 250, 4000, 2_000_000, 2_005_000]
    # Intervals end at full seconds: the sleep is spread over three of them.
    assert query(parsed, "SELECT count(*) FROM thread_time WHERE tid = 7") == [(3,)]


def test_one_sided_switches_give_no_states() -> None:
    text = "\n".join(switch(10 * at, ("app", 7, "S"), ("swapper/0", 0)) for at in range(1, 4))
    parsed = read_text("ftrace", text.replace("next_pid=0", "next_pid=00"))
    assert rows(parsed, "thread_time", "tid") == [] or rows(parsed, "waits") == []


def test_forms_of_system_call_events() -> None:
    ftrace = (
        "  dd-9 [001] ..... 5.000001: sys_write(fd: 1, buf: 7f00, count: 1000)\n"
        "  dd-9 [001] ..... 5.000002: sys_write -> 0x1000\n"
        "  dd-9 [001] ..... 5.000003: sys_enter_read: fd: 0x00000003, buf: 0x7f, count: 0x00000340\n"
        "  dd-9 [001] ..... 5.000004: sys_exit_read: 0xfffffffffffffffb\n"
        "  dd-9 [001] ..... 5.000005: sys_enter: NR 17 (4, 7f, 2000, 10000, 0, 0)\n"
        "  dd-9 [001] ..... 5.000009: sys_exit: NR 17 = 8192\n"
        "  dd-9 [001] ..... 5.000010: sys_enter: NR 74 (ffffffff, 0, 0, 0, 0, 0)\n"
    )
    parsed = read_text("ftrace", ftrace)
    found = [
        (r["name"], r["fd"], r["bytes"], r["offset"], r["ret"], r["dur_ns"])
        for r in rows(parsed, "syscalls")
    ]
    assert found == [
        ("write", 1, 4096, None, 4096, 1000),
        ("read", 3, 832, None, -5, 1000),
        ("pread64", 4, 8192, 65536, 8192, 4000),
        ("fsync", -1, None, None, None, 0),
    ]


def test_writeback_throttle_and_cache_events() -> None:
    text = (
        "  kworker/u4:1-30 [000] ..... 9.000000: writeback_start: bdi 8:0: sb_dev 0:0 nr_pages=9 sync_mode=0 "
        "kupdate=1 range_cyclic=1 background=0 reason=periodic cgroup_ino=1\n"
        "  kworker/u4:1-30 [000] ..... 9.000100: writeback_single_inode_start: bdi 8:0: ino=77 state=I_DIRTY age=3 "
        "index=0 to_write=1024 wrote=0 cgroup_ino=1\n"
        "  kworker/u4:1-30 [000] ..... 9.000400: writeback_single_inode: bdi 8:0: ino=77 state=I_SYNC "
        "dirtied_when=1 age=3 index=0 to_write=1000 wrote=24 cgroup_ino=1\n"
        "  app-31 [000] ..... 9.000500: writeback_single_inode: bdi 8:0: ino=78 state=I_SYNC dirtied_when=1 age=0 "
        "index=0 to_write=1000 wrote=5 cgroup_ino=1\n"
        "  app-31 [000] ..... 9.000600: balance_dirty_pages: bdi 8:0: limit=5000 setpoint=4000 dirty=4500 "
        "bdi_setpoint=1 bdi_dirty=1 dirty_ratelimit=1 task_ratelimit=1 dirtied=1 dirtied_pause=1 paused=0 pause=12 "
        "period=12 think=0 cgroup_ino=1\n"
        "  app-31 [000] ..... 9.000700: mm_filemap_add_to_page_cache: dev 8:1 ino 4d pfn=0x1 ofs=0 order=0\n"
        "  app-31 [000] ..... 9.000701: mm_filemap_add_to_page_cache: dev 8:1 ino 4d pfn=0x2 ofs=4096 order=2\n"
        "  app-31 [000] ..... 9.000702: mm_filemap_get_pages: dev=8:1 ino=4d ofs=0-8191\n"
        "  app-31 [000] ..... 9.000703: mm_filemap_delete_from_page_cache: dev 8:1 ino 4d pfn=0x2 ofs=4096 order=2\n"
    )
    parsed = read_text("ftrace", text)
    first, second = rows(parsed, "writeback")
    assert (first["ino"], first["reason"], first["pages_written"]) == (77, "periodic", 24)
    assert first["dur_ns"] == 300_000 and first["dirtied_age_ns"] == 3_000_000_000
    assert second["reason"] == "fsync" and second["dur_ns"] is None
    (pause,) = rows(parsed, "dirty_throttle")
    assert (pause["pause_ns"], pause["dirty_pages"], pause["limit_pages"]) == (
        12_000_000,
        4500,
        5000,
    )
    (page,) = rows(parsed, "page_cache")
    assert (page["dev"], page["ino"]) == (8 << 20 | 1, 77)
    assert (page["lookup_pages"], page["demand_miss_pages"], page["readahead_pages"]) == (2, 2, 3)
    assert page["evicted_pages"] == 4 and page["dirtied_pages"] is None


@costly(4)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["cpu", "D", "S", "R"]),
            st.integers(1, 2_500_000),  # us in the state
            st.integers(0, 500),  # us on the run queue after it
        ),
        min_size=1,
        max_size=25,
    )
)
def test_any_order_of_states_is_read_back(pieces: list) -> None:
    at = 2_000_000
    lines = [switch(at, ("swapper/0", 0, "R"), ("app", 7))]
    sums = {"cpu": 0, "runnable": 0, "D": 0, "S": 0}
    for state, length, queue in pieces:
        at += 10
        sums["cpu"] += 10
        if state == "cpu":
            at += length
            sums["cpu"] += length
            continue
        lines.append(switch(at, ("app", 7, state), ("swapper/0", 0)))
        at += length
        if state == "R":
            sums["runnable"] += length + queue
        else:
            sums[state] += length
            sums["runnable"] += queue
            lines.append(line(at, "x", 9, "sched_waking", "comm=app pid=7 prio=120 target_cpu=000"))
        at += queue
        lines.append(switch(at, ("swapper/0", 0, "R"), ("app", 7)))
    lines.append(switch(at + 1, ("app", 7, "X"), ("swapper/0", 0)))
    sums["cpu"] += 1
    parsed = read_text("ftrace", "\n".join(lines))
    found = query(
        parsed,
        """SELECT sum(interval_ns - runnable_ns - blocked_ns - sleeping_ns), sum(runnable_ns),
        sum(blocked_ns), sum(sleeping_ns) FROM thread_time WHERE tid = 7""",
    )
    assert [int(x) // 1000 for x in found[0]] == [
        sums["cpu"],
        sums["runnable"],
        sums["D"],
        sums["S"],
    ]
    waits = query(parsed, "SELECT count(*), coalesce(sum(dur_ns), 0) FROM waits")
    assert waits == [(sum(p[0] == "D" for p in pieces), sums["D"] * 1000)]


def test_stacks_tell_why_a_thread_waited() -> None:
    text = (
        "db 7 [000] 5.000001000: sched:sched_switch: prev_comm=db prev_pid=7 prev_prio=120 prev_state=D ==> "
        "next_comm=swapper/0 next_pid=0 next_prio=120\n"
        "\tffffffff81399b71 __traceiter_sched_switch+0x41 ([kernel.kallsyms])\n"
        "\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])\n"
        "\tffffffff821f94c3 schedule+0x23 ([kernel.kallsyms])\n"
        "\tffffffff821f958f io_schedule+0x3f ([kernel.kallsyms])\n"
        "\tffffffff8159970a folio_wait_writeback+0x2a ([kernel.kallsyms])\n"
        "\tffffffff8170fa3b do_fsync+0x3b ([kernel.kallsyms])\n"
        "\t    7f00deadbeef fsync+0x17 (/usr/lib/libc.so.6)\n"
        "\n"
        "swapper 0 [000] 5.000003000: sched:sched_waking: comm=db pid=7 prio=120 target_cpu=000\n"
        "\tffffffff81399b71 try_to_wake_up+0x41 ([kernel.kallsyms])\n\n"
        "swapper 0 [000] 5.000004000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 "
        "prev_state=R ==> next_comm=db next_pid=7 next_prio=120\n"
    )
    parsed = read_text("perf_script", text)
    assert parsed.rejects == []
    (wait,) = rows(parsed, "waits")
    assert (wait["dur_ns"], wait["reason"], wait["io"]) == (2000, "page_writeback", True)
    (stack,) = rows(parsed, "stacks", "stack_id")
    assert stack["stack_id"] == wait["stack_id"]
    assert stack["frames"] == ["schedule", "io_schedule", "folio_wait_writeback", "do_fsync"]


# long: one small machine, whose steps share its state
def generated(seed: int, style: str) -> list[str]:
    """Threads on four CPUs that read: some reads wait for the disk. One line an event."""
    dice = random.Random(seed)
    lines: list[str] = []
    on = [0, 0, 0, 0]
    asleep: list[tuple[int, int, int]] = []
    us, sector = 1_999_000, 0

    def name(tid: int) -> str:
        return f"app {tid}" if tid else "swapper/0"

    def say(cpu: int, tid: int, system: str, event: str, args: str) -> None:
        nonlocal us
        us += dice.randrange(1, 30)
        time = f"{us // 10**6}.{us % 10**6:06d}"
        if style == "perf":
            line = f"{name(tid):>16} {tid}/{tid} [{cpu:03d}] {time}: {system}:{event}: {args}"
        else:
            line = f"{name(tid):>16}-{tid} ({tid:5}) [{cpu:03d}] d..2. {time}: {event}: {args}"
        lines.append(line)

    def switch_to(cpu: int, state: str, tid: int) -> None:
        out = on[cpu]
        say(
            cpu, out, "sched", "sched_switch",
            f"prev_comm={name(out)} prev_pid={out} prev_prio=120 prev_state={state} ==> "
            f"next_comm={name(tid)} next_pid={tid} next_prio=120",
        )  # fmt: skip
        on[cpu] = tid

    while len(lines) < 3000:
        cpu = dice.randrange(4)
        tid = on[cpu]
        if tid and dice.random() < 0.7:
            size = 4096 * dice.randrange(1, 4)
            say(
                cpu,
                tid,
                "raw_syscalls",
                "sys_enter",
                f"NR 17 (5, 7f00, {size:x}, {sector:x}, 0, 0)",
            )
            if dice.random() < 0.5:
                say(cpu, tid, "raw_syscalls", "sys_exit", f"NR 17 = {size}")
                continue
            sector += 64
            say(
                cpu, tid, "block", "block_rq_issue", f"8,0 R {size} () {sector} + {size // 512} [x]"
            )
            switch_to(cpu, "D", 0)
            asleep.append((tid, sector, size))
        elif tid:
            switch_to(cpu, "R", 0)
        elif asleep and dice.random() < 0.6:
            tid, at, size = asleep.pop(dice.randrange(len(asleep)))
            say(cpu, 0, "block", "block_rq_complete", f"8,0 R () {at} + {size // 512} [0]")
            say(
                cpu, 0, "sched", "sched_waking", f"comm={name(tid)} pid={tid} prio=120 target_cpu=0"
            )
            switch_to(cpu, "R", tid)
            say(cpu, tid, "raw_syscalls", "sys_exit", f"NR 17 = {size}")
        else:
            tid = dice.randrange(100, 120)
            if tid not in on and all(tid != other for other, _, _ in asleep):
                switch_to(cpu, "R", tid)
    return lines


TABLES = ("syscalls", "syscall_totals", "thread_time", "waits", "block_requests", "threads")


def by_table(parsed: Parsed) -> dict[str, list[str]]:
    return {table: sorted(map(str, rows(parsed, table, "tid"))) for table in TABLES}


def test_dialects_and_orders_of_one_trace_tell_the_same() -> None:
    perf = read_text("perf_script", "\n".join(generated(4, "perf")))
    lines = generated(4, "ftrace")
    wanted = by_table(perf)
    assert all(wanted.values()) and perf.rejects == []
    assert by_table(read_text("ftrace", "\n".join(lines))) == wanted
    # The buffers of the CPUs, one after the other, as per_cpu/cpu*/trace has them.
    by_cpu = sorted(lines, key=lambda line: re.findall(r"\[(\d{3})\]", line))
    assert by_cpu != lines
    parsed = read_text("ftrace", "\n".join([*by_cpu, "no event", ""]))
    assert by_table(parsed) == wanted
    assert parsed.rejects == [(len(lines) + 1, "no event")]


def test_requests_and_calls_of_a_generated_trace_are_those_that_were_written() -> None:
    lines = generated(5, "perf")
    parsed = read_text("perf_script", "\n".join(lines))
    text = "\n".join(lines)
    issued = Counter(re.findall(r"block_rq_issue: 8,0 R (\d+) \(\) (\d+)", text))
    found = rows(parsed, "block_requests", "queue_ns")
    assert Counter((str(r["bytes"]), str(r["sector"])) for r in found) == issued
    done = len(re.findall("block_rq_complete", text))
    assert sum(r["complete_ns"] is not None for r in found) == done
    calls = rows(parsed, "syscalls")
    assert len(calls) == len(re.findall("sys_enter", text))
    assert sum(r["ret"] is not None for r in calls) == len(re.findall("sys_exit", text))
    blocked = [r for r in calls if r["ret"] is not None and r["blocked_ns"]]
    assert len(blocked) == done and all(
        r["dur_ns"] == r["cpu_ns"] + r["runnable_ns"] + r["blocked_ns"] + r["sleeping_ns"]  # type: ignore[operator]
        for r in blocked
    )
    waits = rows(parsed, "waits")
    assert sum(w["dur_ns"] for w in waits) >= sum(r["blocked_ns"] for r in blocked)  # type: ignore[misc]
    assert all(w["syscall"] == "pread64" for w in waits)


def test_a_long_trace_whose_disorder_comes_late_is_read_again() -> None:
    """By then rows have been written, into tables that were never ended."""
    one = (
        "  app-31 [{cpu:03}] ..... {at}.{n:06}: block_rq_issue: 8,0 R 4096 () {sector} + 8 [app]\n"
        "  app-31 [{cpu:03}] ..... {at}.{n:06}: block_rq_complete: 8,0 R () {sector} + 8 [0]\n"
    )
    late = 70_000  # more than one batch of rows (BATCH_ROWS)
    text = "".join(one.format(cpu=0, at=9, n=n, sector=8 * n) for n in range(late))
    parsed = read_text("ftrace", text + one.format(cpu=1, at=8, n=1, sector=8 * late))
    assert parsed.rejects == []
    ((requests, first),) = query(
        parsed, "SELECT count(*), arg_min(sector, issue_ns) FROM block_requests"
    )
    assert (requests, first) == (late + 1, 8 * late)
