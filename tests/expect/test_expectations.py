"""Expectations on made recordings: kept, broken, unknown; and the grammar against anything that one may type."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.generated import generate
from iowhy.comparisons.comparison import longer
from iowhy.errors import Problem
from iowhy.expect import grown, outcomes, read_expectation, read_growth, times_grown
from iowhy.expect.baseline import read_baseline
from iowhy.measures import find, largest_call, largest_file, measures, values
from iowhy.measures.measure import parse
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.manifest import Kept
from iowhy.relations import Relations
from iowhy.whys.verdict import judge
from tests.command_line import invoke
from tests.numbers_told import tells
from tests.problems import asks, wrong

from ..whys.made import KIB, MS, Story


def syncing(calls: int) -> Story:
    story = Story(seconds=4.0)
    story.caller("fsync", calls, blocked=5 * MS, reason="device_flush", bytes_=None, gap_share=0.0)
    return story.requests(calls, op="write", bytes_=4 * KIB, jump=True).flushes(calls, 2 * MS)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return syncing(400).write(tmp_path / "a.iowhy")


def held(recording: Recording, *texts: str) -> list[bool | None]:
    expected = [read_expectation("--expect", text) for text in texts]
    return [one.held for one in outcomes(recording, judge(recording), expected)]


def test_each_measure_is_a_number_and_no_file_has_more_than_all(tmp_path: Path) -> None:
    made = generate(tmp_path / "made.iowhy", calls=2000, seed=7, files=8, threads=3)
    with Relations(made) as relations:
        found = values(relations, measures().values())
        for measure in measures().values():
            value = found[measure.name]
            assert value is None or made.ran(measure.sensor), measure.name
            for largest in (largest_file(relations, measure), largest_call(relations, measure)):
                if largest is not None and "mean" not in measure.name:
                    assert value is not None and 0 < largest.value <= value, measure.name
    assert {"sync_calls", "device.written_bytes", "calls", "cpu_ns"} <= {
        name for name, value in found.items() if value
    }


def test_bounds_are_kept_or_broken_exactly_at_the_number(recording: Recording) -> None:
    assert held(recording, "sync_calls <= 400", "sync_calls < 400", "sync_calls == 400") == [
        True,
        False,
        True,
    ]
    assert held(recording, "sync_calls >= 401", "sync_calls > 399", "sync_calls<=1,000") == [
        False,
        True,
        True,
    ]
    size = 400 * 4
    assert held(recording, f"device.written_bytes <= {size} KiB") == [True]
    assert held(recording, f"device.written_bytes < {size}KiB") == [False]
    assert held(recording, "sync_mean_ns < 4 ms", "sync_mean_ns < 6ms") == [False, True]


def test_the_share_of_a_cause_is_that_of_the_verdict(recording: Recording) -> None:
    first = judge(recording).findings[0]
    above, below = first.share * 100 + 1, first.share * 100 - 1
    texts = [f"cause {first.cause} < {bound:.0f} %" for bound in (above, below)]
    assert held(recording, *texts, "cause memory-pressure == 0 %") == [True, False, True]


def test_what_no_sensor_saw_is_unknown_and_not_zero(tmp_path: Path) -> None:
    blind = syncing(5)
    blind.missing = {"syscalls"}
    made = blind.write(tmp_path / "b.iowhy")
    done = invoke(["why", "--expect", "sync_calls <= 10", str(made.path)])
    assert done.exit_code == 2
    assert tells(done.stderr, "sync_calls <= 10", "syscalls")


def test_a_cause_that_no_sensor_could_see_is_unknown_and_not_absent(tmp_path: Path) -> None:
    blind = Story(seconds=2.0).thread(user=0.9)
    blind.missing = {"waits", "syscalls"}
    made = blind.write(tmp_path / "b.iowhy")
    asked = ("cause sync-storm < 20 %", "cause cpu-serial > 20 %", "cause cpu-serial < 20 %")
    assert held(made, *asked) == [None, True, False]
    done = invoke(["why", "--expect", asked[0], str(made.path)])
    assert done.exit_code == 2 and tells(done.stderr, "syscalls", "not permitted")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sync_calls <= 1000", None),  # those that were lost may be 601 or more
        ("sync_calls <= 10", False),
        ("sync_calls >= 10", True),
        ("sync_calls >= 1000", None),
        ("sync_calls == 400", None),
        ("sync_calls == 500", None),
        ("sync_calls == 300", False),
    ],
)
def test_lost_events_leave_open_what_they_could_change(
    recording: Recording, text: str, expected: bool | None
) -> None:
    lossy = {**recording.manifest.tables, "syscalls": Kept(400, 700)}
    text_of = replace(recording.manifest, tables=lossy).as_json()
    (recording.path / "manifest.json").write_text(text_of)
    assert held(open_recording(recording.path), text) == [expected]


def test_the_command_line_says_each_and_ends_with_its_own_status(recording: Recording) -> None:
    path = str(recording.path)
    broken = invoke(["why", "--expect", "sync_calls <= 10", "--expect", "calls > 1", path])
    assert broken.exit_code == 3
    (line,) = broken.stderr.splitlines()
    assert tells(line, "sync_calls <= 10", "400", "fsync")
    kept = invoke(["why", "--expect", "sync_calls <= 400", path])
    assert kept.exit_code == 0
    printed = json.loads(invoke(["why", "--json", "--expect", "sync_calls < 1", path]).stdout)
    (one,) = printed["expected"]
    assert (one["held"], one["value"], one["bound"], one["unit"]) == (False, 400, 1, "count")


def test_a_cause_that_has_too_much_says_what_its_finding_says() -> None:
    path = str(Path(__file__).parents[2] / "docs/recordings/scattered.iowhy.zip")
    broken = invoke(["why", "--expect", "cause file-fragmented < 20 %", path])
    assert broken.exit_code == 3
    said = ("cause file-fragmented < 20 %", "76 %", "15,218")
    assert tells(broken.stderr, *said) and "/database/table" in broken.stderr
    less = invoke(["why", "--expect", "cause file-fragmented > 90 %", path])
    assert less.stderr.endswith(" 76 %\n")


def test_compare_fails_on_counts_that_grew(tmp_path: Path) -> None:
    sides = [syncing(n).write(tmp_path / f"{n}.iowhy") for n in (100, 109)]
    limits = {"+0": False, "+8": False, "+9": True, "+9 %": True, "+8.9 %": False}
    growths = [read_growth("--fail-on", f"sync_calls > {limit}") for limit in limits]
    assert [one.held for one in grown(*sides, growths)] == [*limits.values()]
    assert all(one.held for one in grown(*reversed(sides), growths))
    few, many = (str(one.path) for one in sides)
    for limit, worse in (("+8", 1), ("+9", 0)):
        done = invoke(["compare", "--fail-on", f"sync_calls > {limit}", few, many])
        assert done.exit_code == worse, limit
        assert ("failed on" in done.stderr) == bool(worse)
    blind = syncing(1)
    blind.missing = {"syscalls"}
    unseen = str(blind.write(tmp_path / "blind").path)
    unknown = invoke(["compare", "--fail-on", "sync_calls > +0", few, unseen])
    assert isinstance(unknown.exception, Problem)
    assert tells(unknown.stderr, "sync_calls > +0", "100")


def test_compare_fails_on_times_only_where_chance_does_not_explain_them(tmp_path: Path) -> None:
    def runs(name: str, *lengths: int) -> list[Recording]:
        stories = [Story(seconds=4.0).caller("fsync", 100, blocked=ms * MS) for ms in lengths]
        return [one.write(tmp_path / name / f"{at}.iowhy") for at, one in enumerate(stories)]

    quick, slow, noisy = runs("quick", 5, 5, 6), runs("slow", 9, 10, 9), runs("noisy", 4, 30, 4)

    def holds(before: list[Recording], after: list[Recording], limit: str = "+5 %") -> bool | None:
        growth = read_growth("--fail-on", f"sync_mean_ns > {limit}")
        (found,) = times_grown(before, after, [growth], longer)
        return found.held

    assert holds(quick, slow) is False and holds(slow, quick)
    assert holds(quick, slow, "+200 %") and holds(quick, noisy)
    asked = ["compare", "--fail-on", "sync_mean_ns > +5 %"]
    assert invoke([*asked, str(tmp_path / "quick"), str(tmp_path / "slow")]).exit_code == 1
    one_each = invoke([*asked, str(quick[0].path), str(slow[0].path)])
    asks(one_each.exception, "fail-on-time-differs-from")


def test_a_path_that_is_made_anew_counts_as_one(tmp_path: Path) -> None:
    story = Story(seconds=2.0).file(1, "/srv/a.db").file(2, "/srv/a.db-journal")
    story.file(3, "/srv/a.db-journal")
    for ino, times in ((1, 3), (2, 2), (3, 2)):
        story.caller("fsync", times, blocked=MS, ino=ino)
    path = story.write(tmp_path / "a.iowhy").path
    done = invoke(["why", "--expect", "sync_calls <= 1", str(path)])
    assert "found 7, 4 of /srv/a.db-journal" in done.stderr


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("sync_calls", "not-an-expectation", {}),
        ("sync_calls <= 1.5", "not-a-count", {}),
        ("sync_call <= 1", "no-such-measure", {"name": "sync_call"}),
        ("device.written_bytes <= 2 parsec", "value-of-another-unit", {"what": "size"}),
        ("cpu_ns <= 2 MiB", "value-of-another-unit", {"what": "time"}),
        ("cache.hit_share > 0.5", "not-a-percentage-of-a-share", {}),
        ("cause slowness < 3 %", "cause-unknown", {"name": "slowness"}),
        ("sync_calls <= 1; DROP TABLE x", "not-a-count", {}),
    ],
)
def test_what_makes_no_sense_names_the_way_out(
    text: str, id_: str, values: dict[str, object]
) -> None:
    with wrong(id_, **values) as found:
        read_expectation("--expect", text)
    assert f"--expect '{text}'" in str(found.value)


@given(
    st.text(max_size=60)
    | st.from_regex(r"\A(cause )?[a-z_.]{1,12} ?[<>=]{1,2} ?[0-9., %a-zA-Z+]{0,12}\Z")
)
def test_any_text_is_read_or_is_a_problem(text: str) -> None:
    for read in (read_expectation, read_growth):
        try:
            read("--expect", text)
        except Problem:
            continue


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("SELECT 1", "header-key-missing", {"key": "title"}),
        (
            "-- title: a\n-- unit: miles\n-- sensor: s\n-- classes: sync\nSELECT 1",
            "sql-unit-unknown",
            {"fields": "miles"},
        ),
        (
            "-- title: a\n-- unit: ns\n-- sensor: s\n-- classes: tea\nSELECT 1",
            "sql-class-unknown",
            {"key": "tea"},
        ),
        ("-- title: a\n-- unit: ns\n-- sensor: s\n-- classes: sync\n", "sql-only-header", {}),
    ],
)
def test_a_measure_without_its_header_is_refused(
    text: str, id_: str, values: dict[str, object]
) -> None:
    with wrong(id_, **values):
        parse("x", text)


def test_a_measure_is_found_by_its_name() -> None:
    assert find("sync_calls").classes == ("waiting for sync",)


def test_who_asks_for_a_time_is_told_how_times_are_held() -> None:
    with wrong("times-need-fail-on-regression"):
        read_growth("--fail-on", "time > +5 %")


def test_a_baseline_of_before_does_not_hold_what_memory_decides(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    kept = {"values": [0, 0, 0]}
    counts = {"device.reads": kept, "device.writes": kept, "extents": kept}
    counts["device.read_bytes"] = {**kept, "may_grow": "+5 %"}
    path.write_text(json.dumps({"version": 1, "commands": {"./load": counts}}))
    held = [one.text.split()[0] for one in read_baseline(path).expected("./load")]
    assert held == ["device.writes", "device.read_bytes"]
