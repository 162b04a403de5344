"""fio's logs of single I/Os and of windows: counters, phases and a ceiling from them; of iostat's seconds as well."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.errors import Problem
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.sources.diagnose import Diagnosis, diagnose
from iowhy.sources.format import Part
from iowhy.sources.formats import fio_log
from iowhy.sources.names import Names
from iowhy.whys.verdict import judge
from tests.problems import wrong

from .fuzz import mutant
from .reading import FIXTURES, quick

LOGS = [FIXTURES / f"fio-3.33_{kind}.1.log" for kind in ("bw", "iops", "lat")]
MS = 10**6


def of(files: list[Path], folder: Path) -> Diagnosis:
    return diagnose([str(one) for one in files], folder / "out.iowhy")


def sums(recording: Recording) -> tuple[int, ...]:
    with Relations(recording) as opened:
        (row,) = opened.rows(
            "SELECT sum(reads), sum(read_bytes), sum(read_ns), sum(queue_ns), sum(busy_ns), sum(writes) FROM disk_steps"
        )
    return tuple(int(str(one)) for one in row)


@pytest.mark.parametrize(
    "files", [LOGS, [FIXTURES / "iostat-12-dx-burst.txt"]], ids=["fio", "iostat"]
)
def test_seconds_before_and_at_a_ceiling(tmp_path: Path, files: list[Path]) -> None:
    """A volume with credits for 3.5 s, then 300 requests/s; eight at once."""
    found = judge(of(files, tmp_path).recording)
    first = found.findings[0]
    assert first.cause == "device-capped"
    assert getattr(found.headline, "id", None) == "device-capped.headline"
    values = {one.statement.id: one.value for one in first.chain}
    assert values["device-capped.at"] == pytest.approx(300, rel=0.03)
    assert values["device-capped.above"] == pytest.approx(2990, rel=0.15)
    # What the ceiling explains of the device's time is not its own limit.
    assert sum(one.share for one in found.findings) <= 1.0
    begins = [one.begin_s for one in found.phases]
    assert any(abs(begin - 3.7) <= 0.3 for begin in begins)
    assert all(one.cls is None and one.waited_ns is None for one in found.phases)


def test_a_rate_that_stands_still_from_the_first_second(tmp_path: Path) -> None:
    """The same without the seconds before: nothing shows whose limit it is, and that is said."""
    logs = []
    for log in LOGS:
        lines = (line.split(", ", 1) for line in log.read_text().splitlines())
        late = [f"{int(at) - 4500}, {rest}" for at, rest in lines if int(at) >= 5000]
        logs.append(tmp_path / log.name)
        logs[-1].write_text("\n".join(late) + "\n")
    found = judge(of(logs, tmp_path).recording)
    assert [one.cause for one in found.findings[:1]] == ["device-saturated"]
    assert "device-capped" not in {one.cause for one in found.findings}
    stands = next(
        one for one in found.findings[0].chain if one.statement.id == "device-saturated.same-rate"
    )
    assert stands.value == pytest.approx(300, rel=0.03)
    assert found.findings[0].confidence <= 0.5
    # With the seconds before, it is known.
    whole = judge(of(LOGS, tmp_path / "whole").recording)
    assert all(
        link.statement.id != "device-saturated.same-rate"
        for one in whole.findings
        for link in one.chain
    )


STALLED = [FIXTURES / f"fio-3.33-stall_{kind}.1.log" for kind in ("bw", "iops", "lat")]


@pytest.mark.parametrize(
    ("files", "per_s"),
    [(STALLED, 425), ([FIXTURES / "iostat-12-dx-stall.txt"], 834)],
    ids=["fio", "iostat"],
)
def test_a_second_in_which_nothing_was_answered(
    tmp_path: Path, files: list[Path], per_s: float
) -> None:
    """A volume that is silent from 8.4 s on for 2.3 s: one whole second of it in each text."""
    found = judge(of(files, tmp_path).recording)
    (first,) = found.findings
    assert first.cause == "device-slow" and first.moment
    assert getattr(found.headline, "id", None) == "device-slow.paused-headline"
    told = {one.statement.id: one for one in first.chain}
    paused = told["device-slow.paused"]
    assert (paused.statement.values["at"], paused.value) == (9e9, 1e9)
    assert told["device-slow.pause-cost"].value == pytest.approx(per_s, rel=0.02)
    assert told["device-slow.pause-cost"].statement.values["waited"] >= 1e9
    assert 0.04 < first.share < 0.07


def test_a_late_mean_is_of_the_window_that_it_ends(tmp_path: Path) -> None:
    """fio writes it when the next I/O completes: here 1.7 s later, when another window has begun."""
    with Relations(of(STALLED, tmp_path).recording) as opened:
        rows = opened.rows(
            "SELECT reads, round(read_ns / nullif(reads, 0) / 1e5), silent FROM disk_steps ORDER BY ts_ns"
        )
    assert rows[8:11] == [(161, 44.0, False), (0, None, True), (1040, 7.0, False)]


def test_a_job_that_rests_is_not_silent(tmp_path: Path) -> None:
    """Two I/Os, five seconds of thinking, and two again: the mean of the first is written with the third."""
    rows = {"lat": ("1000, 600000", "6000, 600000", "7000, 600000"), "iops": ("1000, 2", "6000, 2", "7000, 2"), "bw": ("1000, 8", "6000, 8", "7000, 8")}  # fmt: skip
    logs = [tmp_path / f"j_{kind}.1.log" for kind in rows]
    for log, lines in zip(logs, rows.values(), strict=True):
        log.write_text("".join(f"{line}, 0, 0, 0\n" for line in lines))
    assert not judge(of(logs, tmp_path / "out").recording).findings


def test_what_lacks_rates_or_times_is_measurements(tmp_path: Path) -> None:
    made = of(LOGS[:2], tmp_path)
    assert not made.recording.manifest.tables.get("disk_samples")
    assert made.missing
    with Relations(made.recording) as opened:
        (most,) = opened.values(
            float, "SELECT max(value) FROM measurements WHERE metric = 'read_bytes_per_s'"
        )
    assert most == 12_144 * 1024


def test_its_name_says_what_a_log_has(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_bytes(LOGS[0].read_bytes())
    with wrong("fio-log-unnamed"):
        of([tmp_path / "mine.txt"], tmp_path)


IO = st.tuples(st.integers(0, 3000), st.integers(1, 900 * MS), st.sampled_from([4096, 65536]))


@quick
@given(ios=st.lists(IO, min_size=2, max_size=40), extra=st.booleans())
def test_single_ios_are_counted_with_what_was_in_flight(
    tmp_path_factory: pytest.TempPathFactory, ios: list[tuple[int, int, int]], extra: bool
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    ios = sorted((max(at, -(-took // MS)), took, size) for at, took, size in ios)
    lines = [
        f"{at}, {took}, 0, {size}" + (", 0, 0x4000" if extra else "") for at, took, size in ios
    ]
    log = folder / "job_lat.1.log"
    log.write_text("\n".join(lines) + "\n")
    reads, moved, took_ns, queue, busy, writes = sums(of([log], folder).recording)
    assert (reads, moved, writes) == (len(ios), sum(size for *_, size in ios), 0)
    assert took_ns == pytest.approx(sum(took for _, took, _ in ios), abs=100)
    assert queue == pytest.approx(took_ns, abs=1000)
    covered, until = 0, 0
    for begin, end in sorted((at * MS - took, at * MS) for at, took, _ in ios):
        covered += max(0, end - max(begin, until))
        until = max(until, end)
    assert busy == pytest.approx(covered, abs=1000)


def test_processes_of_a_job_add_up(tmp_path: Path) -> None:
    for nth in (1, 2):
        (tmp_path / f"j_clat.{nth}.log").write_text(
            "".join(f"{at}, 12000000, 1, 4096, 0\n" for at in range(10, 2010, 10))
        )
    with Relations(of(sorted(tmp_path.glob("*.log")), tmp_path).recording) as opened:
        assert opened.rows("SELECT sum(writes), max(in_flight) FROM disk_steps") == [(400, 2)]


@pytest.mark.parametrize("seed", range(8))
def test_damage_is_rejected_and_never_raised(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "j_lat.1.log"
    log.write_bytes(mutant(LOGS[seed % 3].read_bytes(), LOGS[0].read_bytes(), seed))
    parsed = fio_log.stream(log, Names(), lambda *_: None)
    lines = [one for one in log.read_bytes().split(b"\n") if one.strip()]
    assert parsed.lines_understood + len(parsed.rejects) == len(lines)
    fio_log.together([Part(str(log), "fio-log", 1, 1, parsed)], Names())
    with contextlib.suppress(Problem):
        judge(of([log], tmp_path).recording)
