"""cachestat, cachetop, biolatency, bitesize."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, quick, read, taken_apart


def test_case_4_cachestat() -> None:
    parsed = fixture("cachestat", "pagecache-large.cachestat.txt")
    rows = parsed.tables["page_cache"]
    ratios = [1 - row["demand_miss_pages"] / row["lookup_pages"] for row in rows]
    assert [round(100 * ratio, 1) for ratio in ratios] == [74.1, 9.7, 6.5, 12.0, 34.5, 7.0, 11.1]
    assert all(row["interval_ns"] == 10**9 and row["estimated"] for row in rows)
    assert all("tgid" not in row and "ino" not in row for row in rows)
    assert parsed.tables["memory_samples"][0]["cached_bytes"] == 48009 * 2**20
    small = fixture("cachestat", "pagecache-small.cachestat.txt").tables["page_cache"]
    assert sum(row["demand_miss_pages"] for row in small) == 0


def test_cachestat_of_bcc_with_times() -> None:
    text = (
        "TIME         HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n"
        "10:00:05      100       50       10   66.67%            1          2\n"
        "10:00:10       90       10        0   90.00%            1          2\n"
    )
    (part,) = taken_apart(text).parts
    assert part.format == "cachestat"
    assert [row["interval_ns"] for row in part.parsed.tables["page_cache"]] == [5 * 10**9] * 2


def test_cachetop_keeps_names_with_spaces() -> None:
    parsed = fixture("cachetop", "cachetop.txt")
    rows = parsed.tables["page_cache"]
    assert [row["tgid"] for row in rows] == [1, 680, 680]
    assert rows[2]["demand_miss_pages"] == 1700
    assert rows[2]["ts_ns"] == 5 * 10**9
    assert parsed.rejects == []


def test_case_4_biolatency() -> None:
    rows = fixture("biolatency", "pagecache-large.biolatency.txt").tables["histograms"]
    assert len(rows) == 10
    assert {row["metric"] for row in rows} == {"request_latency_ns"}
    most = max(rows, key=lambda row: row["count"])
    # Buckets are whole milliseconds: 63 ms is in, 64 is not.
    assert (most["low"], most["high"], most["count"]) == (32_000_000, 64_000_000, 8139)
    loaded = sum(row["count"] for row in rows if 16_000_000 <= row["low"] < 128_000_000)
    assert loaded / sum(row["count"] for row in rows) > 0.95


def test_case_4_bitesize() -> None:
    rows = fixture("bitesize", "pagecache-large.bitesize.txt").tables["histograms"]
    most = max(rows, key=lambda row: row["count"])
    assert (most["low"], most["high"], most["comm"]) == (128 * 1024, 256 * 1024, "java")


def test_biolatency_per_disk() -> None:
    text = (
        "Tracing block device I/O... Hit Ctrl-C to end.\n\ndisk = b'sda'\n"
        "     usecs               : count     distribution\n"
        "         0 -> 1          : 5        |****|\n\ndisk = 'sdb'\n"
        "     usecs               : count     distribution\n         2 -> 3          : 9        |****|\n"
        "avg = 3 usecs, total: 27 usecs, count: 9\n"
    )
    (part,) = taken_apart(text).parts
    rows = part.parsed.tables["histograms"]
    assert [(row["dev"], row["low"], row["high"]) for row in rows] == [
        ("sda", 0, 2000),
        ("sdb", 2000, 4000),
    ]
    assert part.parsed.rejects == []


@quick
@given(
    counts=st.lists(st.integers(0, 10**9), min_size=1, max_size=30),
    kind=st.sampled_from([("biolatency", "usecs", 1000), ("biolatency", "msecs", 10**6),
                          ("bitesize", "Kbytes", 1024)]),
)  # fmt: skip
def test_histograms_written_and_read_back(counts: list[int], kind: tuple[str, str, int]) -> None:
    name, unit, scale = kind
    text = "Tracing block device I/O... Hit Ctrl-C to end.\n^C\n" if name == "biolatency" else ""
    text += f"     {unit:<20}: count     distribution\n"
    low = 0
    edges = []
    for at, count in enumerate(counts):
        high = 2 ** (at + 1) - 1
        text += f"{low:>10} -> {high:<10} : {count:<8} |{'*' * (count % 41):<40}|\n"
        edges.append((low * scale, (high + 1) * scale, count))
        low = high + 1
    (part,) = taken_apart(text).parts
    assert part.format == name
    rows = part.parsed.tables["histograms"]
    assert [(row["low"], row["high"], row["count"]) for row in rows] == edges


@quick
@given(rows=st.lists(st.tuples(*[st.integers(0, 10**7)] * 3), min_size=1, max_size=9),
       layout=st.sampled_from(["perf-tools", "bcc", "old bcc"]))  # fmt: skip
def test_cachestat_written_and_read_back(rows: list[tuple[int, int, int]], layout: str) -> None:
    heads = {
        "perf-tools": "    HITS   MISSES  DIRTIES    RATIO   BUFFERS_MB   CACHE_MB",
        "bcc": "    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB",
        "old bcc": "   TOTAL   MISSES     HITS  DIRTIES   BUFFERS_MB  CACHED_MB",
    }
    lines = [heads[layout]]
    for hits, misses, dirties in rows:
        ratio = f"{100 * hits / ((hits + misses) or 1):.1f}%"
        cells = [hits, misses, dirties, ratio, 17, 48009]
        if layout == "old bcc":
            cells = [hits + misses, misses, hits, dirties, 17, 48009]
        lines.append("  ".join(str(cell) for cell in cells))
    parsed = read("cachestat", "\n".join(lines))
    found = [
        (row["lookup_pages"], row["demand_miss_pages"], row["dirtied_pages"])
        for row in parsed.tables["page_cache"]
    ]
    assert found == [(hits + misses, misses, dirties) for hits, misses, dirties in rows]
    assert parsed.rejects == []
    assert parsed.tables["memory_samples"][0]["buffers_bytes"] == 17 * 2**20


def test_negative_hits_are_none() -> None:
    """bcc's estimate may fall below 0: that is no count of pages."""
    text = "    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB\n  -3  5  8  0.00%  1  2\n"
    (row,) = read("cachestat", text).tables["page_cache"]
    assert row["lookup_pages"] == pytest.approx(5)
