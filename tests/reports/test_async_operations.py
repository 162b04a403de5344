"""What goes through io_uring and libaio is asked for as much as what calls ask for."""

from pytest import approx

from iowhy.relations import Relations
from iowhy.reports import run
from iowhy.whys.facts import Facts
from tests.reports.conftest import MS, T0, Make, call, file, request

KIB = 1024


def operation(
    at_ns: int, dur_ns: int | None, op: str, bytes_: int = 4 * KIB, **more: object
) -> dict[str, object]:
    """One of io_uring on file 2, inline; without an end where it has no length."""
    row: dict[str, object] = {
        "submit_ns": T0 + at_ns,
        "complete_ns": None if dur_ns is None else T0 + at_ns + dur_ns,
        "tgid": 10,
        "tid": 10,
        "ring": 1,
        "api": "io_uring",
        "op": op,
        "kind": op,
        "ran": "inline",
        "flags": [],
        "dev": 1,
        "ino": 2,
        "offset": 0,
        "bytes": bytes_,
        "moved_bytes": None if dur_ns is None else bytes_,
        "results": 0 if dur_ns is None else 1,
        "ret": None if dur_ns is None else bytes_,
    }
    return row | more


TABLES = {
    "files": [file(2, "/srv/a"), file(3, "pipe:[3]", kind="pipe")],
    "syscalls": [call(0, MS, "pread64", ino=2, ret=100, bytes=100)],
    "async_operations": [
        operation(0, 2 * MS, "read", 8 * KIB, flags=["direct", "fixed_file"]),
        operation(MS, 4 * MS, "read", 8 * KIB, moved_bytes=4 * KIB, ret=4 * KIB),
        operation(2 * MS, 1 * MS, "read", 8 * KIB, moved_bytes=0, ret=-5),
        operation(2 * MS, None, "read", 8 * KIB),
        operation(3 * MS, MS, "write", 16 * KIB, ran="worker", flags=["linked"]),
        operation(
            4 * MS,
            9 * MS,
            "fsync",
            0,
            kind="sync",
            bytes=None,
            moved_bytes=None,
            ret=0,
            ran="worker",
        ),
        operation(5 * MS, MS, "read", 64 * KIB, ino=3),
    ],
    "block_requests": [request(0, MS, "read", owner_page=None, bytes=8 * KIB)],
}


def test_each_kind_of_operation_is_a_row(make: Make) -> None:
    rows = {(r["ino"], r["op"]): r for r in run(make(TABLES), "async-operations").to_pylist()}
    read = rows[2, "read"]
    assert (read["operations"], read["errors"], read["unfinished"]) == (4, 1, 1)
    assert (read["asked_bytes"], read["moved_bytes"]) == (32 * KIB, 12 * KIB)
    assert (read["p50_ns"], read["max_ns"], read["mean_ns"]) == (2 * MS, 4 * MS, approx(7 / 3 * MS))
    assert (read["direct"], read["registered"], read["linked"]) == (1, 1, 0)
    assert read["in_flight"] == approx(7 / 5)  # 2 + 4 + 1 ms within 5 ms
    assert (rows[2, "write"]["ran"], rows[2, "write"]["linked"]) == ("worker", 1)
    assert rows[2, "fsync"]["moved_bytes"] is None
    assert rows[3, "read"]["path"] == "pipe:[3]"


def test_their_bytes_are_asked_for_of_a_file(make: Make) -> None:
    rec = make(TABLES)
    (row,) = (r for r in run(rec, "files").to_pylist() if r["path"] == "/srv/a")
    assert (row["read_bytes"], row["written_bytes"]) == (100 + 12 * KIB, 16 * KIB)
    assert row["asked_bytes"] == 100 + 28 * KIB
    asked = {r["what"]: r for r in run(rec, "amplification").to_pylist() if r["layer"] == "asked"}
    assert (asked["read"]["operations"], asked["read"]["bytes"]) == (3, 100 + 12 * KIB)
    assert (asked["write"]["operations"], asked["write"]["bytes"]) == (1, 16 * KIB)
    assert asked["sync"]["operations"] == 1
    with Relations(rec) as relations:
        by_call = relations.rows(
            "SELECT name, sum(bytes) FROM bytes_by_call GROUP BY name ORDER BY name"
        )
    assert by_call == [("io_uring read", 76 * KIB), ("io_uring write", 16 * KIB), ("pread64", 100)]
    with Facts(rec) as facts:
        reads, writes = facts.calls.reads, facts.calls.writes
    assert (reads.calls, reads.done_bytes, reads.bytes) == (5, 100 + 12 * KIB, 100 + 32 * KIB)
    assert (writes.calls, writes.done_bytes) == (1, 16 * KIB)


def test_a_file_that_an_unseen_end_may_have_changed_is_still_known(make: Make) -> None:
    """Of an operation under way nothing was moved yet; more requests than that make the bytes unknown."""
    large = request(0, MS, "read", owner_page=None, bytes=1 << 20)
    rec = make({**TABLES, "block_requests": [large]})
    (row,) = (r for r in run(rec, "files").to_pylist() if r["path"] == "/srv/a")
    assert (row["read_bytes"], row["asked_bytes"]) == (None, None)


def test_what_is_said_of_calls_is_said_of_operations(make: Make) -> None:
    """Syncs, durable writes, latencies, files and failures, one by one and summed; one without an end has no length."""
    durable = operation(6 * MS, 3 * MS, "pwrite", 4 * KIB, api="libaio", kind="write", durable=True)
    rec = make({**TABLES, "async_operations": [*TABLES["async_operations"], durable]})
    syncs = {r["name"]: r for r in run(rec, "sync").to_pylist()}
    assert [
        (syncs[n]["calls"], syncs[n]["total_ns"])
        for n in ("io_uring fsync", "libaio pwrite (O_SYNC)")
    ] == [
        (1, 9 * MS),
        (1, 3 * MS),
    ]
    assert syncs["io_uring fsync"]["own_data_ns"] is None
    calls = {r["name"]: r for r in run(rec, "syscalls").to_pylist()}
    read = calls["io_uring read"]
    assert (read["calls"], read["errors"], read["unfinished"]) == (5, 1, 1)
    assert (read["total_ns"], read["cpu_ns"], read["p50_ns"]) == (8 * MS, None, 1.5 * MS)
    latencies = [r for r in run(rec, "syscall-latency").to_pylist() if r["name"] == "io_uring read"]
    assert sum(r["calls"] for r in latencies) == 4
    events = [r["name"] for r in run(rec, "events").to_pylist() if r["event"] == "operation"]
    assert len(events) == 8 and events[-1] == "libaio pwrite"
    with Facts(rec) as facts:
        assert (facts.calls.syncs.calls, facts.calls.sync_wall_ns) == (2, 9 * MS)
        assert facts.calls.reading.pairs == 2
        assert facts.durable_writes is True
