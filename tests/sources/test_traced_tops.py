"""biotop, filetop, iosnoop and syncsnoop: written from generated data as the tools print them, and every number read back."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.names import dev_number
from tests.numbers_told import tells

from .reading import fixture, intervals, quick, read, taken_apart, values

COMMS = st.sampled_from(["dd", "jbd2/sda2-8", "Web Content", "kworker/u8:3+fl", "12", "a R 8"])
PIDS = st.integers(1, 4_194_304)
#: How a screen's interval is known: nowhere, from the tool's first line, from the clock, from the command.
KNOWN = st.sampled_from(["", "every", "clock", "command"])


def clock(seconds: int) -> str:
    """Time of day, over midnight."""
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def above(known: str, at: int, seconds: int) -> str:
    """What stands above the titles of screen `at`."""
    text = (
        f"Tracing... Output every {seconds} secs. Hit Ctrl-C to end\n\n"
        if known == "every" and not at
        else ""
    )
    return (
        text + f"{clock(86_390 + at * seconds)} loadavg: 0.61 0.69 0.70 2/924 297038\n\n"
        if known in {"every", "clock"}
        else text
    )


def length(known: str, screens: int, seconds: int) -> int:
    """The interval that can be known, in ns."""
    return 10**9 * seconds if known in {"every", "command"} or (known and screens > 1) else 10**9


REQUESTS = st.tuples(PIDS, COMMS, st.sampled_from("RW"), st.sampled_from([("sda", 8, 0), ("nvme0n1", 259, 3)]),
                     st.integers(1, 99_999), st.integers(0, 10**7), st.integers(0, 99_999))  # fmt: skip


@quick
@given(screens=st.lists(st.lists(REQUESTS, max_size=4), min_size=1, max_size=3), seconds=st.integers(1, 99),
       known=KNOWN, tenths=st.booleans())  # fmt: skip
def test_biotop(
    screens: list[list[tuple[int, str, str, tuple[str, int, int], int, int, int]]],
    seconds: int,
    known: str,
    tenths: bool,
) -> None:
    text, size = "", ".5" if tenths else ""
    disks: dict[tuple[int, int, str], float] = defaultdict(float)
    processes: dict[tuple[int, int, str], float] = defaultdict(float)
    for at, rows in enumerate(screens):
        text += above(known, at, seconds)
        text += "PID     COMM             D MAJ MIN DISK       I/O  Kbytes  AVGms\n"
        for pid, comm, way, (disk, major, minor), count, kib, hundredths in rows:
            text += f"{pid:<7} {comm:<16} {way} {major:<3} {minor:<3} {disk:<8} {count:>5} {kib}{size} {hundredths / 100:6.2f}\n"
            dev, moved = dev_number(major, minor), (kib + (0.5 if tenths else 0)) * 1024
            kind = {"R": "read", "W": "write"}[way]
            bytes_ = "read_bytes" if way == "R" else "written_bytes"
            disks[at, dev, f"{kind}s"] += count
            disks[at, dev, bytes_] += moved
            disks[at, dev, f"{kind}_ns"] += count * hundredths * 10_000
            processes[at, pid, bytes_] += moved
    parsed = read("biotop", text, f"biotop {seconds}" if known == "command" else "")
    assert [part.format for part in taken_apart(text).parts] == ["biotop"]
    assert not parsed.rejects and parsed.partial is None
    interval = length(known, len(screens), seconds)
    for table, wanted in (("disk_samples", disks), ("process_io", processes)):
        found = {
            (one.start_ns // interval, next(iter(one.key.values())), name): value
            for one in intervals(parsed, table)
            for name, value in one.counters.items()
            if value
        }
        assert found == pytest.approx({key: value for key, value in wanted.items() if value})
    assert all(one.interval_ns == interval for one in parsed.intervals)
    assumed = not known or (known == "clock" and len(screens) == 1)
    assert any("1 s is assumed" in note for note in parsed.notes) == assumed


CALLS = st.tuples(PIDS, COMMS, *[st.integers(0, 10**6)] * 4, st.sampled_from("RSO"),
                  st.sampled_from(["a.txt", "my file 1", "R 2", "[pipe:1]"]))  # fmt: skip


@quick
@given(
    screens=st.lists(st.lists(CALLS, max_size=4), min_size=1, max_size=3),
    seconds=st.integers(1, 99),
    known=KNOWN,
)
def test_filetop(
    screens: list[list[tuple[int, str, int, int, int, int, str, str]]], seconds: int, known: str
) -> None:
    text = ""
    threads: dict[tuple[int, int, str], int] = defaultdict(int)
    files: dict[tuple[str, str], int] = defaultdict(int)
    for at, rows in enumerate(screens):
        text += above(known, at, seconds)
        text += "TID     COMM             READS  WRITES R_Kb    W_Kb    T FILE\n"
        for tid, comm, reads, writes, read_kib, write_kib, kind, file in rows:
            text += f"{tid:<7} {comm:<16} {reads:<6} {writes:<6} {read_kib:<7} {write_kib:<7} {kind} {file}\n"
            for name, amount in (
                ("read_calls", reads),
                ("write_calls", writes),
                ("read_call_bytes", read_kib * 1024),
                ("write_call_bytes", write_kib * 1024),
            ):
                threads[at, tid, name] += amount
                files[file, name] += amount
    parsed = read("filetop", text, f"filetop {seconds}" if known == "command" else "")
    assert [part.format for part in taken_apart(text).parts] == ["filetop"]
    assert not parsed.rejects and parsed.partial == "only the busiest files"
    interval = length(known, len(screens), seconds)
    assert {
        (one.start_ns // interval, one.key["tgid"], name): value
        for one in intervals(parsed, "process_io")
        for name, value in one.counters.items()
    } == threads
    assert all(one.interval_ns == interval for one in parsed.intervals)
    assert {
        (row["subject"], row["metric"]): row["value"]
        for row in parsed.tables.get("measurements", [])
    } == files


#: rwbs letters → operation and flags, as the kernel's blk_fill_rwbs writes them.
LETTERS = {
    "R": ("read", []), "RM": ("read", ["metadata"]), "RA": ("read", ["readahead"]), "W": ("write", []),
    "WS": ("write", ["sync"]), "FWFS": ("write", ["sync"]), "WSM": ("write", ["sync", "metadata"]), "D": ("discard", []),
    "FF": ("flush", []),
}  # fmt: skip
BLOCKS = st.tuples(COMMS, PIDS, st.sampled_from(sorted(LETTERS)), st.integers(0, 10**10), st.integers(1, 2**21),
                   st.integers(0, 10**9), st.integers(0, 10**6))  # fmt: skip


@quick
@given(rows=st.lists(BLOCKS, min_size=1, max_size=5), starts=st.booleans(), ends=st.booleans())
def test_iosnoop(
    rows: list[tuple[str, int, str, int, int, int, int]], starts: bool, ends: bool
) -> None:
    text = "Tracing block I/O... Ctrl-C to end.\n"
    text += ("STARTs          " if starts else "") + ("ENDs            " if ends else "")
    text += "COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n"
    sums: dict[str, list[int]] = defaultdict(list)
    for comm, pid, letters, block, size, begin_us, hundredths in rows:
        end_us = begin_us + hundredths * 10
        text += f"{begin_us / 1e6:<15.6f} " if starts else ""
        text += f"{end_us / 1e6:<15.6f} " if ends else ""
        flush = letters == "FF"
        text += f"{comm:<16} {pid:<6} {letters:<4} 8,16     {2**64 - 1 if flush else block:<12} {0 if flush else size:<6} "
        text += f"{hundredths / 100:8.2f}\n"
        sums[LETTERS[letters][0]].append(hundredths * 10_000)
    parsed = read("iosnoop", text)
    assert [part.format for part in taken_apart(text).parts] == ["iosnoop"]
    assert not parsed.rejects
    if not (starts or ends):
        for kind, took in sums.items():
            found = values(parsed, f"8:16 {kind}")
            moved = sum(row[4] for row in rows if LETTERS[row[2]][0] == kind)
            assert found == {
                "requests": len(took), "bytes": 0 if kind == "flush" else moved,
                "wait_mean_ns": pytest.approx(sum(took) / len(took)), "wait_max_ns": max(took),
            }  # fmt: skip
        return
    for one, (_, pid, letters, block, size, begin_us, hundredths) in zip(
        parsed.tables["block_requests"], rows, strict=True
    ):
        flush = letters == "FF"
        assert (one["op"], one["flags"]) == LETTERS[letters]
        assert (one["dev"], one["tgid"]) == (dev_number(8, 16), pid)
        assert (one["sector"], one["bytes"]) == ((None, 0) if flush else (block, size))
        assert one["issue_ns"] == begin_us * 1000
        assert one["complete_ns"] == (begin_us + hundredths * 10) * 1000


NAMES = st.sampled_from(["sync", "fsync", "fdatasync", "msync", "syncfs", "sync_file_range"])


@quick
@given(calls=st.lists(st.tuples(NAMES, PIDS, COMMS, st.integers(0, 40)), min_size=1, max_size=6),
       layout=st.sampled_from(["bcc", "libbpf", "bpftrace"]))  # fmt: skip
def test_syncsnoop(calls: list[tuple[str, int, str, int]], layout: str) -> None:
    text = {
        "bcc": "TIME(s)            CALL\n",
        "libbpf": "TIME(s)            COMM             PID     CALL\n",
        "bpftrace": "Tracing sync syscalls... Hit Ctrl-C to end.\nTIME      PID    COMM             EVENT\n",
    }[layout]
    when, times = 86_390, defaultdict[str, list[int]](list)
    for name, pid, comm, gap in calls:
        when += gap
        text += {
            "bcc": f"{when}.500000000    {name}()\n",
            "libbpf": f"{when}.500000000    {comm:<16} {pid:<7} {name}\n",
            "bpftrace": f"{clock(when)}  {pid:<6} {comm:<16} tracepoint:syscalls:sys_enter_{name}\n",
        }[layout]
        times[name if layout == "bcc" else f"{name} of {comm} ({pid})"].append(when)
    parsed = read("syncsnoop", text)
    assert [part.format for part in taken_apart(text).parts] == ["syncsnoop"]
    assert not parsed.rejects
    for subject, called in times.items():
        found = values(parsed, subject)
        assert found["sync_calls"] == len(called)
        spanned = called[-1] - called[0]
        # Two calls a second apart are one a second: no more, and one call has no rate.
        assert found.get("sync_calls_per_s") == (
            pytest.approx((len(called) - 1) / spanned) if spanned else None
        )
    assert parsed.notes[0].startswith(f"{len(calls)} sync call")


def test_real_outputs() -> None:
    parsed = fixture("biotop", "biotop-bcc.txt")
    assert [one.counters["reads"] for one in intervals(parsed, "disk_samples")] == [131, 244]
    assert intervals(parsed, "disk_samples")[0].counters["written_bytes"] == 276 * 1024
    assert values(fixture("filetop", "filetop-python.txt"), "651.txt") == {
        "read_calls": 2, "write_calls": 0, "read_call_bytes": 5957 * 1024, "write_call_bytes": 0,
    }  # fmt: skip
    assert tells(fixture("syncsnoop", "syncsnoop-bcc.txt").notes[0], "2 sync calls", "0.3")
