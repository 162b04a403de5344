"""Relations that take their rows once in the order of time, against what they mean, said without an order."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from iowhy.relations import Relations
from tests.examples import costly
from tests.reports.conftest import MS, T0, Make, call, filesystem, request, wait

Row = dict[str, object]

#: Few moments, so that beginnings and ends meet.
TIMES = st.integers(0, 12)
REQUESTS = st.lists(
    st.builds(
        lambda at, length, op, dev, scope, size: request(
            at * MS,
            length and length * MS,
            op,
            dev=dev,
            owner_dev=dev // 10 - 7,
            in_scope=scope,
            bytes=size,
        ),
        TIMES,
        st.none() | st.integers(1, 6),
        st.sampled_from(["read", "write", "flush"]),
        st.sampled_from([80, 90]),
        st.sampled_from([True, False, None]),
        st.sampled_from([0, 4096]),
    ),
    min_size=1,
    max_size=25,
)
#: 1 lies on 80 and 2 on 90, 3 is in memory, nothing is known of 4, and a call may have no file.
FILESYSTEMS = st.sampled_from([1, 1, 2, 3, 4, None])
CALLS = st.lists(
    st.builds(
        lambda at, length, name, dev, tid: call(
            at * MS, length * MS, name, dev=dev, tid=tid, ret=0
        ),
        TIMES,
        st.integers(1, 6),
        st.sampled_from(["write", "fsync", "read", "copy_file_range"]),
        FILESYSTEMS,
        st.sampled_from([10, 11]),
    ),
    min_size=1,
    max_size=12,
    # A thread is in one call at a time, and these begin at different moments.
    unique_by=lambda row: (row["tid"], row["ts_ns"]),
)
WAITS = st.lists(
    st.builds(
        lambda at, length, reason, dev, tid, name: wait(
            at * MS, length * MS, reason, dev=dev, tid=tid, syscall=name
        ),
        TIMES,
        st.integers(1, 4),
        st.sampled_from(["device_flush", "journal_commit", "page_writeback", "inode_lock"]),
        FILESYSTEMS,
        st.sampled_from([10, 11]),
        st.sampled_from([None, "write", "fsync", "copy_file_range"]),
    ),
    max_size=12,
)


def union_ns(spans: Iterable[tuple[int, int]]) -> int:
    """The length of what spans cover together."""
    return len({moment for begin, end in spans for moment in range(begin // MS, end // MS)}) * MS


@costly(6)
@given(REQUESTS)
def test_a_device_is_busy_while_any_is_in_flight(make: Make, rows: list[Row]) -> None:
    end = T0 + 10 * MS
    with Relations(make({"block_requests": rows}, end_s=0.01)) as opened:
        found = {
            row[0]: row[1:]
            for row in opened.rows("""SELECT dev, busy_ns, command_busy_ns, command_read_busy_ns,
                command_write_busy_ns, others_busy_ns, ours_busy_ns, area_ns FROM flight_sums""")
        }
    expected = {}
    for dev in (80, 90):
        flights = [
            (int(q["queue_ns"]), min(int(q["complete_ns"]), end), q["in_scope"], q["op"])  # type: ignore[call-overload]
            for q in rows
            if q["dev"] == dev
            and q["complete_ns"] is not None
            and (q["op"] != "write" or q["bytes"])
            and int(q["queue_ns"]) <= end  # type: ignore[call-overload]
        ]
        kinds = [
            flights,
            [one for one in flights if one[2]],
            [one for one in flights if one[2] and one[3] == "read"],
            [one for one in flights if one[2] and one[3] == "write"],
            [one for one in flights if one[2] is False],
            [one for one in flights if one[2] is not False],
        ]
        if flights:
            busy = [union_ns((begin, until) for begin, until, *_ in kind) for kind in kinds]
            expected[dev] = (*busy, sum(until - begin for begin, until, *_ in flights))
    assert found == expected


@costly(6)
@given(REQUESTS, CALLS, WAITS, st.booleans())
def test_a_shared_flush_is_the_commands_while_it_waits_for_one(
    make: Make, requests: list[Row], calls: list[Row], waits: list[Row], with_log: bool
) -> None:
    """The log of the first filesystem may lie on the disk of the second."""
    tables = {
        "block_requests": requests,
        "syscalls": calls,
        "waits": waits,
        "filesystems": [
            filesystem() | {"log_dev": 90 if with_log else None},
            filesystem(90, 2),
            filesystem(None, 3) | {"kind": "tmpfs"},
        ],
    }
    disks = "(1, 80), (2, 90), (1, 90)" if with_log else "(1, 80), (2, 90)"
    reaches = f"({{0}}.dev IS NULL OR {{0}}.dev = 4 OR ({{0}}.dev, q.dev) IN ({disks}))".format
    with Relations(make(tables)) as opened:
        expected = opened.rows(f"""
            SELECT dev, queue_ns, complete_ns, counted, coalesce(in_scope,
                dev IN (SELECT dev FROM written_devices) AND (
                    EXISTS (SELECT 1 FROM sync_calls s WHERE q.queue_ns BETWEEN s.ts_ns AND s.end_ns AND {reaches("s")})
                    OR EXISTS (SELECT 1 FROM waits w WHERE q.queue_ns BETWEEN w.ts_ns AND w.ts_ns + w.dur_ns
                        AND w.reason IN ('device_flush', 'journal_commit', 'log_force') AND {reaches("w")}))) AS of_command
            FROM counted_requests q WHERE op = 'flush' ORDER BY ALL""")
        assert expected == opened.rows(
            "SELECT dev, queue_ns, complete_ns, counted, of_command FROM device_flushes ORDER BY ALL"
        )


@costly(6)
@given(CALLS, WAITS)
def test_a_wait_belongs_to_the_call_of_its_thread_that_it_began_in(
    make: Make, calls: list[Row], waits: list[Row]
) -> None:
    with Relations(make({"syscalls": calls, "waits": waits})) as opened:
        found = opened.rows("SELECT tid, ts_ns FROM durable_writes ORDER BY ALL")
        expected = opened.rows("""
            WITH c AS (
                SELECT s.*, k.kind FROM syscalls s JOIN call_kinds k ON k.name = s.name
                WHERE k.kind IN ('write', 'copy') AND s.blocked_ns > 0
            )
            SELECT DISTINCT c.tid, c.ts_ns
            FROM c JOIN waits w ON w.tid = c.tid AND w.ts_ns >= c.ts_ns AND w.ts_ns < c.ts_ns + c.dur_ns
            JOIN wait_kinds x ON x.reason = w.reason
            LEFT JOIN call_kinds k ON k.name = w.syscall
            WHERE (w.syscall IS NULL OR k.kind IN ('write', 'copy'))
                AND NOT EXISTS (SELECT 1 FROM c AS later
                    WHERE later.tid = w.tid AND later.ts_ns > c.ts_ns AND later.ts_ns <= w.ts_ns)
                AND (x.part IN ('commit', 'flush') OR (x.budget = 'writeback' AND c.kind = 'write'))
            ORDER BY ALL""")
    assert found == expected


@costly(6)
@given(CALLS, WAITS)
def test_a_wait_in_a_sync_call_ends_with_it_and_has_its_filesystem(
    make: Make, calls: list[Row], waits: list[Row]
) -> None:
    with Relations(make({"syscalls": calls, "waits": waits})) as opened:
        found = opened.rows(
            "SELECT name, part, ts_ns, end_ns, dur_ns, dev FROM _sync_waits ORDER BY ALL"
        )
        expected = opened.rows("""
            SELECT c.name, coalesce(x.part, 'other'), w.ts_ns, least(w.ts_ns + w.dur_ns, c.end_ns) AS end_ns,
                least(w.ts_ns + w.dur_ns, c.end_ns) - w.ts_ns, coalesce(w.dev, c.dev)
            FROM sync_calls c JOIN waits w ON w.tid = c.tid AND w.ts_ns >= c.ts_ns AND w.ts_ns < c.end_ns
            LEFT JOIN wait_kinds x ON x.reason = w.reason
            LEFT JOIN call_kinds k ON k.name = w.syscall
            WHERE (w.syscall IS NULL OR k.kind IN ('sync', 'write', 'copy'))
                AND NOT EXISTS (SELECT 1 FROM sync_calls AS later
                    WHERE later.tid = w.tid AND later.ts_ns > c.ts_ns AND later.ts_ns <= w.ts_ns)
            ORDER BY ALL""")
    assert found == expected


def test_a_call_that_took_no_time_has_no_wait_of_the_next_one(make: Make) -> None:
    """Where times are told to the microsecond, two calls of a thread may begin at the same one."""
    calls = [call(0, MS, "fsync"), call(0, 0, "fdatasync"), call(5 * MS, 0, "msync")]
    waits = [wait(0, MS, "device_flush"), wait(5 * MS, MS, "device_flush")]
    with Relations(make({"syscalls": calls, "waits": waits})) as opened:
        assert opened.rows("SELECT name, dur_ns FROM _sync_waits") == [("fsync", MS)]


@costly(6)
@given(REQUESTS, CALLS, WAITS)
def test_of_a_wait_for_the_journal_flushes_of_its_own_disk_count_once(
    make: Make, requests: list[Row], calls: list[Row], waits: list[Row]
) -> None:
    """Two disks, each with flushes of its own at the same times; what flushes more briefly than it waits is seen."""
    tables = {
        "block_requests": requests,
        "syscalls": calls,
        "waits": waits,
        "filesystems": [filesystem(), filesystem(90, 2), filesystem(None, 3)],
    }
    with Relations(make(tables)) as opened:
        found = {row[0]: row[1] for row in opened.rows("SELECT name, flush_ns FROM sync_parts")}
        inside = opened.rows("SELECT name, part, ts_ns, end_ns, dev FROM _sync_waits")
    flushes = [
        (row["dev"], int(row["queue_ns"]), int(row["complete_ns"]))  # type: ignore[call-overload]
        for row in requests
        if row["op"] == "flush" and row["complete_ns"] is not None
    ]
    expected: dict[object, int] = {}
    for name, part, begin, end, dev in inside:
        assert isinstance(begin, int) and isinstance(end, int)
        of = [(a, b) for disk, a, b in flushes if disk == {1: 80, 2: 90}.get(dev, dev)]  # type: ignore[call-overload]
        during = union_ns((max(a, begin), min(b, end)) for a, b in of if a < end and b > begin)
        took = {"commit": during, "flush": end - begin}.get(str(part), 0)
        expected[name] = expected.get(name, 0) + took
    assert found == expected


@costly(6)
@given(REQUESTS)
def test_in_each_slice_devices_are_as_busy_as_what_is_in_flight(
    make: Make, rows: list[Row]
) -> None:
    """Slices of a tenth of a second: the requests are fifty times as long and as far apart as elsewhere."""
    slow = [row | _later(row, 50) for row in rows]
    with Relations(make({"block_requests": slow}, end_s=0.5)) as opened:
        found = opened.rows(
            "SELECT dev, slice, busy_ns, deep_ns, area_ns FROM device_slices ORDER BY ALL"
        )
    expected = []
    slice_ns, end = 100 * MS, T0 + 500 * MS
    for dev in (80, 90):
        done = [
            q
            for q in slow
            if q["dev"] == dev and q["complete_ns"] is not None and int(q["queue_ns"]) < end  # type: ignore[call-overload]
        ]
        flights = [
            (int(q["queue_ns"]), min(int(q["complete_ns"]), end))  # type: ignore[call-overload]
            for q in done
            if q["op"] != "write" or q["bytes"]
        ]
        for number in range(5 if done else 0):
            moments = range(T0 + number * slice_ns, T0 + (number + 1) * slice_ns, MS)
            depths = [sum(begin <= at < until for begin, until in flights) for at in moments]
            busy, deep = (sum(depth >= least for depth in depths) * MS for least in (1, 2))
            expected.append((dev, number, busy, deep, sum(depths) * MS))
    assert found == expected


def _later(row: Row, times: int) -> Row:
    return {
        name: None if row[name] is None else T0 + (int(row[name]) - T0) * times  # type: ignore[call-overload]
        for name in ("queue_ns", "issue_ns", "complete_ns")
    }


@costly(6)
@given(REQUESTS)
def test_each_device_jumps_from_its_own_request_before(make: Make, rows: list[Row]) -> None:
    placed = [row | {"sector": number * number % 64 * 8} for number, row in enumerate(rows)]
    with Relations(make({"block_requests": placed})) as opened:
        found = opened.rows("SELECT dev, sent_ns, sector, seek_bytes FROM request_sequence")
    expected = []
    for dev in (80, 90):
        own = sorted(
            (int(q["queue_ns"]), int(q["sector"]), int(q["bytes"]))  # type: ignore[call-overload]
            for q in placed
            if q["dev"] == dev and q["op"] != "flush" and q["bytes"]
        )
        before: int | None = None
        for at, sector, size in own:
            expected.append((dev, at, sector, None if before is None else sector * 512 - before))
            before = sector * 512 + size
    assert sorted(found, key=str) == sorted(expected, key=str)
