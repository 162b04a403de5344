"""PostgreSQL's pg_stat_io and pgbench, InnoDB's status, sysbench: written from generated data and read back; real outputs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbers_told import tells

from .reading import fixture, quick, read, values, verdict

COLUMNS = (
    "backend_type",
    "object",
    "context",
    "reads",
    "read_time",
    "writes",
    "write_time",
    "fsyncs",
    "fsync_time",
)
CELL = st.one_of(st.none(), st.integers(0, 10**9))
KINDS = ("client backend", "checkpointer", "background writer", "walwriter")


@quick
@given(rows=st.dictionaries(st.sampled_from(KINDS), st.tuples(*[CELL] * 6), min_size=1), style=st.sampled_from("amx"),
       timed=st.booleans())  # fmt: skip
def test_pg_stat_io(rows: dict[str, tuple[int | None, ...]], style: str, timed: bool) -> None:
    table = []
    for kind, numbers in rows.items():
        cells = [
            "" if n is None else "0" if name.endswith("_time") and not timed else str(n)
            for name, n in zip(COLUMNS[3:], numbers, strict=True)
        ]
        table.append([kind, "relation", "normal", *cells])
    if style == "x":
        text = ""
        for at, row in enumerate(table, 1):
            text += f"-[ RECORD {at} ]-+-----\n"
            text += "".join(
                f"{name:<12} | {cell}\n" for name, cell in zip(COLUMNS, row, strict=True)
            )
    else:
        bar = "|" if style == "m" else ""
        lines = [f"{bar} {' | '.join(row)} {bar}".rstrip() for row in [list(COLUMNS), *table]]
        lines.insert(1, bar + ("|" if bar else "+").join("---" for _ in COLUMNS) + bar)
        text = "\n".join(lines) + f"\n({len(rows)} rows)\n"
    parsed = read("pg-stat-io", text)
    assert not parsed.rejects and parsed.partial is not None
    known = timed and any(n for numbers in rows.values() for n in numbers[1::2] if n)
    assert any("track_io_timing is off" in note for note in parsed.notes) == (not known)
    for kind, (reads, read_time, _, _, fsyncs, fsync_time) in rows.items():
        found = values(parsed, f"{kind} relation normal")
        assert found.get("reads") == reads and found.get("fsyncs") == fsyncs
        if known and fsyncs and fsync_time:
            assert found["fsync_time_mean_ns"] == pytest.approx(fsync_time * 1e6 / fsyncs)
        if read_time is None or not known:
            assert "read_time_ns" not in found


def test_real_pg_stat_ios() -> None:
    parsed = fixture("pg-stat-io", "pg-stat-io-16.txt")
    assert values(parsed, "client backend relation normal")["reads"] == 21892
    assert (
        values(fixture("pg-stat-io", "pg-stat-io-18-wal.txt"), "client backend wal normal")[
            "fsyncs"
        ]
        == 2
    )
    found = values(fixture("pg-stat-io", "pg-stat-io-markdown.txt"), "checkpointer relation normal")
    assert found == {"writes": 6658, "fsyncs": 629}


@quick
@given(rates=st.tuples(*[st.integers(0, 10**6)] * 3), pending=st.tuples(*[st.integers(0, 99)] * 4), hit=st.integers(0, 1000),
       seconds=st.integers(1, 999), age=st.integers(0, 10**12), old=st.booleans())  # fmt: skip
def test_innodb(
    rates: tuple[int, ...], pending: tuple[int, ...], hit: int, seconds: int, age: int, old: bool
) -> None:
    reads, writes, fsyncs = rates
    log, pool, aio, logged = pending
    text = "=====================================\n2020-11-20 15:53:21 0x7feaa8123700 INNODB MONITOR OUTPUT\n"
    text += f"=====================================\nPer second averages calculated from the last {seconds} seconds\n"
    text += "------------\nTRANSACTIONS\n------------\n---TRANSACTION 4, not started\nUPDATE t SET a = '1 pending log writes'\n"
    text += f"Pending normal aio reads: [{aio}, 0, 2] , aio writes: [0] ,\nPending flushes (fsync) log: {log}; buffer pool: {pool}\n"
    text += f"8 OS file reads, 9 OS file writes, 7 OS fsyncs\n{reads}.25 reads/s, 16384 avg bytes/read, {writes}.50 writes/s, {fsyncs}.75 fsyncs/s\n"
    text += f"Log sequence number {age + 5}\nLast checkpoint at  5\n"
    text += f"{logged} pending log {'writes' if old else 'flushes'}, 0 pending chkp writes\n359 log i/o's done, 5.33 log i/o's/second\n"
    text += f"Buffer pool hit rate {hit} / 1000, young-making rate 0 / 1000 not 0 / 1000\n---BUFFER POOL 0\nBuffer pool hit rate 1 / 1000, x\n"
    parsed = read("innodb-status", text + "END OF INNODB MONITOR OUTPUT\n")
    found = values(parsed, "InnoDB")
    assert found["fsyncs_per_s"] == fsyncs + 0.75 and found["reads_per_s"] == reads + 0.25
    assert found["pending_aio_reads"] == aio + 2 and found["pending_log_fsyncs"] == log
    assert found["pending_log_writes"] == logged and found["checkpoint_age_bytes"] == age
    assert found["buffer_pool_hit_share"] == pytest.approx(hit / 1000)
    assert any(tells(note, f"{seconds:,} s") for note in parsed.notes)
    assert any("pending in InnoDB" in note for note in parsed.notes)  # two reads at least


def test_real_innodbs() -> None:
    found = values(fixture("innodb-status", "innodb-5.7.txt"), "InnoDB")
    assert found["fsyncs_per_s"] == 7.33 and found["os_fsyncs"] == 401855989
    assert found["checkpoint_age_bytes"] == 297396720714 - 297396669358
    assert values(fixture("innodb-status", "innodb-8.0.txt"), "InnoDB")["averaged_s"] == 30
    parsed = fixture("innodb-status", "innodb-pending.txt")
    assert any("flushing log" in note for note in parsed.notes)
    assert any("(1)" in note for note in parsed.notes)


@quick
@given(tps=st.integers(1, 10**6), mean=st.integers(1, 10**6), done=st.integers(0, 10**9), old=st.booleans(),
       statements=st.lists(st.integers(1, 10**5), max_size=5))  # fmt: skip
def test_pgbench(tps: int, mean: int, done: int, old: bool, statements: list[int]) -> None:
    text = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 50\nquery mode: simple\nnumber of clients: 10\n"
    text += (
        f"number of threads: 2\nduration: 60 s\nnumber of transactions actually processed: {done}\n"
    )
    if old:
        text += f"latency average: {mean / 1000:.3f} ms\ntps = {tps}.5 (including connections establishing)\ntps = {tps}.75 (excluding connections establishing)\n"
    else:
        text += f"number of failed transactions: 0 (0.000%)\nlatency average = {mean / 1000:.3f} ms\nlatency stddev = 1.860 ms\n"
        text += f"initial connection time = 29.265 ms\ntps = {tps}.75 (without initial connection time)\n"
    if statements:
        text += "statement latencies in milliseconds and failures:\n"
        for at, value in enumerate(statements):
            name = "END;" if at == len(statements) - 1 else f"UPDATE t{at} SET a = :b;"
            text += f"         {value / 1000:.3f}           0  {name}\n"
    parsed = read("pgbench", text)
    assert not parsed.rejects
    found = values(parsed, "pgbench")
    assert found["transactions_per_s"] == tps + 0.75 and found["transactions"] == done
    assert found["latency_mean_ns"] == pytest.approx(mean * 1000)
    if statements:
        assert found["commit_share"] == pytest.approx(statements[-1] / sum(statements))
    else:
        assert "commit_share" not in found


def test_real_pgbenches() -> None:
    assert values(fixture("pgbench", "pgbench-16.txt"), "pgbench")[
        "latency_deviation_ns"
    ] == pytest.approx(1.86e6)
    found = values(fixture("pgbench", "pgbench-11.txt"), "pgbench")
    assert found["transactions_per_s"] == 1449.363391 and found["transactions"] == 100000
    parsed = fixture("pgbench", "pgbench-progress.txt")
    rows = [row for row in parsed.tables["measurements"] if row["subject"] == "pgbench progress"]
    assert rows[0]["ts_ns"] == 40 * 10**9 and rows[0]["value"] == 2440.4 and not parsed.rejects


@quick
@given(rates=st.tuples(*[st.integers(0, 10**6)] * 4), times=st.tuples(*[st.integers(0, 10**6)] * 4), old=st.booleans(),
       progress=st.booleans())  # fmt: skip
def test_sysbench(
    rates: tuple[int, ...], times: tuple[int, ...], old: bool, progress: bool
) -> None:
    reads, writes, fsyncs, mib = rates
    least, mean, longest, most = times
    text = "sysbench 1.0.16 (using bundled LuaJIT 2.1.0-beta2)\n\nRunning the test with following options:\nNumber of threads: 4\n\n"
    if progress:
        text += f"[ 5s ] reads: 0.00 MiB/s writes: {mib}.25 MiB/s fsyncs: {fsyncs}.31/s latency (ms,95%): {mean / 100:.3f}\n"
    text += f"\nFile operations:\n    reads/s:                      {reads}.25\n    writes/s:  {writes}.50\n    fsyncs/s: {fsyncs}.75\n\n"
    text += f"Throughput:\n    read, MiB/s:                  {mib}.00\n    written, MiB/s:  1.00\n\nGeneral statistics:\n    total time:   10.0002s\n"
    text += "    total number of events:              63976\n\n" + (
        "    response time:\n" if old else "Latency (ms):\n"
    )
    unit = "ms" if old else ""
    name = "approx.  95 percentile" if old else "95th percentile"
    for label, value in (("min", least), ("avg", mean), ("max", longest), (name, most)):
        text += f"         {label}:                                  {value / 100:.2f}{unit}\n"
    text += "\nThreads fairness:\n    events (avg/stddev):           63976.0000/0.00\n"
    parsed = read("sysbench", text)
    assert not parsed.rejects and parsed.version == "1.0.16"
    found = values(parsed, "sysbench")
    assert (found["reads_per_s"], found["fsyncs_per_s"]) == (reads + 0.25, fsyncs + 0.75)
    assert found["read_bytes_per_s"] == mib * 2**20 and found["elapsed_s"] == pytest.approx(10.0002)
    assert found["latency_mean_ns"] == pytest.approx(mean * 1e4)
    assert found["latency_p95_ns"] == pytest.approx(most * 1e4) and found["threads"] == 4
    if progress:
        assert values(parsed, "sysbench progress")["fsyncs_per_s"] == pytest.approx(fsyncs + 0.31)


def test_real_sysbenches() -> None:
    found = values(fixture("sysbench", "sysbench-0.4-oltp.txt"), "sysbench")
    assert found["transactions_per_s"] == 2959.65 and found["latency_p95_ns"] == pytest.approx(
        440_000
    )
    parsed = fixture("sysbench", "sysbench-1.0-fileio.txt")
    assert (
        values(parsed, "sysbench")["written_bytes_per_s"] == pytest.approx(43.88 * 2**20)
        and not parsed.rejects
    )
    parsed = fixture("sysbench", "sysbench-1.0-progress.txt")
    assert not parsed.rejects and values(parsed, "sysbench progress")[
        "latency_p95_ns"
    ] == pytest.approx(93_000)


@pytest.mark.parametrize(
    ("name", "requested", "write_ms", "sync_ms"),
    [("pg-stat-bgwriter-15.txt", 7, 1117, 141), ("pg-stat-checkpointer-17.txt", 5, 544, 158)],
)
def test_checkpoints_as_views_count_them(
    name: str, requested: int, write_ms: int, sync_ms: int
) -> None:
    parsed = fixture("pg-stat-bgwriter", name)
    assert values(parsed, "PostgreSQL") == {
        "checkpoints_timed": 0,
        "checkpoints_requested": requested,
        "checkpoints_write_ns": write_ms * 1e6,
        "checkpoints_sync_ns": sync_ms * 1e6,
    }
    assert not parsed.rejects


def test_a_count_of_checkpoints_that_is_no_number_is_rejected() -> None:
    parsed = read("pg-stat-bgwriter", " num_timed     | 12\n num_requested | 4?\n")
    assert values(parsed, "PostgreSQL") == {"checkpoints_timed": 12} and len(parsed.rejects) == 1


@pytest.mark.parametrize(
    ("timed", "requested", "told"), [(1, 9, True), (10, 9, False), (1, 4, False)]
)
def test_checkpoints_that_are_mostly_requested_want_a_larger_log(
    tmp_path: Path, timed: int, requested: int, told: bool
) -> None:
    text = f"-[ RECORD 1 ]-+---\nnum_timed     | {timed}\nnum_requested | {requested}\n"
    assert ("Raise max_wal_size" in verdict(tmp_path, text).headline) == told
