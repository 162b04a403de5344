"""Verdicts on other tools' figures: the expert's cases, from numbers as their tools print them."""

from pathlib import Path

from iowhy.recordings import Recording
from tests.numbers_told import tells

from .conftest import absent, chain, finding, judge_with_rows, leads
from .made import GIB, MIB, MS, Row, S, disk, pasted, samples


def measure(tool: str, subject: str, **metrics: float) -> list[Row]:
    return [
        {"tool": tool, "subject": subject, "metric": metric, "value": float(value)}
        for metric, value in metrics.items()
    ]


def vmstat(running: list[int], blocked: int) -> list[Row]:
    return [
        {"ts_ns": at * S, "procs_running": value, "procs_blocked": blocked}
        for at, value in enumerate(running)
    ]


def build(
    folder: Path, idle: float, running: list[int], blocked: int, cpus: int | None
) -> Recording:
    tables = {
        "cpu_samples": samples(user=(1 - idle) * 0.72, system=(1 - idle) * 0.28, idle=idle),
        "vm_samples": vmstat(running, blocked),
    }
    return pasted(folder, tables, cpus=cpus)


def test_one_of_two_cpus_is_full_while_processes_wait(tmp_path: Path) -> None:
    runnable = [0, 2, 2, 0, 2, 0, 2, 1, 0, 1, 2]
    found = leads(judge_with_rows(build(tmp_path / "a", 0.488, runnable, 2, 2)), "cpu-serial", 0.6)
    assert "1.0 of 2 CPUs" in chain(found)
    # Without the number of CPUs, the load itself gives it away.
    unknown = judge_with_rows(build(tmp_path / "b", 0.488, runnable, 2, None))
    assert leads(unknown, "cpu-serial", 0.6).confidence < found.confidence
    assert any("fit 2" in note for note in unknown.notes)


def test_two_jobs_at_a_time_meet_the_disk(tmp_path: Path) -> None:
    found = leads(
        judge_with_rows(build(tmp_path / "a", 0.358, [0] * 11, 4, 2)), "device-saturated", 0.7
    )
    assert "iostat" in found.lowered_by[0] and found.confidence < 0.5


def test_shares_without_the_number_of_cpus_name_no_cpu_cause(tmp_path: Path) -> None:
    verdict = judge_with_rows(build(tmp_path / "a", 0.29, [0] * 11, 0, None))
    absent(verdict, "cpu-serial")
    assert finding(verdict, "cpu-saturated") is None
    largest = max(verdict.budget.lines, key=lambda line: line.elapsed_share)
    assert largest.cls == "on-CPU user" and verdict.findings == ()


def cached(misses: int, hits: int) -> list[Row]:
    return [
        {
            "ts_ns": at * S,
            "interval_ns": S,
            "lookup_pages": hits + misses,
            "demand_miss_pages": misses,
            "estimated": True,
        }
        for at in range(10)
    ]


def memory(free: int, cache: int) -> list[Row]:
    return [
        {"ts_ns": 0, "total_bytes": 64_414 * MIB, "free_bytes": free, "cached_bytes": cache * MIB}
    ]


def upload(folder: Path, *, misses: int, hits: int, free: int) -> Recording:
    tables = {
        "cpu_samples": samples(user=0.148, system=0.0104, idle=0.55, iowait=0.29),
        "disk_samples": disk(reads=740, read_bytes=92e6, wait_ns=33.5 * MS, busy=1.0, depth=25),
        "page_cache": cached(misses, hits),
        "memory_samples": memory(free, 48_009),
    }
    return pasted(folder, tables, cpus=16)


def test_a_file_larger_than_the_page_cache(tmp_path: Path) -> None:
    found = leads(judge_with_rows(upload(tmp_path / "a", misses=15_000, hits=1700, free=349 * MIB)),
                  "cache-thrash", 0.6)  # fmt: skip
    text = chain(found)
    assert "740 reads" in text and "10 %" in text
    assert tells(text, "46.9 GiB")
    assert "46.9 GiB" in found.remedies[0]


def test_memory_that_is_free_says_that_nothing_was_evicted(tmp_path: Path) -> None:
    verdict = judge_with_rows(upload(tmp_path / "a", misses=15_000, hits=1700, free=30 * GIB))
    absent(verdict, "cache-thrash")
    leads(verdict, "device-saturated", 0.6)


def test_a_cache_that_answers_leaves_the_cpus(tmp_path: Path) -> None:
    tables = {
        "cpu_samples": samples(user=0.534, system=0.023, idle=0.443),
        "disk_samples": disk(reads=0.2, read_bytes=1e4, wait_ns=MS, busy=0.0, depth=1),
        "page_cache": cached(0, 60_000),
        "memory_samples": memory(11_218 * MIB, 33_680),
    }
    verdict = judge_with_rows(pasted(tmp_path / "a", tables, cpus=16))
    leads(verdict, "cpu-serial", 0.9)
    absent(verdict, "cache-thrash")
    absent(verdict, "device-saturated")


def aix(
    folder: Path, *, sequentiality: float, seeks: float, write: float, elapsed: float
) -> Recording:
    rows = measure("curt", "msync", calls=40, elapsed_mean_ns=elapsed, cpu_mean_ns=4.9 * MS)
    rows += measure("curt", "mmap", calls=40, elapsed_mean_ns=0.2 * MS, cpu_mean_ns=0.1 * MS)
    rows += measure("filemon", "/dev/lv1", write_mean_bytes=write, seek_share=seeks)
    rows += measure("fileplace", "data1", sequentiality=sequentiality, extents=900)
    return pasted(folder, {"measurements": rows})


def test_a_file_written_by_eight_threads_on_aix(tmp_path: Path) -> None:
    verdict = judge_with_rows(
        aix(tmp_path / "a", sequentiality=0.079, seeks=0.999, write=9.1 * 512, elapsed=2198.76 * MS)
    )
    text = chain(leads(verdict, "file-fragmented", 0.95))
    for said in ("msync takes 2.2 s", "only 4.9 ms", "4.55 KiB", "7.9 %", "900 extents"):
        assert said in text, text


def test_the_same_file_written_in_order(tmp_path: Path) -> None:
    verdict = judge_with_rows(
        aix(tmp_path / "a", sequentiality=1.0, seeks=0.041, write=512 * 512, elapsed=117.68 * MS)
    )
    absent(verdict, "file-fragmented")
    absent(verdict, "random-access")
    text = chain(leads(verdict, "device-saturated", 0.9))
    assert tells(text, "256 KiB") and tells(text, "4.1 %")


def test_small_files_against_large_ones_with_the_waits(tmp_path: Path) -> None:
    rows = measure("iozone", "write 16384", bytes_per_s=40e6)
    rows += measure("iozone", "write 2097152", bytes_per_s=80e6)
    alone = judge_with_rows(pasted(tmp_path / "a", {"measurements": rows}))
    found = leads(alone, "sync-storm", 0.45, 0.55)
    assert tells(chain(found), "2.0") and found.confidence < 0.6
    assert tells(alone.answer, "sync-storm", "50 %")
    rows += measure("latencytop", "iozone: fsync: device cache flush", share=0.9, max_ns=30 * MS)
    rows += measure("latencytop", "iozone: reading from file", share=0.1, max_ns=MS)
    both = judge_with_rows(pasted(tmp_path / "b", {"measurements": rows}))
    leads(both, "flush-cost", 0.85)


def test_equal_rates_are_no_storm(tmp_path: Path) -> None:
    rows = measure("iozone", "write 16384", bytes_per_s=78e6)
    rows += measure("iozone", "write 2097152", bytes_per_s=80e6)
    assert judge_with_rows(pasted(tmp_path / "a", {"measurements": rows})).findings == ()


def test_totals_of_calls(tmp_path: Path) -> None:
    rows: list[Row] = [
        {
            "ts_ns": 0,
            "interval_ns": 10 * S,
            "tgid": 1,
            "tid": 1,
            "name": name,
            "calls": calls,
            "errors": 0,
            "total_ns": total,
        }
        for name, calls, total in (
            ("fsync", 4000, 9 * S),
            ("write", 8000, S // 2),
            ("poll", 9, S // 2),
        )
    ]
    verdict = judge_with_rows(pasted(tmp_path / "a", {"syscall_totals": rows}))
    leads(verdict, "sync-storm", 0.85, 0.95)
    assert any("CPU" in text for text in verdict.unknowns)


def test_text_without_any_time(tmp_path: Path) -> None:
    verdict = judge_with_rows(pasted(tmp_path / "a", {"memory_samples": memory(0, 5)}))
    # What the text states is said; where the time went is not known.
    assert tells(verdict.answer, "5 MiB") and verdict.findings == ()
    assert not verdict.budget.known and verdict.unknowns


def test_a_device_without_figures_of_the_cpus(tmp_path: Path) -> None:
    rows = measure("sar", "sda", busy_share=0.99, queue_mean=25.0, operations_per_s=740.0)
    rows += measure("sar", "sdb", busy_share=0.4, queue_mean=30.0)
    found = leads(
        judge_with_rows(pasted(tmp_path / "a", {"measurements": rows})), "device-saturated", 0.9
    )
    assert tells(chain(found), "sda", "99 %", "25.0") and found.confidence <= 0.5
    rows = measure("sar", "sda", busy_share=0.99, queue_mean=1.0)
    assert judge_with_rows(pasted(tmp_path / "b", {"measurements": rows})).findings == ()
