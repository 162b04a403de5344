"""Darshan logs of several versions against PyDarshan's own summary (the extra `darshan`)."""

import importlib.util
import os
from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.sources.format import Parsed
from iowhy.sources.formats import darshan as reader
from iowhy.sources.names import Names
from iowhy.whys.verdict import judge
from tests.numbers_told import tells
from tests.problems import wrong

LOG = Path(__file__).parent / "fixtures" / "ior-hdf5.darshan"


@pytest.fixture(autouse=True)
def extra() -> None:
    if importlib.util.find_spec("darshan") is None:
        assert os.environ.get("CI") != "true", "the extra `darshan` is not installed"
        pytest.skip("the extra `darshan` is not installed")


def stream(path: Path) -> Parsed:
    assert reader.sniff_head(path.read_bytes()[:65536]) == 0.99
    return reader.stream(path, Names(), lambda _done, _total: None)


def of(parsed: Parsed, subject: str) -> dict[str, float]:
    return {
        r["metric"]: r["value"] for r in parsed.tables["measurements"] if r["subject"] == subject
    }  # type: ignore[union-attr]


def logs() -> list[Path]:
    """Real logs that come with PyDarshan: of versions 3.1 and 3.2, of 4 to 2,048 processes."""
    import darshan

    examples = Path(darshan.__file__).parent / "examples" / "example_logs"
    names = ("example", "noposix", "ior_hdf5_example", "sample-badost")
    return [LOG, *(path for name in names if (path := examples / f"{name}.darshan").exists())]


def test_segments_of_dxt_are_named_as_not_read() -> None:
    assert any("DXT_POSIX" in note for note in stream(LOG).notes)


def test_totals_are_those_of_pydarshan_s_summary() -> None:
    import darshan
    from darshan.backend.cffi_backend import accumulate_records

    compared = 0
    for path in logs():
        parsed = stream(path)
        report = darshan.DarshanReport(str(path), read_all=True)
        job = report.metadata["job"]
        about = of(parsed, "job")
        assert (about["processes"], about["run_s"]) == (job["nprocs"], job["run_time"])
        elapsed = sum(value for name, value in about.items() if name.startswith("elapsed_"))
        assert elapsed == pytest.approx(job["run_time"], rel=1e-6)
        assert parsed.version == job["metadata"]["lib_ver"]
        for module in {"POSIX", "MPI-IO", "STDIO"} & set(report.modules):
            totals = accumulate_records(report.records[module].to_df(), module, job["nprocs"])
            # Its first category is all files.
            files = totals.derived_metrics.category_counters[0]
            ours = of(parsed, module)
            assert ours["read_bytes"] == files.total_read_volume_bytes, (path.name, module)
            assert ours["written_bytes"] == files.total_write_volume_bytes, (path.name, module)
            assert ours["files"] == files.count, (path.name, module)
            compared += 1
    assert compared >= 3


def test_a_log_of_ior() -> None:
    # The figures are those of `darshan-parser --total`.
    parsed = stream(LOG)
    posix = of(parsed, "POSIX")
    assert (posix["read_count"], posix["write_count"], posix["open_count"]) == (36, 23, 22)
    assert (posix["read_bytes"], posix["written_bytes"]) == (4_202_504, 4_195_800)
    assert posix["write_s"] == pytest.approx(0.536812, abs=1e-6)
    assert of(parsed, "POSIX /global/cscratch1/sd/ssnyder/test123.h5")["sync_count"] == 0
    mpi = of(parsed, "MPI-IO")
    assert (mpi["read_count"], mpi["write_count"], mpi["open_count"]) == (36, 23, 17)
    stdio = of(parsed, "STDIO")
    assert (stdio["write_count"], stdio["written_bytes"], stdio["flush_count"]) == (128, 2421, 9)
    written = [r for r in parsed.tables["call_sums"] if r["name"] == "write" and r["calls"] == 23]  # type: ignore[union-attr]
    assert [r["done_bytes"] for r in written] == [4_195_800]
    assert written[0]["total_ns"] == pytest.approx(536_811_800, abs=100)
    assert of(parsed, "H5D")["write_count"] == 12


def example(name: str) -> Path:
    """A log that comes with PyDarshan."""
    import darshan

    return Path(darshan.__file__).parent / "examples" / "example_logs" / f"{name}.darshan"


def test_one_slow_server_of_2048_processes(tmp_path: Path) -> None:
    """Each writes 256 MiB in 11 s, but for those of OST 14."""
    verdict = judge(diagnose([str(example("sample-badost"))], tmp_path / "a.iowhy").recording)
    found = verdict.findings[0]
    assert (found.cause, round(found.share, 2)) == ("ranks-uneven", 0.98)
    assert "OST 14" in found.summary
    assert tells("\n".join(link.statement for link in found.chain), "1507", "11.4 s")


def test_pipes_are_no_metadata(tmp_path: Path) -> None:
    """Seven opens of a pipe wait for the other end for 1,462 s each."""
    verdict = judge(diagnose([str(example("dxt"))], tmp_path / "a.iowhy").recording)
    assert [found.cause for found in verdict.findings] == ["healthy"]
    assert any("pipes" in note for note in verdict.notes)
    assert tells(verdict.headline, "97 %")


def test_diagnosis_of_a_log_and_of_a_damaged_one(tmp_path: Path) -> None:
    found = diagnose([str(LOG)], tmp_path / "ior.iowhy")
    assert [part.format for part in found.parts] == ["darshan"] and not found.unread
    damaged = tmp_path / "damaged.darshan"
    damaged.write_bytes(LOG.read_bytes()[:1500])
    with wrong("darshan-unreadable", path=damaged):
        diagnose([str(damaged)], tmp_path / "damaged.iowhy")
