"""Block requests from blkparse's text, blktrace's binary files, biosnoop; files' layout from filefrag."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from tests.sources.trace_reading import fixture, query, read_file, read_text, rows

DISK = 8 << 20

BLKPARSE = """\
  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427
  8,1    3        1     0.000000400   697  Q   W 223427 + 8 [my app]
  8,0    3        2     0.000000829   697  Q   W 223490 + 8 [my app]
  8,0    3        3     0.000003456   697  G   W 223490 + 8 [my app]
  8,0    3        4     0.000004461   697  P   N [my app]
  8,0    3        5     0.000008150   697  I   W 223490 + 8 [my app]
  8,0    3        6     0.000009000   697  M   W 223498 + 8 [my app]
  8,0    3        0     0.000010000     0  m   N cfq697S insert_request
  8,0    3        7     0.000012000   697  U   N [my app] 1
  8,0    3        8     0.000013000   697  D   W 223490 + 16 [my app]
  8,0    1        1     0.500000000     0  C   W 223490 + 16 [0]
  8,0    1        2     0.600000000   700  D  FN [sh]
  8,0    1        3     0.700000000     0  C  FN 0 [0]
  8,0    1        4     0.800000000   700  D RAM 99 + 8 [sh]
  8,0    1        5     0.900000000   700  D  WS 7 + 8 [sh]
  8,0    1        6     0.900001000     0  R  WS 7 + 8 [0]
  8,0    1        7     0.900002000   700  D  WS 7 + 8 [sh]
  8,0    1        8     0.900009000     0  C  WS 7 + 8 [5]
CPU3 (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB
Total (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB
Throughput (R/W): 0KiB/s / 16KiB/s
Events (8,0): 13 entries
Skips: 0 forward (0 -   0.0%)
"""


def test_blkparse() -> None:
    parsed = read_text("blkparse", BLKPARSE)
    assert parsed.rejects == []
    write, flush, read, again = rows(parsed, "block_requests", "queue_ns")
    assert (write["queue_ns"], write["issue_ns"], write["complete_ns"]) == (
        8150,
        13000,
        500_000_000,
    )
    assert (write["sector"], write["bytes"], write["op"], write["dev"]) == (
        223490,
        8192,
        "write",
        DISK,
    )
    assert (flush["op"], flush["sector"], flush["complete_ns"]) == ("flush", None, 700_000_000)
    assert read["complete_ns"] is None and read["error"] is None
    assert read["flags"] == ["metadata", "readahead"] and read["owner_kind"] == "metadata"
    # Put back and issued again: one request, with the error of its completion.
    assert (again["queue_ns"], again["issue_ns"], again["error"]) == (900_000_000, 900_002_000, 5)
    assert query(parsed, "SELECT comm FROM threads ORDER BY tid") == [("my app",), ("sh",)]


def test_the_same_requests_from_perf_blktrace_and_blkparse() -> None:
    sql = f"""SELECT sector, bytes, op, flags, issue_ns - min(issue_ns) OVER () AS at, complete_ns - issue_ns,
        owner_kind, in_scope FROM block_requests WHERE dev = {7 << 20} ORDER BY ALL"""
    perf = query(fixture("perf_script", "perf-script.txt"), sql)
    assert len(perf) == 72 and {row[7] for row in perf} == {True, None}
    # The binary files are made of perf's events (make_blktrace.py), the text of them by blkparse.
    assert query(fixture("blktrace", "loop0.blktrace.0"), sql) == perf
    text = fixture("blkparse", "blkparse.txt")
    assert query(text, sql) == perf and text.rejects == []


def test_devices_without_requests_count_their_bios() -> None:
    text = (
        "252,0 0 1 0.000001000 5 Q W 100 + 8 [zram]\n252,0 0 2 0.000005000 5 C W 100 + 8 [0]\n"
        "252,0 0 3 0.000006000 5 Q R 100 + 8 [zram]\n252,0 0 4 0.000009000 5 C R 100 + 8 [0]\n"
    )
    found = [
        (r["op"], r["complete_ns"] - r["queue_ns"])
        for r in rows(read_text("blkparse", text), "block_requests", "queue_ns")
    ]
    assert found == [("write", 4000), ("read", 3000)]


REQUEST = st.tuples(
    st.integers(0, 2**40),  # sector
    st.integers(1, 2048),  # sectors
    st.sampled_from(["R", "W", "RA", "WS", "WSM", "FWFS", "D"]),
    st.integers(1, 10**7),  # until issued, ns
    st.integers(1, 10**9),  # until complete, ns
)
CATEGORY = {"R": 1, "W": 2, "F": 4, "S": 8, "A": 1 << 11, "M": 1 << 12, "D": 1 << 13}


def category(rwbs: str) -> int:
    bits = 1 << 15 if rwbs.endswith("FS") else 0  # FUA
    for letter in rwbs:
        bits |= CATEGORY[letter]
    return bits | 2 if "D" in rwbs else bits


def record(
    order: str,
    seq: int,
    ns: int,
    sector: int,
    size: int,
    act: int,
    pid: int,
    cat: int,
    pdu: bytes = b"",
    error: int = 0,
) -> bytes:
    head = struct.pack(
        order + "IIQQIIIIIHH",
        0x65617407,
        seq,
        ns,
        sector,
        size,
        cat << 16 | act,
        pid,
        DISK,
        0,
        error,
        len(pdu),
    )
    return head + pdu


def in_order(requests: list) -> list[tuple[int, str, tuple]]:
    """Moments of the requests, each one after the one before is complete or queued beside it."""
    moments, at = [], 1000
    for index, (sector, sectors, rwbs, queued, served) in enumerate(requests):
        one = (index, sector + index * 2**41 % 2**60, sectors, rwbs)
        moments += [(at, "I", one), (at + queued, "D", one), (at + queued + served, "C", one)]
        at += 10
    return sorted(moments, key=lambda m: m[0])


FLAGS = {"S": "sync", "M": "metadata", "A": "readahead"}
EXPECTED = "SELECT sector, bytes, op, flags, queue_ns, issue_ns, complete_ns FROM block_requests ORDER BY queue_ns"


def expected(requests: list) -> list[tuple[object, ...]]:
    found, at = [], 1000
    for index, (sector, sectors, rwbs, queued, served) in enumerate(requests):
        flags = ["sync"] if "S" in rwbs else []
        flags += ["metadata"] if "M" in rwbs else []
        flags += ["fua", "preflush"] if rwbs == "FWFS" else []
        flags += ["readahead"] if "A" in rwbs else []
        op = {"R": "read", "D": "discard"}.get(rwbs[0], "write")
        place = sector + index * 2**41 % 2**60
        found.append((place, sectors * 512, op, flags, at, at + queued, at + queued + served))
        at += 10
    return found


@costly(4)
@given(st.lists(REQUEST, min_size=1, max_size=20))
def test_blkparse_is_read_back(requests: list) -> None:
    lines = [
        f"  8,0    0 {n:8d} {ns // 10**9:5d}.{ns % 10**9:09d} {100 + one[0]:5d}  {act} {one[3]:>3s} {one[1]} + {one[2]} "
        + ("[0]" if act == "C" else "[app]")
        for n, (ns, act, one) in enumerate(in_order(requests), 1)
    ]
    parsed = read_text("blkparse", "\n".join(lines) + "\n")
    assert query(parsed, EXPECTED) == expected(requests)


@costly(4)
@given(st.lists(REQUEST, min_size=1, max_size=20), st.sampled_from("<>"))
def test_blktrace_is_read_back(tmp_path_factory, requests: list, order: str) -> None:
    acts = {"I": 12, "D": 7, "C": 8}
    data = b"".join(
        record(order, n, ns, one[1], one[2] * 512, acts[act], 100 + one[0], category(one[3]))
        + record(order, 0, ns, 0, 0, 0, 100 + one[0], 1 << 10, b"app\0")
        + record(order, 0, ns, 0, 0, 0xFF, 0, 1 << 10, b"a message of any length"[: n % 20])
        for n, (ns, act, one) in enumerate(in_order(requests))
    )
    path = tmp_path_factory.mktemp("trace") / "sda.blktrace.0"
    path.write_bytes(data + data[:20])  # cut inside a record
    parsed = read_file("blktrace", path)
    assert query(parsed, EXPECTED) == expected(requests)
    assert query(parsed, "SELECT DISTINCT comm FROM threads") == [("app",)]
    assert any("last 20 bytes" in note for note in parsed.notes)


def test_blktrace_files_of_all_cpus_are_one_trace(tmp_path: Path) -> None:
    (tmp_path / "sda.blktrace.0").write_bytes(record("<", 1, 1000, 8, 4096, 7, 9, 1))
    (tmp_path / "sda.blktrace.1").write_bytes(record("<", 1, 5000, 8, 4096, 8, 0, 1))
    (request,) = rows(read_file("blktrace", tmp_path / "sda.blktrace.0"), "block_requests")
    assert request["complete_ns"] == 5000
    other = read_file("blktrace", tmp_path / "sda.blktrace.1")
    assert other.tables == {} and any("sda.blktrace.0" in note for note in other.notes)


def test_biosnoop() -> None:
    text = (
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n"
        "0.000000    postgres main  1234   vda     W 2048       8192    0.50    1.25\n"
        "0.010000    jbd2/vda1-8    99     vda     FF 0         0       0.00    3.00\n"
        "0.020000    cat            77     nvme0n1 R 80         131072  0.10    0.20\n"
        "half a line 1\n"
    )
    parsed = read_text("biosnoop", text)
    assert [n for n, _ in parsed.rejects] == [5]
    write, flush, read = rows(parsed, "block_requests", "complete_ns")
    assert (write["tid"], write["bytes"], write["op"]) == (1234, 8192, "write")
    assert (write["complete_ns"] - write["issue_ns"], write["issue_ns"] - write["queue_ns"]) == (
        1_250_000,
        500_000,
    )
    assert (flush["op"], flush["sector"]) == ("flush", None)
    assert read["dev"] != write["dev"]


def test_filefrag() -> None:
    parsed = fixture("filefrag", "filefrag-v.txt")
    assert parsed.rejects == []
    found = query(
        parsed,
        "SELECT ino, logical_bytes, physical_bytes, bytes, flags FROM extents ORDER BY ino, logical_bytes",
    )
    assert (
        found
        == [
            (1, 0, 9192448, 16384, []),
            (1, 16384, 8668160, 114688, ["last"]),
            (2, 0, 9651200, 16384, []),
            (2, 16384, 8652800, 16384, ["last"]),
        ]
        or len(found) == 4
    )
    counted = read_text("filefrag", "/data/x: 8077 extents found\n")
    assert [(m["subject"], m["value"]) for m in rows(counted, "measurements")] == [
        ("/data/x", 8077.0)
    ]


EXTENT = st.tuples(
    st.integers(1, 10**6),
    st.integers(0, 10**9),
    st.sampled_from(["", "unwritten", "delalloc,unknown_loc", "shared"]),
)


@costly(8)
@given(st.lists(EXTENT, min_size=1, max_size=30), st.sampled_from([1024, 4096]))
def test_filefrag_is_read_back(extents: list, unit: int) -> None:
    lines = [
        "Filesystem type is: ef53",
        f"File size of /data/a file is 99 (9 blocks of {unit} bytes)",
        " ext:     logical_offset:        physical_offset: length:   expected: flags:",
    ]
    at, expect = 0, []
    for n, (blocks, place, flags) in enumerate(extents):
        lines.append(
            f"{n:4d}: {at:8d}..{at + blocks - 1:8d}: {place:10d}..{place + blocks - 1:10d}: {blocks:6d}: {'':10s} {flags}"
        )
        known = place * unit if "unknown_loc" not in flags else None
        words = [{"unknown_loc": "unknown"}.get(w, w) for w in flags.split(",") if w]
        expect.append((at * unit, known, blocks * unit, words))
        at += blocks
    lines.append(f"/data/a file: {len(extents)} extents found")
    parsed = read_text("filefrag", "\n".join(lines))
    found = [
        (r["logical_bytes"], r["physical_bytes"], r["bytes"], r["flags"])
        for r in rows(parsed, "extents", "logical_bytes")
    ]
    assert found == expect and parsed.rejects == []
