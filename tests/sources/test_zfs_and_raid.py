"""ZFS' histograms, queues and cache, and Linux' software RAID: written from generated data and read back; real outputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.numbers_told import tells

from .reading import FIXTURES, fixture, intervals, quick, read, taken_apart, values
from .test_written_and_read import COUNTS

LATENCIES = ("1ns", "3ns", "7ns", "511ns", "1us", "65us", "1ms", "33ms", "536ms", "1s", "17s")


def true_end_ns(label: str) -> int:
    """The power of two that a row's largest value lies below: 2^n - 1 is printed cut to its unit."""
    units = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    number, unit = next(
        (label.removesuffix(u), f) for u, f in units.items() if label.removesuffix(u).isdigit()
    )
    return next(2**n for n in range(50) if int((2**n - 1) / unit) == int(number))


@quick
@given(counts=st.lists(st.tuples(*[st.integers(0, 999)] * 5), min_size=len(LATENCIES), max_size=len(LATENCIES)),
       twice=st.booleans(), command=st.sampled_from(["zpool iostat -w", "zpool iostat -wy 5"]))  # fmt: skip
def test_latencies(counts: list[tuple[int, ...]], twice: bool, command: str) -> None:
    head = "tank   total_wait     disk_wait\nlatency   read  write   read  write  scrub\n-----  -----  -----  -----  -----  -----\n"
    body = "".join(
        f"{label} {' '.join(map(str, row))}\n" for label, row in zip(LATENCIES, counts, strict=True)
    )
    parsed = read("zpool-histograms", (head + body + "\n") * (1 + twice), command)
    assert not parsed.rejects
    rows = [
        row
        for row in parsed.tables.get("histograms", [])
        if row["metric"] == "zfs_disk_wait_read_ns"
    ]
    times = 2 if twice and "y" in command else 1
    wanted = [
        (true_end_ns(label), row[2]) for label, row in zip(LATENCIES, counts, strict=True) if row[2]
    ]
    assert [(row["high"], row["count"]) for row in rows] == wanted * times
    assert all(row["low"] * 2 == row["high"] and row["dev"] == "tank" for row in rows)
    assert (parsed.partial is not None) == (command == "zpool iostat -w" and not twice)


@quick
@given(counts=st.lists(st.tuples(*[COUNTS] * 4), min_size=3, max_size=3))
def test_request_sizes(counts: list[tuple[int, ...]]) -> None:
    text = "tank  sync_read    sync_write\nreq_size      ind    agg    ind    agg\n"
    for label, row in zip(("512", "4K", "1M"), counts, strict=True):
        text += f"{label} {' '.join(map(str, row))}\n"
    parsed = read("zpool-histograms", text)
    rows = [
        row
        for row in parsed.tables.get("histograms", [])
        if row["metric"] == "zfs_sync_write_agg_bytes"
    ]
    assert [(row["low"], row["count"]) for row in rows] == [
        (low, row[3]) for low, row in zip((512, 4096, 2**20), counts, strict=True) if row[3]
    ]


def test_real_histograms() -> None:
    parsed = fixture("zpool-histograms", "zpool-iostat-w.txt")
    (first, second) = parsed.tables["histograms"]
    assert (first["metric"], first["low"], first["high"], first["count"]) == (
        "zfs_async_queue_read_ns",
        512,
        1024,
        548,
    )
    assert second["count"] == round(6.11 * 1024)
    assert (
        values(fixture("zpool-histograms", "zpool-iostat-wp.txt"), "mypool")["scrub_p99_below_ns"]
        == 4096
    )
    counts = {
        (row["metric"], row["low"]): row["count"]
        for row in fixture("zpool-histograms", "zpool-iostat-r-2.txt").tables["histograms"]
    }
    assert counts["zfs_async_write_ind_bytes", 8192] == round(3.81 * 1024)
    assert counts["zfs_async_write_agg_bytes", 262144] == 545


def test_real_queues() -> None:
    (part,) = taken_apart("$ zpool iostat -y -q data1 10 5\n" + _text("zpool-iostat-q.txt")).parts
    assert len(intervals(part.parsed, "disk_samples")) == 5
    assert part.parsed.intervals[0].interval_ns == 10 * 10**9
    last = values(part.parsed, "data1")
    assert last["asyncq_read_active"] == 39 and last["asyncq_read_pending"] == 0
    (part,) = taken_apart(_text("zpool-iostat-lq.txt")).parts
    found = values(part.parsed, "pool2")
    assert found["disk_wait_read_ns"] == 292_000 and found["syncq_read_active"] == 3
    assert found["trim_wait_ns"] == 10**6 and "scrub_wait_ns" not in found
    (one,) = part.parsed.intervals
    assert one.counters["read_ns"] == pytest.approx(16.6 * 1024 * 5 * 292_000)


def _text(file: str) -> str:
    return (FIXTURES / file).read_text()


@quick
@given(rows=st.lists(st.tuples(st.integers(1, 999), st.integers(0, 999), st.integers(1, 99)), min_size=2, max_size=5),
       seconds=st.integers(1, 60))  # fmt: skip
def test_arcstat(rows: list[tuple[int, int, int]], seconds: int) -> None:
    text = "    time  read  miss  miss%  dmis  dm%  pmis  pm%  mmis  mm%  arcsz     c\n"
    for at, (reads, missed, gib) in enumerate(rows):
        when = 86_395 + at * seconds  # over midnight
        clock = f"{when // 3600 % 24:02}:{when // 60 % 60:02}:{when % 60:02}"
        text += f"{clock}  {reads}  {min(missed, reads)}  1  2  1  3  1  4  1  {gib}G  {gib}.5G\n"
    parsed = read("arcstat", text)
    assert not parsed.rejects
    taken = [row for row in parsed.tables["measurements"] if row["metric"] == "size_bytes"]
    assert [row["value"] for row in taken] == [gib * 2**30 for _, _, gib in rows[1:]]
    assert [row["ts_ns"] for row in taken] == [at * seconds * 10**9 for at in range(len(rows) - 1)]
    share = sum(min(m, r) for r, m, _ in rows[1:]) / sum(r for r, _, _ in rows[1:])
    assert values(parsed, "ARC")["miss_share"] == pytest.approx(share)


def test_real_arcstats() -> None:
    parsed = fixture("arcstat", "arcstat-0.6.txt")
    assert "the first" not in " ".join(parsed.notes) and len(parsed.rejects) == 0
    assert values(fixture("arcstat", "arcstat-0.7.txt"), "ARC")["reads_per_s"] == 2000
    assert values(fixture("arcstat", "arcstat-2.txt"), "ARC")["lacking_bytes"] == 535 * 2**20


@quick
@given(
    hits=st.integers(0, 10**12),
    misses=st.integers(1, 10**12),
    used=st.integers(1, 2**40),
    limit=st.integers(1, 2**40),
)
def test_arcs_counters(hits: int, misses: int, used: int, limit: int) -> None:
    text = "9 1 0x01 147 39984 1 2\nname                            type data\n"
    for name, value in (
        ("hits", hits),
        ("iohits", 3),
        ("misses", misses),
        ("size", used),
        ("c_max", limit),
    ):
        text += f"{name:<32}4    {value}\n"
    parsed = read("arc-summary", text)
    found = values(parsed, "ARC")
    assert not parsed.rejects and parsed.partial is not None
    assert found["miss_share"] == pytest.approx(misses / (hits + misses))
    assert found["size_bytes"] == used
    assert any("larger than its limit" in note for note in parsed.notes) == (used > 1.1 * limit)


def test_real_arc_summaries() -> None:
    found = values(fixture("arc-summary", "arc-summary-0.6.txt"), "ARC")
    assert found["misses"] == pytest.approx(1.89e9) and found["limit_bytes"] == 2 * 2**30
    parsed = fixture("arc-summary", "arc-summary-2.1.txt")
    assert values(parsed, "ARC")["size_bytes"] == 20 * 2**30
    assert any("20.0 of 16.0 GiB" in note for note in parsed.notes)
    assert values(fixture("arc-summary", "arcstats-2.2.txt"), "ARC")["hits"] == 10390029


@quick
@given(arrays=st.dictionaries(st.integers(0, 127), st.tuples(st.integers(1, 12), st.integers(0, 12),
       st.sampled_from(["", "resync", "recovery", "check", "DELAYED"]), st.integers(0, 1000), st.integers(0, 10**6)),
       min_size=1, max_size=4))  # fmt: skip
def test_mdstat(arrays: dict[int, tuple[int, int, str, int, int]]) -> None:
    text = "Personalities : [raid1] [raid6] [raid5] [raid4]\n"
    for number, (wanted, lost, work, done, speed) in arrays.items():
        works = max(0, wanted - lost)
        text += f"md{number} : active raid6 sdb1[1] sda1[0]\n      7809024 blocks super 1.2 [{wanted}/{works}] "
        text += f"[{'U' * works}{'_' * (wanted - works)}]\n"
        if work == "DELAYED":
            text += "      \tresync=DELAYED\n"
        elif work:
            text += f"      [=>...]  {work} = {done / 10:4.1f}% (1/2) finish=12.5min speed={speed}K/sec\n"
        text += "      bitmap: 1/30 pages [4KB], 65536KB chunk\n\n"
    parsed = read("mdstat", text + "unused devices: <none>\n")
    assert not parsed.rejects
    for number, (wanted, lost, work, done, speed) in arrays.items():
        found = values(parsed, f"md{number}")
        assert found["members"] == wanted and found["missing_members"] == min(wanted, lost)
        assert any(f"md{number} is degraded" in note for note in parsed.notes) == (lost > 0)
        if work not in ("", "DELAYED"):
            assert found[f"{work}_done_share"] == pytest.approx(done / 1000)
            assert found[f"{work}_bytes_per_s"] == speed * 1024 and found[f"{work}_left_s"] == 750
        else:
            assert set(found) == {"members", "missing_members"}


def test_real_mdstats() -> None:
    assert (
        values(fixture("mdstat", "mdstat-resync.txt"), "md2")["resync_bytes_per_s"] == 52431 * 1024
    )
    assert values(fixture("mdstat", "mdstat-2.4.txt"), "md0")["missing_members"] == 1
    notes = fixture("mdstat", "mdstat-degraded.txt").notes
    assert any(tells(note, "md1", "2", "3") for note in notes)
    assert values(fixture("mdstat", "mdstat-check.txt"), "md127")["members"] == 10
