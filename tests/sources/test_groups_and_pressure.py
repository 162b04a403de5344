"""Control groups' files and pressure (PSI): written from generated data and read back, named or by their content; real ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sources.diagnose import diagnose
from iowhy.whys.confidence import PART
from iowhy.whys.verdict import judge
from tests.numbers_told import tells
from tests.sources.reading import verdict
from tests.whys.conftest import links_of

from .reading import FIXTURES, fixture, quick, read, taken_apart, values
from .test_written_and_read import COUNTS

GROUP = "/kube.slice/pod-1"


def titled(text: str, file: str, style: str) -> tuple[str, str]:
    """(text, command) as people show whose file it is."""
    path = f"/sys/fs/cgroup{GROUP}/{file}"
    if style == "head":
        return f"==> {path} <==\n{text}", ""
    if style == "grep":
        return "".join(f"{path}:{line}\n" for line in text.splitlines()), ""
    return text, f"cat {path}" if style == "command" else ""


STYLES = st.sampled_from(["head", "grep", "command", "none"])


@quick
@given(periods=st.integers(0, 10**6), share=st.floats(0, 1), held=COUNTS, old=st.booleans(), style=STYLES,
       more=st.lists(st.tuples(st.integers(0, 999), st.floats(0, 1)), max_size=2))  # fmt: skip
def test_cpu_stat(
    periods: int, share: float, held: int, old: bool, style: str, more: list[tuple[int, float]]
) -> None:
    copies = [(periods, round(periods * share))]
    for extra, part in more:
        copies.append((copies[-1][0] + extra, copies[-1][1] + round(extra * part)))
    text = ""
    for number, stopped in copies:
        text += "" if old else "usage_usec 739\nuser_usec 272\nsystem_usec 466\n"
        text += f"nr_periods {number}\nnr_throttled {stopped}\n"
        text += f"throttled_time {held * 1000}\n" if old else f"throttled_usec {held}\n"
    shown, command = titled(text, "cpu.stat", style)
    parsed = read("cgroup-cpu-stat", shown, command)
    found = values(parsed, "control group" if style == "none" else GROUP)
    assert not parsed.rejects and (parsed.partial is None) == bool(more)
    grown = (
        copies[-1] if not more else tuple(b - a for a, b in zip(copies[0], copies[-1], strict=True))
    )
    assert found.get("throttled_periods_share") == (
        pytest.approx(grown[1] / grown[0]) if grown[0] else None
    )
    assert found["throttled_ns"] == (0 if more else held * 1000)
    assert [one.counters["cpu_periods"] for one in parsed.snapshots] == (
        [number for number, _ in copies] if more else []
    )


@quick
@given(devices=st.dictionaries(st.tuples(st.integers(0, 999), st.integers(0, 99)), st.lists(COUNTS, min_size=6, max_size=6),
       min_size=1, max_size=3), times=st.integers(1, 3), style=STYLES)  # fmt: skip
def test_io_stat(devices: dict[tuple[int, int], list[int]], times: int, style: str) -> None:
    names = ("rbytes", "wbytes", "rios", "wios", "dbytes", "dios")
    text = ""
    for copy in range(times):
        for (major, minor), numbers in devices.items():
            cells = (
                f"{name}={number * (copy + 1)}" for name, number in zip(names, numbers, strict=True)
            )
            text += f"{major}:{minor} {' '.join(cells)}\n"
    shown, command = titled(text, "io.stat", style)
    parsed = read("cgroup-io-stat", shown, command)
    assert not parsed.rejects and (parsed.partial is None) == (times > 1)
    for (major, minor), numbers in devices.items():
        group = "control group" if style == "none" else GROUP
        found = values(parsed, f"{group} {major}:{minor}")
        factor = max(1, times - 1)
        assert found["read_bytes"] == numbers[0] * factor and found["writes"] == numbers[3] * factor
        if numbers[3]:
            assert found["written_bytes_per_request"] == pytest.approx(numbers[1] / numbers[3])


@quick
@given(cached=COUNTS, refaults=COUNTS, limit=st.sampled_from([None, 2**30, 9223372036854771712]), style=STYLES,
       twice=st.booleans())  # fmt: skip
def test_memory_stat(
    cached: int, refaults: int, limit: int | None, style: str, twice: bool
) -> None:
    one = (
        f"anon 5\nfile {cached}\nkernel_stack 7\nworkingset_refault_file {refaults}\npgmajfault 3\n"
    )
    if limit is not None:
        one = f"cache {cached}\nrss 5\nworkingset_refault {refaults}\nhierarchical_memory_limit {limit}\n"
    shown, command = titled(one * (1 + twice), "memory.stat", style)
    parsed = read("cgroup-memory-stat", shown, command)
    group = "control group" if style == "none" else GROUP
    assert not parsed.rejects
    assert values(parsed, group)["refaulted_file_pages"] == (0 if twice else refaults)
    if twice:
        assert [s.counters for s in parsed.snapshots] == [{"refault_file_pages": refaults}] * 2
        return
    (row,) = parsed.tables["cgroup_samples"]
    assert row["path"] == group and row["cached_bytes"] == cached
    assert row.get("memory_limit_bytes") == (limit if limit == 2**30 else None)


def test_real_files_of_groups() -> None:
    assert (
        values(fixture("cgroup-cpu-stat", "cgroup-cpu-v1.txt"), "control group")["throttled_ns"]
        == 127918677
    )
    assert (
        values(fixture("cgroup-cpu-stat", "cgroup-cpu-v2.txt"), "control group")["cpu_ns"]
        == 73_899_000
    )
    found = values(fixture("cgroup-io-stat", "cgroup-io-loop.txt"), "control group 254:3")
    assert (found["writes"], found["reads"]) == (124345234 - 124342581, 0)
    found = values(fixture("cgroup-memory-stat", "cgroup-memory-v2.txt"), "control group")
    assert found["refaulted_file_pages"] == 506542
    assert (
        values(fixture("cgroup-memory-stat", "cgroup-memory-oom.txt"), "control group")[
            "direct_scan_pages"
        ]
        == 6318
    )


def test_a_quota_that_is_used_up_is_the_verdict(tmp_path: Path) -> None:
    copy = "nr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"
    found = verdict(tmp_path / "twice", copy.format(100, 10, 5) + copy.format(200, 90, 9)).findings
    assert [one.cause for one in found] == ["cpu-throttled"]
    assert (
        found[0].share == pytest.approx(0.8) and found[0].share_of == "the periods of its CPU quota"
    )
    assert "cpu-throttled.runnable" not in links_of(found[0])
    once = verdict(tmp_path / "once", copy.format(200, 90, 9)).findings[0]
    assert once.share == pytest.approx(0.45) and once.confidence <= PART < found[0].confidence
    assert not verdict(tmp_path / "seldom", copy.format(200, 3, 9)).findings


PSI = "{} avg10={} avg60=1.00 avg300=2.50 total={}\n"


def pressure(names: list[str], totals: list[int], style: str, full_cpu: bool) -> tuple[str, str]:
    text, command = "", ""
    for name, total in zip(names, totals, strict=True):
        rows = [] if name == "irq" else [PSI.format("some", "12.25", total)]
        if name == "irq" or name != "cpu" or full_cpu:
            rows.append(PSI.format("full", "0.00", 0 if name == "cpu" else total))
        if style == "head":
            text += f"==> /proc/pressure/{name} <==\n"
        elif style == "title":
            text += f"{name.upper()}:\n"
        prefix = {"grep": f"/proc/pressure/{name}:", "grep -n": f"/proc/pressure/{name}:1:"}.get(
            style, ""
        )
        text += "".join(prefix + row for row in rows)
    if style == "command":
        command = "cat /proc/pressure/{" + ",".join(names) + "}"
    return text, command


@quick
@given(totals=st.lists(st.integers(1, 10**9), min_size=4, max_size=4), full_cpu=st.booleans(), irq=st.booleans(),
       style=st.sampled_from(["head", "title", "grep", "grep -n", "command", "none"]), twice=st.booleans())  # fmt: skip
def test_pressure_named_or_not(
    totals: list[int], full_cpu: bool, irq: bool, style: str, twice: bool
) -> None:
    names = ["cpu", "io", "irq", "memory"] if irq else ["cpu", "io", "memory"]
    text, command = pressure(names, totals[: len(names)], style, full_cpu)
    parsed = read("proc-pressure", text * (1 + twice), command)
    assert not parsed.rejects
    found = {
        (one.key["resource"], one.key["kind"], one.copy): one.counters["total_ns"]
        for one in parsed.snapshots
    }
    for name, total in zip(names, totals, strict=False):
        if name != "irq":
            assert found[name, "some", 0] == total * 1000
            assert ((name, "some", 1) in found) == twice
            assert values(parsed, name)["some_stalled_10s_share"] == pytest.approx(0.1225)
    assert not any(resource == "irq" for resource, _, _ in found)


def test_pressure_that_can_be_of_anything_is_left_out() -> None:
    one = PSI.format("some", "1.00", 5) + PSI.format("full", "1.00", 5)
    parsed = read("proc-pressure", one)
    assert not parsed.snapshots and len(parsed.rejects) == 2
    shown, _ = titled(one, "io.pressure", "grep")
    parsed = read("proc-pressure", shown)
    assert {one.key["scope"] for one in parsed.snapshots} == {GROUP}


def test_real_pressure() -> None:
    parts = taken_apart((FIXTURES / "pressure-flatcar.txt").read_text()).parts
    assert [one.parsed.snapshots[0].key["resource"] for one in parts] == ["cpu", "io", "memory"]
    parsed = fixture("proc-pressure", "pressure-grep.txt")
    assert len(parsed.snapshots) == 5 and not parsed.notes
    parsed = fixture("proc-pressure", "pressure-6.18-nameless.txt")
    assert values(parsed, "io")["full_stalled_300s_share"] == pytest.approx(0.008)
    assert any(tells(note, "cpu", "94.43 %") for note in parsed.notes)


@pytest.mark.parametrize(
    ("path", "minute", "share", "said"),
    [
        ("/proc/pressure/memory", "42.00", 0.42, "some thread stalled for memory in 42 % of the last minute (PSI)"),
        (f"/sys/fs/cgroup{GROUP}/memory.pressure", "9.00", 0.09, f"some thread of {GROUP} stalled for memory in 9.0 %"),
        ("/proc/pressure/memory", "4.00", None, ""),
        # Threads that wait for I/O or a CPU: for which disk, and whether CPUs idle, no such text shows.
        ("/proc/pressure/io", "42.00", None, ""),
        ("/proc/pressure/cpu", "99.00", None, ""),
    ],
)  # fmt: skip
def test_memory_pressure_of_a_pasted_minute(
    tmp_path: Path, path: str, minute: str, share: float | None, said: str
) -> None:
    row = f"{path}:some avg10=0.00 avg60={minute} avg300=0.00 total=5\n"
    (tmp_path / "in.txt").write_text(row)
    findings = judge(
        diagnose([str(tmp_path / "in.txt")], tmp_path / "out.iowhy").recording
    ).findings
    found = [one for one in findings if one.cause == "memory-pressure"]
    assert bool(found) == (share is not None)
    for one in found:
        assert one.share == pytest.approx(share)
        assert one.share_of == "the last minute (for some thread)"
        assert one.chain[0].statement.startswith(said)
