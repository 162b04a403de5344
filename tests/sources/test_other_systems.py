"""FreeBSD's iostat and top; AIX' vmstat, iostat, curt, filemon, fileplace and truss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .reading import fixture, intervals, quick, read, values


def test_freebsd_iostat() -> None:
    parsed = fixture("freebsd-iostat", "freebsd-iostat-x.txt", "iostat -x -w 5")
    ada0 = next(one for one in intervals(parsed, "disk_samples") if one.counters["reads"])
    assert ada0.interval_ns == 5 * 10**9
    assert ada0.counters["reads"] == 600
    assert ada0.counters["read_bytes"] == 4800 * 1024 * 5
    assert ada0.counters["write_ns"] == 12e6 * 200
    assert ada0.counters["busy_ns"] == pytest.approx(0.97 * 5e9)
    assert ada0.levels == {"in_flight": 3}


def test_freebsd_top() -> None:
    parsed = fixture("freebsd-top", "freebsd-top.txt")
    (one,) = intervals(parsed, "cpu_samples")
    assert one.counters["idle_ns"] == pytest.approx(0.479 * 2e9)
    assert parsed.tables["memory_samples"][0]["free_bytes"] == 383 * 2**20
    assert values(parsed, "cc1 (2207)") == {"cpu_share": pytest.approx(0.6143)}


def test_case_1_curt_shows_that_msync_waits() -> None:
    msync = values(fixture("curt", "case1-sparse.curt.txt"), "msync")
    assert msync["elapsed_mean_ns"] == pytest.approx(2198.76e6)
    assert msync["cpu_mean_ns"] == pytest.approx(4.8994e6)
    assert msync["calls"] == 192
    fixed = values(fixture("curt", "case1-written.curt.txt"), "msync")
    assert fixed["elapsed_mean_ns"] == pytest.approx(117.68e6)
    whole = values(fixture("curt", "case1-sparse.curt.txt"), "idle")
    assert whole["cpu_share"] == pytest.approx(0.9671)


def test_curt_without_elapsed_times_says_what_is_missing() -> None:
    text = (
        "                     System Calls Summary\n"
        "   Count  Total Time   % sys  Avg Time  Min Time  Max Time  SVC (Address)\n"
        "              (msec)    time    (msec)    (msec)    (msec)\n"
        "======== =========== ====== ======== ======== ======== ================\n"
        "     605    355.4475  1.74%   0.5875   0.0482   4.5626  kwrite(4259c4)\n"
    )
    parsed = read("curt", text)
    assert values(parsed, "kwrite")["cpu_mean_ns"] == pytest.approx(0.5875e6)
    assert "elapsed_mean_ns" not in values(parsed, "kwrite")
    assert parsed.missing == ["curt -e -i {trace}"]


def test_case_1_filemon_and_fileplace() -> None:
    disk = values(fixture("filemon", "case1-sparse.filemon.txt"), "/dev/hdisk2")
    assert disk["write_mean_bytes"] == pytest.approx(9.1 * 512)
    assert disk["seek_share"] == pytest.approx(0.999)
    file = values(fixture("fileplace", "case1-sparse.fileplace.txt"), "data001.dat")
    assert file["sequentiality"] == pytest.approx(0.079)
    assert file["space_efficiency"] == pytest.approx(0.819)
    disk = values(fixture("filemon", "case1-written.filemon.txt"), "/dev/hdisk2")
    assert disk["write_mean_bytes"] == 512 * 512
    assert disk["seek_share"] == pytest.approx(0.041)
    assert disk["bytes_per_s"] == pytest.approx(160 * 2**20)
    file = values(fixture("fileplace", "case1-written.fileplace.txt"), "data001.dat")
    assert (file["sequentiality"], file["extents"]) == (1.0, 1)


def test_filemon_of_files_counts_bytes_not_blocks() -> None:
    text = (
        "Detailed File Stats\n"
        "FILE: /db/data  volume: /dev/fslv02 (/db)  inode: 17\nopens:                  1\n"
        "total bytes xfrd:       8192\nreads:                  2       (0 errs)\n"
        "  read sizes (bytes):   avg  4096.0 min    4096 max    4096 sdev     0.0\n"
        "  read times (msec):    avg   1.250 min   1.000 max   1.500 sdev   0.100\n"
    )
    file = values(read("filemon", text), "/db/data")
    assert file["read_mean_bytes"] == 4096
    assert file["read_mean_ns"] == pytest.approx(1.25e6)


def test_truss_counts_cpu_seconds_on_aix() -> None:
    parsed = fixture("truss", "aix-truss.txt")
    rows = {row["name"]: row for row in parsed.tables["syscall_totals"]}
    assert rows["msync"]["calls"] == 2048
    assert rows["msync"]["cpu_ns"] == rows["msync"]["total_ns"] == 10_030_000_000
    assert rows["kread"]["errors"] == 2
    assert rows["mmap"]["interval_ns"] == 563_200_000_000
    # FreeBSD's has no totals by kind: its seconds are elapsed ones.
    text = "syscall                     seconds   calls  errors\nfsync   1.500000000   3   0\n"
    (row,) = read("truss", text).tables["syscall_totals"]
    assert (row["total_ns"], row["cpu_ns"]) == (1_500_000_000, None)


def test_aix_vmstat_and_iostat() -> None:
    parsed = fixture("aix-vmstat", "aix-vmstat.txt", "vmstat 2")
    one = intervals(parsed, "cpu_samples")[0]
    assert one.counters["iowait_ns"] == pytest.approx(0.37 * 2e9)
    assert parsed.host["cpus"] == 4
    assert parsed.tables["memory_samples"][0]["free_bytes"] == 97880 * 4096
    parsed = fixture("aix-iostat", "aix-iostat.txt")
    assert parsed.host["cpus"] == 4
    disk = values(parsed, "hdisk2")
    # Case 1's rate and operations: 7.59 MB in 1,520 requests a second.
    assert disk["operations_per_s"] == 1520
    assert disk["written_bytes_per_s"] == 7590 * 1024
    assert disk["since_boot_busy_share"] == pytest.approx(0.021)


NAMES = st.sampled_from(["kwrite", "kread", "msync", "mmap", "_select", "open64"])
TIMES = st.floats(0.0001, 9999).map(lambda value: round(value, 4))


@quick
@given(
    calls=st.dictionaries(NAMES, st.tuples(st.integers(1, 10**6), *[TIMES] * 8), min_size=1),
    elapsed=st.booleans(),
)
def test_curt_written_and_read_back(calls: dict[str, tuple[float, ...]], elapsed: bool) -> None:
    lines = ["System Calls Summary", "--------------------"]
    more = " Tot ETime Avg ETime Min ETime Max ETime" if elapsed else ""
    lines.append(f"Count  Total Time  % sys  Avg Time  Min Time  Max Time{more}  SVC (Address)")
    for name, (count, *times) in calls.items():
        cells = [str(count), f"{times[0]:.4f}", "1.00%", *(f"{t:.4f}" for t in times[1:4])]
        cells += [f"{t:.4f}" for t in times[4:8]] if elapsed else []
        lines.append("  ".join(cells) + f"  {name}(4a5c28)")
    parsed = read("curt", "\n".join(lines))
    assert parsed.rejects == []
    for name, (count, *times) in calls.items():
        found = values(parsed, name)
        assert found["calls"] == count
        assert found["cpu_mean_ns"] == pytest.approx(times[1] * 1e6)
        if elapsed:
            assert found["elapsed_mean_ns"] == pytest.approx(times[5] * 1e6)
        else:
            assert "elapsed_mean_ns" not in found


@quick
@given(
    size=st.floats(1, 8192).map(lambda v: round(v, 1)),
    seeks=st.floats(0, 100).map(lambda v: round(v, 1)),
    order=st.floats(0, 100).map(lambda v: round(v, 1)),
    path=st.from_regex(r"/[a-z0-9_./-]{1,30}", fullmatch=True),
)
def test_filemon_and_fileplace_written_and_read_back(
    size: float, seeks: float, order: float, path: str
) -> None:
    text = f"VOLUME: {path}  description: x\nwrites:  7  (0 errs)\n"
    text += f"  write sizes (blks):   avg {size:.1f} min 1 max 8192 sdev 0.0\n"
    text += f"seeks:                  3   ({seeks:.1f}%)\n"
    found = values(read("filemon", text), path)
    assert found["write_mean_bytes"] == pytest.approx(size * 512)
    assert found["seek_share"] == pytest.approx(seeks / 100)
    text = f"File: {path}  Size: 99 bytes  Vol: /dev/hd1\n"
    text += f"  8 extents out of 9 possible:   sequentiality = {order:.1f}%\n"
    assert values(read("fileplace", text), path)["sequentiality"] == pytest.approx(order / 100)


@quick
@given(rows=st.dictionaries(NAMES, st.tuples(st.integers(0, 10**6), st.integers(1, 9999),
                                             st.integers(0, 99)), min_size=1))  # fmt: skip
def test_truss_written_and_read_back(rows: dict[str, tuple[int, int, int]]) -> None:
    text = "syscall               seconds   calls  errors\n"
    for name, (hundredths, calls, errors) in rows.items():
        seconds = f"{hundredths / 100:.2f}".removeprefix("0")
        text += f"{name:<20} {seconds:>8} {calls:>7} {errors or ''}\n"
    text += "sys totals:   1.00  5  0\nusr time:   .01\nelapsed:   9.00\n"
    parsed = read("truss", text)
    assert parsed.rejects == []
    found = {row["name"]: row for row in parsed.tables["syscall_totals"]}
    for name, (hundredths, calls, errors) in rows.items():
        assert found[name]["total_ns"] == hundredths * 10_000_000
        assert (found[name]["calls"], found[name]["errors"]) == (calls, errors)
