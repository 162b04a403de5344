"""Second real outputs of tools whose reader had one, or none: figures known from the text itself."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.format import Parsed
from tests.numbers_told import tells

from .reading import fixture, intervals, quick, read, values


def count(parsed: Parsed, low: int, **of: str) -> int:
    """What stands in the one bucket that begins at `low`."""
    [row] = [
        row
        for row in parsed.tables["histograms"]
        if row["low"] == low and all(row[key] == value for key, value in of.items())
    ]
    found = row["count"]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("name", "file", "low", "wanted"),
    [
        ("runqlat", "runqlat-48cpus.txt", 2_000, 304_613),
        ("runqlat", "runqlat-docs.txt", 4_000, 13_673),
        ("bitesize", "bitesize-java.txt", 128 * 1024, 1_682),
        ("bitesize", "bitesize-bor.txt", 8 * 1024, 25_370),
        ("funclatency", "funclatency-uprobe.txt", 2_048, 2_330_927),
    ],
)
def test_histograms(name: str, file: str, low: int, wanted: int) -> None:
    parsed = fixture(name, file)
    assert not parsed.rejects
    assert count(parsed, low) == wanted


def test_histograms_of_a_file_system() -> None:
    for file, metric, low, wanted in (
        ("ext4dist-bcc.txt", "read", 0, 5_706),
        ("ext4dist-libbpf.txt", "getattr", 2_000, 2),
    ):
        parsed = fixture("ext4dist", file)
        assert not parsed.rejects
        rows = [
            row
            for row in parsed.tables["histograms"]
            if str(row["metric"]).endswith(metric) and row["low"] == low
        ]
        assert [row["count"] for row in rows] == [wanted]


def test_funclatency_each_second() -> None:
    parsed = fixture("funclatency", "funclatency-enter.txt")
    assert not parsed.rejects
    first = [row["count"] for row in parsed.tables["histograms"] if row["low"] == 0]
    assert first[:3] == [341, 316, 255]


def test_biosnoop() -> None:
    requests = fixture("biosnoop", "biosnoop-q.txt").tables["block_requests"]
    took = [int(str(row["complete_ns"])) - int(str(row["issue_ns"])) for row in requests]
    assert took == [101_430_000, 101_520_000, 101_610_000, 101_660_000, 101_670_000]
    assert {row["op"] for row in requests} == {"write"}
    mirrored = fixture("biosnoop", "biosnoop-raid.txt").tables["block_requests"]
    assert len({row["dev"] for row in mirrored}) == 2
    assert sum(int(str(row["bytes"])) for row in mirrored) == 3 * 512 + 2 * 520_192 + 319_488


def test_slow_calls() -> None:
    aks = fixture("ext4slower", "ext4slower-aks.txt")
    assert aks.partial is not None
    assert values(aks, "fsync") == {
        "slow_calls": 7,
        "slow_total_ns": pytest.approx(329.98e6),
        "slow_max_ns": pytest.approx(96.4e6),
    }
    netflix = fixture("ext4slower", "ext4slower-netflix.txt")
    assert values(netflix, "read")["slow_max_ns"] == pytest.approx(17.74e6)


def test_perf_trace_of_all() -> None:
    rows = fixture("perf-trace-s", "perf-trace-total.txt").tables["syscall_totals"]
    [futex] = [row for row in rows if row["name"] == "futex"]
    assert (futex["calls"], futex["errors"], futex["total_ns"]) == (372, 18, 4_373_773_000)


def test_solaris() -> None:
    first, last = intervals(fixture("solaris-iostat", "solaris-iostat-xM.txt"), "disk_samples")
    assert first.counters["written_bytes"] == pytest.approx(210.9 * 1024**2)
    assert first.counters["busy_ns"] == 980_000_000
    assert last.counters["reads"] == 2
    # One block alone holds averages since boot: no interval, and it is said.
    since_boot = fixture("solaris-iostat", "solaris-iostat-xnze.txt")
    assert not since_boot.intervals
    assert any("boot" in note for note in since_boot.notes) or since_boot.partial is not None


def test_iotop() -> None:
    old = fixture("iotop", "iotop-0.4.txt")
    assert not old.rejects
    [rsync] = intervals(old, "process_io", tgid=8169)
    assert rsync.counters["read_bytes"] == pytest.approx(189.52 * 1024)
    new = fixture("iotop", "iotop-1.x.txt")
    assert not new.rejects
    assert values(new, "all")["actual_written_bytes_per_s"] == 0


def test_offcputime() -> None:
    parsed = fixture("offcputime", "offcputime-f.txt")
    assert not parsed.rejects
    frames = [row["frames"] for row in parsed.tables["stacks"]]
    assert all(inner == "schedule" for inner, *_ in frames)  # type: ignore[misc]
    took = [row["value"] for row in parsed.tables["measurements"]]
    assert took[-1] == 120_709_000
    assert all(a < b for a, b in pairwise(took))  # type: ignore[operator]


FRAMES = st.lists(
    st.from_regex(r"[a-z_]{3,12}(\.isra\.[0-9])?", fullmatch=True), min_size=1, max_size=5
)
COMMS = st.sampled_from(["dd", "java", "jbd2/sda1-8", "Web Content"])


@quick
@given(stacks=st.lists(st.tuples(FRAMES, COMMS, st.integers(0, 10**12)), min_size=1, max_size=5),
       shape=st.sampled_from(["name", "tid", "raw", "folded"]), cut=st.booleans())  # fmt: skip
def test_offcputime_as_printed(
    stacks: list[tuple[list[str], str, int]], shape: str, cut: bool
) -> None:
    text = (
        "" if shape == "folded" else "Tracing off-CPU time (us) of all threads by kernel stack.\n"
    )
    for frames, comm, us in stacks:
        if shape == "folded":
            text += ";".join([comm, *reversed(frames), "schedule"]) + f" {us}\n"
            continue
        address = "ffffffff81785085 " if shape == "raw" else ""
        text += "".join(f"    {address}{frame}\n" for frame in ["schedule", *frames])
        text += f"    {comm}\n" if shape != "tid" else f"    {'-':<16} {comm} (12)\n"
        text += f"        {us}\n\n"
    if cut and shape != "folded":
        text += "    schedule\n    sys_rea"
    parsed = read("offcputime", text)
    assert len(parsed.rejects) == (2 if cut and shape != "folded" else 0)
    named = {row["stack_id"]: row["frames"] for row in parsed.tables["stacks"]}
    found = [
        (named[int(str(row["subject"]).rpartition(" ")[2])], row["value"])
        for row in parsed.tables["measurements"]
    ]
    assert found == [(["schedule", *frames], us * 1000.0) for frames, _, us in stacks]
    for row, (_, comm, _) in zip(parsed.tables["measurements"], stacks, strict=True):
        assert str(row["subject"]).startswith(f"{comm} stack ")


def test_offcputime_that_waits_for_io() -> None:
    parsed = fixture("offcputime", "offcputime-k.txt")
    assert not parsed.rejects
    [note] = parsed.notes
    assert tells(note, "io_schedule", "3.32 s", "dd", "3.31 s")


def test_mpstat_json() -> None:
    parsed = fixture("mpstat-json", "mpstat-linuxkit.json")
    # One sample is the average since boot: nothing of it is an interval.
    assert not parsed.intervals
