"""Several inputs in one recording: its time line, its sums, what it says of itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import Diagnosis, diagnose
from tests.problems import wrong

from .reading import FIXTURES, quick

LARGE = [str(path) for path in sorted(FIXTURES.glob("pagecache-large.*"))]


def read(tmp_path: Path, *texts: str, cpus: int | None = None) -> Diagnosis:
    files = []
    for at, text in enumerate(texts):
        (tmp_path / f"in{at}.txt").write_text(text)
        files.append(str(tmp_path / f"in{at}.txt"))
    return diagnose(files, tmp_path / "out.iowhy", cpus=cpus)


def rows(found: Diagnosis, query: str) -> list[tuple[object, ...]]:
    return found.recording.connection().execute(query).fetchall()


def test_case_4_in_one_recording(tmp_path: Path) -> None:
    found = diagnose(LARGE, tmp_path / "out.iowhy")
    manifest = found.recording.manifest
    assert manifest.source == "diagnose"
    assert manifest.host.cpus == 16
    assert manifest.host.memory_bytes == 64414 * 2**20
    assert {one.tool for one in manifest.inputs} == {
        "iostat", "free", "cachestat", "biolatency", "bitesize",
    }  # fmt: skip
    assert {sensor.name for sensor in manifest.sensors if sensor.ran} == {
        "page_cache", "cpu_samples", "memory_samples", "disk_samples",
    }  # fmt: skip
    # Counters are cumulative: 745 + 739 + 734 + 750 reads of the second disk.
    assert rows(
        found,
        """SELECT max(reads), max(read_bytes), max(busy_ns) FROM disk_samples
        JOIN devices USING (dev) WHERE name = 'xvdb'""",
    ) == [(2968, (91656 + 92152 + 91704 + 92104) * 1024, 4_000_000_000)]
    # All CPUs' mean in percent becomes the sum over 16 CPUs.
    ((total,),) = rows(
        found, "SELECT max(user_ns + system_ns + idle_ns + iowait_ns + steal_ns) FROM cpu_samples"
    )
    assert total == pytest.approx(16 * 4e9, rel=1e-3)
    assert not found.unread


def test_undated_inputs_begin_together_and_runs_of_one_tool_follow(tmp_path: Path) -> None:
    vmstat = (FIXTURES / "build-j1.freebsd-vmstat.txt").read_text()
    found = read(tmp_path, vmstat, vmstat)
    times = [row[0] for row in rows(found, "SELECT ts_ns FROM vm_samples ORDER BY ts_ns")]
    assert times == [at * 10**9 for at in range(19)]
    switches = [
        row[0] for row in rows(found, "SELECT context_switches FROM vm_samples ORDER BY ts_ns")
    ]
    assert switches == sorted(switches), "counters never run backwards"
    assert switches[-1] == 2 * switches[9]


def test_two_tools_that_tell_the_same_are_not_added(tmp_path: Path) -> None:
    vmstat = (
        "procs ---memory--- ---swap-- ---io--- -system- ---cpu---\n"
        " r  b  swpd free buff cache si so bi bo in cs us sy id wa st\n"
        + " 1  0  0 9 9 9 0 0 0 0 1 1 50 10 40 0 0\n"
        * 11
    )
    found = read(tmp_path, vmstat, (FIXTURES / "iostat-9-comma.txt").read_text())
    assert rows(found, "SELECT count(*) FROM cpu_samples") == [(11,)]
    assert any("left out" in note for note in found.recording.manifest.notes)


def test_dated_inputs_keep_their_distance(tmp_path: Path) -> None:
    head = "Linux 6.1.0 (h) \t2024-05-01 \t_x86_64_\t(2 CPU)\n\n{} CPU %user %nice %system %iowait %steal %idle\n"
    row = "{} all 1.00 0.00 1.00 0.00 0.00 98.00\n"
    first = head.format("10:00:00") + row.format("10:00:10")
    second = head.format("10:05:00") + row.format("10:05:10")
    found = read(tmp_path, second, first)
    assert [one[0] for one in rows(found, "SELECT ts_ns FROM cpu_samples ORDER BY 1")] == [
        0, 10 * 10**9, 300 * 10**9, 310 * 10**9,
    ]  # fmt: skip
    clock = found.recording.manifest.clock
    assert clock.wall_ns is not None and clock.wall_ns // 10**9 % 86400 == 36000


def test_iowait_that_a_system_does_not_count_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, (FIXTURES / "build-j1.freebsd-vmstat.txt").read_text(), cpus=2)
    manifest = found.recording.manifest
    assert manifest.host.cpus == 2
    assert manifest.host.os == "FreeBSD"
    assert any("iowait is unknown" in note for note in manifest.notes)


def test_the_same_benchmark_twice_stays_two_numbers(tmp_path: Path) -> None:
    found = diagnose(
        [str(FIXTURES / f"case5-{kind}-kernel.iozone.txt") for kind in ("old", "new")],
        tmp_path / "out.iowhy",
    )
    assert rows(found, "SELECT count(*), count(DISTINCT subject) FROM measurements") == [(4, 4)]


def test_machines_that_differ_are_told(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        (FIXTURES / "iostat-9-comma.txt").read_text(),
        (FIXTURES / "pagecache-large.iostat.txt").read_text(),
    )
    assert any("different machines" in note for note in found.recording.manifest.notes)


def test_case_1_is_measurements(tmp_path: Path) -> None:
    files = [str(path) for path in sorted(FIXTURES.glob("case1-sparse.*"))]
    found = diagnose(files, tmp_path / "out.iowhy")
    got = {
        (tool, metric): value
        for tool, metric, value in rows(
            found,
            """SELECT tool, metric, value FROM measurements
            WHERE subject IN ('msync', '/dev/hdisk2', 'data001.dat')""",
        )
    }
    assert got["curt", "elapsed_mean_ns"] == pytest.approx(2198.76e6)
    assert got["filemon", "seek_share"] == pytest.approx(0.999)
    assert got["fileplace", "sequentiality"] == pytest.approx(0.079)
    assert found.recording.manifest.host.os == "AIX"


def test_nothing_recognised_names_the_way_out(tmp_path: Path) -> None:
    with wrong("log-not-recognised", where=str(tmp_path / "in0.txt")):
        read(tmp_path, "Dear all,\nit is slow.\n")
    with wrong("log-empty"):
        read(tmp_path, " \n")
    with wrong("log-not-found"):
        diagnose([str(tmp_path / "absent")], tmp_path / "out.iowhy")
    with wrong("not-a-regular-file"):
        diagnose([str(tmp_path)], tmp_path / "out.iowhy")
    with wrong("no-such-format", name="iostatt"):
        diagnose([LARGE[0]], tmp_path / "out.iowhy", as_format="iostatt")
    assert not (tmp_path / "out.iowhy").exists()


def test_as_overrides_the_content(tmp_path: Path) -> None:
    text = " 1  2      0   1000     10    500    0    0     8    16  100  200 10  5 80  5  0\n"
    head = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    path = tmp_path / "x"
    path.write_text("noise\n" + head + text * 2)
    found = diagnose([str(path)], tmp_path / "out.iowhy", as_format="vmstat")
    assert [part.format for part in found.parts] == ["vmstat"]
    assert [(one.line, one.text) for one in found.unread] == [(1, "noise")]


@quick
@given(
    runs=st.lists(
        st.lists(st.tuples(*[st.integers(0, 10**5)] * 2), min_size=2, max_size=5),
        min_size=1,
        max_size=4,
    )
)
def test_sums_are_those_of_the_intervals(
    runs: list[list[tuple[int, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However many runs in however many files: the last counter is the sum of all loads."""
    head = (
        "      extended device statistics\ndevice r/s w/s kr/s kw/s ms/r ms/w ms/o ms/t qlen %b\n"
    )
    texts = []
    for run in runs:
        texts.append("".join(f"{head}ada0 {r} {w} {r} {w} 1 1 0 1 0 5\n" for r, w in run))
    folder = tmp_path_factory.mktemp("sums")
    found = read(folder, *texts)
    loads = [pair for run in runs for pair in run[1:]]
    expected = (sum(r for r, _ in loads), sum(w for _, w in loads) * 1024, len(loads) + 1)
    assert rows(found, "SELECT max(reads), max(written_bytes), count(*) FROM disk_samples") == [
        expected
    ]
