"""fio, iozone, hyperfine, latencytop, Darshan."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.sources.formats import darshan
from tests.numbers_told import tells
from tests.problems import wrong

from .reading import FIXTURES, fixture, quick, read, taken_apart, values


def test_fio_3() -> None:
    parsed = fixture("fio", "fio-3.json")
    assert parsed.version == "fio-3.33"
    job = values(parsed, "mix")
    assert job["read_bytes_per_s"] == 13727135
    assert job["read_iops"] == pytest.approx(3351.351351)
    assert {"write_lat_mean_ns", "sync_count", "sync_lat_mean_ns", "read_clat_p99_ns"} <= job.keys()


def test_fio_2_with_warnings_around_and_keys_twice() -> None:
    result = taken_apart((FIXTURES / "fio-2-warnings.txt").read_text())
    (part,) = result.parts
    job = values(part.parsed, "seq")
    # KiB and µs before 3.0; the second, empty "read" does not replace the first.
    assert job["read_bytes_per_s"] == 51200 * 1024
    assert job["read_lat_mean_ns"] == pytest.approx(76250)
    assert job["read_clat_p99_ns"] == 120_000
    assert "write_iops" not in job
    assert [number for number, _ in result.unread] == [1]
    assert [number for number, _ in part.parsed.rejects] == [34]


def test_fio_that_is_cut() -> None:
    parsed = read("fio", (FIXTURES / "fio-3.json").read_text()[:2000])
    assert parsed.lines_understood == 0
    assert any("cut or damaged" in note for note in parsed.notes)
    assert parsed.rejects


def test_two_jobs_of_one_name_stay_two() -> None:
    text = json.dumps({"fio version": "fio-3.1", "jobs": [
        {"jobname": "a", "read": {"io_bytes": 1, "iops": n, "bw_bytes": n}} for n in (10.0, 20.0)
    ]})  # fmt: skip
    parsed = read("fio", text)
    assert values(parsed, "a")["read_iops"] == 10
    assert values(parsed, "a #2")["read_iops"] == 20


def test_case_5_iozone_small_files_against_large_ones() -> None:
    result = taken_apart((FIXTURES / "case5-new-kernel.iozone.txt").read_text())
    small = values(result.parts[0].parsed, "initial writer 1920 x 16384")["bytes_per_s"]
    large = values(result.parts[1].parsed, "initial writer 15 x 2097152")["bytes_per_s"]
    assert large / small == pytest.approx(2.0, rel=0.01)
    assert small == 46021.5 * 1024
    assert result.unread == []
    assert result.parts[0].parsed.version == "3.408"


def test_iozone_table_names_its_tests() -> None:
    parsed = fixture("iozone", "iozone-3-auto.txt")
    assert values(parsed, "random write 65536") == {"bytes_per_s": 912345 * 1024}
    assert values(parsed, "stride read 65536") == {"bytes_per_s": 2312345 * 1024}
    assert values(parsed, "fwrite 65536 in 64") == {"bytes_per_s": 1202345 * 1024}
    assert parsed.rejects == []


def test_case_5_latencytop() -> None:
    parsed = fixture("latencytop", "case5-new-kernel.latencytop.txt")
    assert values(parsed, "fsync() on a file")["share"] == pytest.approx(0.913)
    assert values(parsed, "iozone (4711): fsync() on a file")["total_ns"] == pytest.approx(
        26811.4e6 * 0.951
    )


def test_copy_of_latency_stats() -> None:
    text = (
        "Latency Top version : v0.1\n"
        "10 9000 1500 jbd2_log_wait_commit ext3_sync_file vfs_fsync sys_fsync\n"
        "5 1000 400 do_select core_sys_select\n"
    )
    found = values(
        read("latencytop", text), "jbd2_log_wait_commit ext3_sync_file vfs_fsync sys_fsync"
    )
    assert found == {"count": 10, "total_ns": 9_000_000, "max_ns": 1_500_000, "share": 0.9}


def test_hyperfine() -> None:
    parsed = fixture("hyperfine", "hyperfine.json")
    found = values(parsed, "sync-test --files 100")
    assert found["mean_s"] == 1.25
    assert sum(row["metric"] == "run_s" for row in parsed.tables["measurements"]) == 3
    assert tells(parsed.notes[0], "1", "sync-test --files 100")


def test_darshan_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "job.log"
    log.write_bytes(b"3.21\0\0\0\0" + darshan.MAGIC.to_bytes(8, "little") + bytes(100))
    monkeypatch.setitem(sys.modules, "darshan", None)
    with wrong("pydarshan-missing", path=log):
        diagnose([str(log)], tmp_path / "x.iowhy")
    assert darshan.sniff_head(b"3.21\0\0\0\0" + darshan.MAGIC.to_bytes(8, "big")) is not None
    assert darshan.sniff_head(b"3.21") is None


@quick
@given(
    jobs=st.lists(
        st.fixed_dictionaries(
            {
                "iops": st.floats(0.1, 1e7),
                "bw_bytes": st.integers(1, 2**40),
                "mean": st.floats(1, 1e12),
            }
        ),
        max_size=4,
    ),
    before=st.text(st.characters(codec="ascii", exclude_characters="{}\x00\r\n"), max_size=50),
)
def test_fio_written_and_read_back(jobs: list[dict[str, float]], before: str) -> None:
    made = [
        {
            "jobname": f"job{at}",
            "write": {
                "io_bytes": 4096,
                "iops": job["iops"],
                "bw_bytes": job["bw_bytes"],
                "lat_ns": {"mean": job["mean"], "max": job["mean"]},
            },
        }
        for at, job in enumerate(jobs)
    ]
    text = before + "\n" + json.dumps({"fio version": "fio-3.36", "jobs": made}, indent=2)
    (part,) = taken_apart(text).parts
    for at, job in enumerate(jobs):
        found = values(part.parsed, f"job{at}")
        assert found["write_iops"] == job["iops"]
        assert found["write_bytes_per_s"] == job["bw_bytes"]
        assert found["write_lat_mean_ns"] == job["mean"]


@quick
@given(rows=st.lists(st.tuples(st.integers(64, 2**30), st.integers(4, 16384),
                               st.integers(1, 10**7), st.integers(1, 10**7)),
                     min_size=1, max_size=5, unique_by=lambda row: row[0]))  # fmt: skip
def test_iozone_written_and_read_back(rows: list[tuple[int, int, int, int]]) -> None:
    text = "              kB  reclen    write  rewrite\n"
    text += "".join(f"{a:>16}{b:>8}{c:>9}{d:>9}\n" for a, b, c, d in rows)
    parsed = read("iozone", text)
    for size, _, write, rewrite in rows:
        assert values(parsed, f"write {size}")["bytes_per_s"] == write * 1024
        assert values(parsed, f"rewrite {size}")["bytes_per_s"] == rewrite * 1024


@quick
@given(times=st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=8), command=st.text(max_size=40))
def test_hyperfine_written_and_read_back(times: list[float], command: str) -> None:
    result = {"command": command, "mean": sum(times) / len(times), "times": times,
              "stddev": None}  # fmt: skip
    parsed = read("hyperfine", json.dumps({"results": [result]}, indent=2))
    rows = parsed.tables["measurements"]
    assert [row["value"] for row in rows if row["metric"] == "run_s"] == times
    assert {row["subject"] for row in rows} == {command}
