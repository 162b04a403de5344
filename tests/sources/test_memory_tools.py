"""free, top, and copies of /proc files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose

from .reading import FIXTURES, fixture, intervals, quick, read, values


def test_free_of_case_4_is_in_mebibytes() -> None:
    parsed = fixture("free", "pagecache-large.free.txt")
    (row,) = parsed.tables["memory_samples"]
    assert row["free_bytes"] == 349 * 2**20
    assert row["cached_bytes"] == 48643 * 2**20
    assert parsed.units is not None and parsed.units.startswith("MiB")


@pytest.mark.parametrize(
    ("file", "total", "cached"),
    [
        ("free-3.2.txt", 8174352 * 1024, 6512004 * 1024),
        ("free-4-human.txt", (23 * 2**30), None),
        ("free-4-wide-bytes.txt", 25325268992, None),
    ],
)
def test_free_finds_its_unit(file: str, total: int, cached: int | None) -> None:
    (row,) = fixture("free", file).tables["memory_samples"]
    assert row["total_bytes"] == total
    assert row["cached_bytes"] is not None
    assert cached is None or row["cached_bytes"] == cached


@quick
@given(
    pages=st.lists(st.integers(2**20, 2**28), min_size=6, max_size=6),
    option=st.sampled_from([("-b", 1), ("-k", 1024), ("-m", 2**20)]),
    with_unit=st.booleans(),
)
def test_free_written_and_read_back(
    pages: list[int], option: tuple[str, int], with_unit: bool
) -> None:
    """In any unit, named on the command line or not: 4 GiB and more, whole pages."""
    cells = [page * 4096 // option[1] for page in pages]
    if not with_unit and option[0] == "-m" and all(cell % 4 == 0 for cell in cells):
        cells[0] += 1  # all multiples of 4 by chance: then KiB would be as good a guess
    text = "      total  used  free  shared  buff/cache  available\n"
    text += "Mem:  " + "  ".join(map(str, cells)) + "\nSwap:  0  0  0\n"
    parsed = read("free", text, f"free {option[0]}" if with_unit else "")
    (row,) = parsed.tables["memory_samples"]
    assert row["total_bytes"] == cells[0] * option[1]
    assert row["free_bytes"] == cells[2] * option[1]
    assert row["swap_total_bytes"] == 0


def test_top_old_and_new() -> None:
    parsed = fixture("top", "top-3.2.txt")
    (one,) = intervals(parsed, "cpu_samples")
    assert one.interval_ns == 5 * 10**9
    assert one.counters["iowait_ns"] == pytest.approx(0.45 * 5e9)
    assert parsed.tables["memory_samples"][0]["cached_bytes"] == 6512004 * 1024
    assert values(parsed, "iozone (4711)") == {
        "cpu_share": pytest.approx(0.14),
        "in_state_d": 1.0,
    }
    parsed = fixture("top", "top-4.txt")
    assert len(intervals(parsed, "cpu_samples")) == 2
    assert parsed.tables["memory_samples"][0]["total_bytes"] == round(24152.1 * 2**20)
    assert parsed.rejects == []


def test_the_first_iteration_of_top_alone_is_no_load() -> None:
    """Where the command shows that it is the first; another screen was copied while top ran."""
    text = (FIXTURES / "top-3.2.txt").read_text().split("\n\ntop -")[0]
    assert len(read("top", text).intervals) == 1
    parsed = read("top", text, "top -b -n 1")
    assert parsed.intervals == []
    assert parsed.missing == ["top -b -d 1 -n 5"]


def test_two_copies_of_proc_files_make_an_interval(tmp_path: Path) -> None:
    """Before and after in two files; /proc/stat's ticks tell the time between."""
    before = tmp_path / "before.txt"
    after = tmp_path / "after.txt"
    before.write_text(
        "cpu  100 0 50 1000 50 0 0 0 0 0\ncpu0 100 0 50 1000 50 0 0 0 0 0\nctxt 5000\n"
        "nr_free_pages 100\nnr_x 1\npgpgin 1000\npgmajfault 5\n"
        "   8       0 sda 100 5 800 40 10 1 80 9 0 60 49\n"
        "   8       1 sda1 100 5 800 40 10 1 80 9 0 60 49\n"
    )
    after.write_text(
        "cpu  200 0 150 1700 250 0 0 0 0 0\ncpu0 200 0 150 1700 250 0 0 0 0 0\nctxt 6000\n"
        "nr_free_pages 100\nnr_x 1\npgpgin 3000\npgmajfault 9\n"
        "   8       0 sda 300 5 2400 440 10 1 80 9 3 1060 449\n"
        "   8       1 sda1 300 5 2400 440 10 1 80 9 3 1060 449\n"
    )
    found = diagnose([str(before), str(after)], tmp_path / "x.iowhy")
    con = found.recording.connection()
    rows = con.execute(
        "SELECT ts_ns, reads, read_bytes, read_ns, in_flight FROM disk_samples ORDER BY ts_ns"
    ).fetchall()
    # 100 + 100 + 700 + 200 ticks of 10 ms on the one CPU: 11 s.
    assert rows == [(0, 0, 0, 0, None), (11_000_000_000, 200, 1600 * 512, 400_000_000, 3)]
    assert con.execute(
        "SELECT max(context_switches), max(page_in_bytes), max(major_faults) FROM vm_samples"
    ).fetchall() == [(1000, 2000 * 1024, 4)]
    assert con.execute("SELECT count(DISTINCT dev) FROM disk_samples").fetchall() == [(1,)]


def test_one_copy_is_no_load() -> None:
    parsed = fixture("proc-diskstats", "proc-diskstats.txt")
    assert {snapshot.copy for snapshot in parsed.snapshots} == {0, 1}
    parsed = fixture("proc-pressure", "proc-pressure.txt")
    assert {(r.key["resource"], r.key["kind"]) for r in parsed.snapshots} == {
        (resource, kind) for resource in ("cpu", "io", "memory") for kind in ("some", "full")
    }


def test_real_copies() -> None:
    assert {r.copy for r in fixture("proc-stat", "proc-stat.txt").snapshots} == {0, 1}
    assert {r.copy for r in fixture("proc-vmstat", "proc-vmstat.txt").snapshots} == {0, 1}
    (row,) = fixture("proc-meminfo", "proc-meminfo.txt").tables["memory_samples"]
    assert row["total_bytes"] > row["free_bytes"] > 0


def test_pressure_without_its_name_is_not_guessed() -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
    parsed = read("proc-pressure", text)
    assert parsed.snapshots == []
    assert parsed.missing == ["grep . /proc/pressure/*"]
    named = read("proc-pressure", text, "cat /proc/pressure/io")
    assert named.snapshots[0].key["resource"] == "io"
    assert named.snapshots[0].counters == {"total_ns": 1_234_000}
