"""Recordings compared: known times, budgets, layers and findings."""

import json
import shutil

import pytest

from iowhy.comparisons import comparison
from iowhy.comparisons.fingerprints import bottleneck
from iowhy.comparisons.latencies import POINTS
from iowhy.comparisons.sides import open_side, open_sides
from iowhy.experiments.interval import Interval
from iowhy.reports import run as rows_of
from iowhy.views import comparison_json
from iowhy.views import comparison_page as view
from iowhy.whys.verdict import judge
from tests.command_line import invoke
from tests.numbers_told import tells
from tests.problems import asks, wrong

from ..whys.made import KIB, MS, Story


def synced(seconds, calls, length=9 * MS):
    """Small synced writes: nearly all of the time waits for the device."""
    story = Story(seconds=seconds)
    story.caller("fsync", calls, blocked=length, reason="device_flush", bytes_=None, gap_share=0.0)
    return story.requests(calls, op="write", bytes_=4 * KIB, jump=True).flushes(calls, 4 * MS)


def computing(seconds):
    return Story(seconds=seconds).thread(user=0.97)


@pytest.fixture
def pair(tmp_path):
    synced(4.0, 400).write(tmp_path / "before.iowhy")
    computing(0.5).write(tmp_path / "after.iowhy")
    return str(tmp_path / "before.iowhy"), str(tmp_path / "after.iowhy")


def test_the_parts_add_up_to_the_difference_and_the_largest_is_first(pair):
    found = comparison.compare(open_side(pair[0]), open_side(pair[1]))
    assert found.slower.value == pytest.approx(0.5 / 4.0)
    assert sum(part.difference_s for part in found.parts) == pytest.approx(-3.5, abs=0.01)
    assert sum(part.explains for part in found.parts) == pytest.approx(1, abs=0.01)
    first = found.parts[0]
    assert first.name == "waiting for sync"
    assert first.before_s == pytest.approx(3.6, abs=0.1) and first.after_s == 0


def test_what_changed_names_the_layer_that_explains_it(pair):
    found = comparison.compare(open_side(pair[0]), open_side(pair[1]))
    changes = {one.measure.name: (one.before, one.after) for one in found.changed}
    assert changes["sync_calls"] == (400, 0)
    assert changes["device.flushes"] == (400, 0)
    names = [one.measure.name for one in found.changed]
    assert names.index("sync_calls") < names.index("cpu_ns")


def test_the_cause_is_gone_and_another_one_is_new(pair):
    found = comparison.compare(open_side(pair[0]), open_side(pair[1]))
    fates = {one.cause: one.fate for one in found.fates}
    was = bottleneck(judge(open_side(pair[0]).typical))
    assert fates[was] == "gone"
    assert fates["cpu-serial"] == "new"
    back = {
        one.cause: one.fate
        for one in comparison.compare(open_side(pair[1]), open_side(pair[0])).fates
    }
    assert back["cpu-serial"] == "gone" and back[was] == "new"


def test_what_no_sensor_could_see_is_not_gone(tmp_path):
    """A cause that is not found where its sensors did not run may be there, but in so short a run."""
    synced(4.0, 400).write(tmp_path / "before.iowhy")
    for name, seconds in (("blind", 3.0), ("short", 0.2)):
        story = computing(seconds)
        story.missing = {"syscalls", "block_requests"}
        story.write(tmp_path / f"{name}.iowhy")
    before, blind, short = (
        open_side(str(tmp_path / f"{name}.iowhy")) for name in ("before", "blind", "short")
    )
    was = bottleneck(judge(before.typical))
    compared = comparison.compare(before, blind)
    (found,) = (one for one in compared.fates if one.cause == was)
    assert (found.fate, found.after_s) == ("not known", None)
    assert "not permitted" in view.fate_text(found)
    json_of = {one["cause"]: one for one in comparison_json.as_json(compared)["findings"]}
    assert json_of[was]["fate"] == "not known" and "not permitted" in json_of[was]["why"]
    back = {one.cause: one.fate for one in comparison.compare(blind, before).fates}
    assert back[was] == "not known"
    # All of its time is less than a tenth of what the cause took.
    assert {one.cause: one.fate for one in comparison.compare(before, short).fates}[was] == "gone"


def test_a_run_too_short_to_judge_says_nothing_of_a_cause(tmp_path):
    synced(0.3, 30).write(tmp_path / "before.iowhy")
    computing(0.045).write(tmp_path / "after.iowhy")
    sides = [open_side(str(tmp_path / f"{name}.iowhy")) for name in ("before", "after")]
    found = comparison.compare(*sides).fates
    assert {one.fate for one in found} == {"not known"}
    assert "too short to judge" in view.fate_text(found[0])


def test_weaker_stronger_and_unchanged(tmp_path):
    sides = {}
    for name, calls in (("much", 400), ("same", 390), ("less", 200)):
        synced(calls / 100, calls).write(tmp_path / f"{name}.iowhy")
        sides[name] = open_side(str(tmp_path / f"{name}.iowhy"))

    def fate(one, other):
        found = comparison.compare(sides[one], sides[other]).fates
        return found[0].fate

    assert fate("much", "same") == "unchanged"
    assert fate("much", "less") == "weaker"
    assert fate("less", "much") == "stronger"


def test_one_run_of_each_has_no_interval_and_says_so(pair):
    found = comparison.compare(open_side(pair[0]), open_side(pair[1]))
    assert not found.slower.known
    assert "record 3 or more of each" in view.evidence(found.time, 1, 1)[0]
    assert comparison_json.as_json(found)["slower"]["low"] is None


def test_sets_have_intervals_and_a_typical_recording(tmp_path):
    for name, times in (("a", (1.0, 1.1, 0.9, 1.05)), ("b", (2.0, 2.1, 1.9, 2.2))):
        for number, seconds in enumerate(times):
            computing(seconds).write(tmp_path / name / f"{number}.iowhy")
    before, after = open_side(str(tmp_path / "a")), open_side(str(tmp_path / "b"))
    assert len(before.recordings) == 4 and before.label == "a"
    assert before.typical.path.name == "0.iowhy"
    found = comparison.compare(before, after)
    assert found.slower.low < 2 < found.slower.high
    assert found.slower.low > 1
    assert found.time.superiority == 1


def test_a_sensor_that_did_not_run_is_unknown_and_no_change(tmp_path):
    synced(1.0, 100).write(tmp_path / "a.iowhy")
    blind = computing(1.0)
    blind.missing = {"block_requests"}
    blind.write(tmp_path / "b.iowhy")
    sides = [open_side(str(tmp_path / f"{name}.iowhy")) for name in "ab"]
    names = [one.measure.name for one in comparison.compare(*sides).changed]
    assert "device.flushes" not in names and "sync_calls" in names


def test_the_log_of_changes_against_a_baseline(tmp_path):
    for number, (seconds, calls) in enumerate(((4.0, 400), (2.0, 200), (0.5, 0))):
        story = synced(seconds, calls) if calls else computing(seconds)
        story.write(tmp_path / f"{number}.iowhy")
    steps = comparison.log([open_side(str(tmp_path / f"{n}.iowhy")) for n in range(3)])
    assert [step.seconds for step in steps] == [4.0, 2.0, 0.5]
    assert steps[0].against_baseline is None
    assert steps[2].against_baseline.value == pytest.approx(0.125)
    assert steps[2].against_previous.value == pytest.approx(0.25)
    assert steps[0].bottleneck == steps[1].bottleneck != steps[2].bottleneck == "cpu-serial"


@pytest.mark.parametrize(
    ("slower", "limit", "bad"),
    [
        (Interval(1.06, 1.02, 1.10), 0.05, True),
        (Interval(1.06, 0.99, 1.14), 0.05, False),
        (Interval(1.04, 1.03, 1.05), 0.05, False),
        (Interval(1.2, float("nan"), float("nan")), 0.05, False),  # one of each: chance
        (Interval(0.5, 0.4, 0.6), 0.0, False),
        (None, 0.05, False),
    ],
)
def test_a_regression_is_more_than_the_limit_and_not_chance(slower, limit, bad):
    assert comparison.regressed(slower, limit) is bad


@pytest.fixture
def run():
    return lambda *arguments: invoke(["compare", *arguments])


def test_the_command_line_prints_and_exits_for_ci(pair, run):
    done = run(*pair)
    assert done.exit_code == 0 and "8.00 times faster" in done.output
    one_each = run("--fail-on-regression", "5%", *pair[::-1])
    asks(one_each.exception, "too-few-recordings")
    assert not tells(one_each.output, "7.00")
    found = json.loads(run("--json", *pair).output)
    assert found[0]["findings"][0]["fate"] == "gone"
    log = run("--baseline", pair[0], pair[1])
    assert "bottleneck" in log.output and "-87.5 %" in log.output


def test_two_of_the_same_name_are_told_apart(tmp_path):
    for name in ("main", "branch"):
        computing(0.5).write(tmp_path / name / "r.iowhy")
    computing(0.5).write(tmp_path / "other.iowhy")
    sides = open_sides([str(tmp_path / name) for name in ("main/r.iowhy", "branch/r.iowhy")])
    assert [one.label for one in sides] == [str(tmp_path / "main/r"), str(tmp_path / "branch/r")]
    assert open_sides([str(tmp_path / "other.iowhy")])[0].label == "other"


def test_progress_is_told_step_by_step(pair):
    steps = []
    sides = open_sides(list(pair), steps.append)
    comparison.compare_all(sides, steps.append)
    assert steps == [f"opening {pair[0]}", f"opening {pair[1]}", "judging before", "judging after"]


@pytest.mark.parametrize(
    ("arguments", "id_", "values"),
    [
        (["nowhere.iowhy", "nowhere.iowhy"], "no-such-recording", {"path": "nowhere.iowhy"}),
        (["one"], "one-recording", {}),
        (["--fail-on-regression", "x", "a", "b"], "not-a-percentage", {"text": "x"}),
        (["--", "a", "b", "--vs", "c"], "compared-commands-unquoted", {}),
        (["--", "a", "--vs"], "compared-commands-unquoted", {}),
        (["--cache", "hot", "--", "a", "--vs", "b"], "not-a-choice", {"given": "hot"}),
        (["--input", "nowhere", "--", "a", "--vs", "b"], "input-not-file", {"input": "nowhere"}),
        (
            ["-m", "9", "-M", "4", "--", "a", "--vs", "b"],
            "min-runs-above-max-runs",
            {"min_runs": 9},
        ),
        (
            ["--export-json", "nowhere/r.json", "--", "a", "--vs", "b"],
            "no-directory",
            {"path": "nowhere/r.json"},
        ),
    ],
)
def test_bad_input_is_one_clear_error(run, arguments, id_, values):
    asks(run(*arguments).exception, id_, **values)


def test_a_directory_without_recordings_is_told(tmp_path):
    with wrong("neither-recording-nor-directory", path=tmp_path):
        open_side(str(tmp_path))


def test_a_damaged_recording_is_told(pair, run):
    shutil.rmtree(pair[1] + "/thread_time")
    (open_side(pair[1]).typical.path / "manifest.json").write_text("{")
    asks(run(*pair).exception, "not-json")


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.25, "× 1.25"), (2623.4, "× 2,623"), (0.25, "÷ 4"), (1 / 15300, "÷ 15,300"), (0.0, "× 0")],
)
def test_factors_are_written_without_exponents(ratio, text):
    assert view._factor(ratio) == text


def test_a_change_from_nothing_is_a_change(tmp_path):
    computing(1.0).flushes(50, 1 * MS).write(tmp_path / "a.iowhy")
    computing(1.0).requests(100, op="write", bytes_=64 * KIB).write(tmp_path / "b.iowhy")
    sides = [open_side(str(tmp_path / f"{name}.iowhy")) for name in "ab"]
    changes = {one.measure.name: one for one in comparison.compare(*sides).changed}
    assert (changes["device.writes"].before, changes["device.writes"].after) == (0, 100)
    assert changes["device.written_bytes"].before == 0
    assert view._change_of(changes["device.writes"]) == "from 0"


def timed(folder, name, calls, *, bytes_=4 * KIB, seconds=4.0, mode="run"):
    """A benchmark of a fixed duration: as many calls as it gets done in it."""
    length = round(seconds * 0.9e9 / calls)
    story = Story(seconds=seconds, mode=mode).caller(
        "pread64", calls, blocked=length, bytes_=bytes_
    )
    story.write(folder / f"{name}.iowhy")
    return str(folder / f"{name}.iowhy")


def test_of_a_fixed_duration_the_rate_tells_which_is_faster(tmp_path):
    before, after = timed(tmp_path, "before", 200), timed(tmp_path, "after", 400)
    found = comparison.compare(open_side(before), open_side(after))
    assert found.rates[0].ratio == pytest.approx(2, abs=0.05)
    assert found.slower.value == pytest.approx(0.5, abs=0.02) and not found.slower.known
    assert tells(view.headline(found), "2.00")
    assert all(part.explains is None for part in found.parts)
    slower = comparison.compare(open_side(after), open_side(before)).slower
    assert slower.value == pytest.approx(2, abs=0.05)
    assert not comparison.resolvable(slower) and not comparison.regressed(slower, 0.05)


def test_the_same_work_in_the_same_time_is_no_fixed_duration(tmp_path):
    before, after = timed(tmp_path, "before", 200), timed(tmp_path, "after", 204)
    found = comparison.compare(open_side(before), open_side(after))
    assert found.rates == ()


def test_a_block_is_a_run_with_a_length_of_its_own_and_what_is_attached_to_is_not(tmp_path):
    found = {
        mode: comparison.compare(
            open_side(timed(tmp_path, f"{mode}-before", 200, seconds=0.8, mode=mode)),
            open_side(timed(tmp_path, f"{mode}-after", 20, seconds=0.1, mode=mode)),
        )
        for mode in ("block", "attach")
    }
    assert found["block"].rates == () and found["attach"].rates != ()
    assert found["block"].slower.value == pytest.approx(0.125, abs=0.01)


def test_fewer_calls_for_the_same_bytes_are_a_change_and_no_rate(tmp_path):
    before = timed(tmp_path, "before", 400)
    after = timed(tmp_path, "after", 200, bytes_=8 * KIB)
    assert comparison.compare(open_side(before), open_side(after)).rates == ()


def test_an_interval_that_includes_one_is_not_resolved_first(tmp_path):
    sides = []
    for side, lengths in (("a", (1.0, 1.6, 4.0)), ("b", (1.2, 2.8, 4.2))):
        for number, seconds in enumerate(lengths):
            computing(seconds).write(tmp_path / side / f"{number}.iowhy")
        sides.append(open_side(str(tmp_path / side)))
    assert "not measurably faster or slower" in view.headline(comparison.compare(*sides))


def test_percentiles_stand_side_by_side(tmp_path):
    """Exactly those of `report request-latency`; a device that one side has not is unknown there, and no 0."""
    before = Story(seconds=1.0).thread(blocked=0.5).requests(30, op="read", bytes_=4096)
    after = Story(seconds=1.0).thread(blocked=0.5).requests(10, op="write", bytes_=4096)
    sides = open_sides(
        [str(one.write(tmp_path / name).path) for one, name in ((before, "a"), (after, "b"))]
    )
    found = {one.what.split()[-1]: one for one in comparison.compare(*sides).latencies}
    assert set(found) == {"read", "write"}
    row = rows_of(sides[0].typical, "request-latency").to_pylist()[0]
    assert found["read"].before == tuple(row[point] for point in POINTS)
    assert found["read"].after == (None,) * len(POINTS)
    shown = invoke(["compare", "--evidence", *(str(one.typical.path) for one in sides)]).stdout
    assert "Requests" in shown and "→ –" in shown


def test_percentiles_of_calls_stand_side_by_side(tmp_path):
    """Exactly those of `report syscall-latency`; a call that one side never made is unknown there."""
    before = Story(seconds=1.0).caller("fsync", 20, blocked=9 * MS, bytes_=None)
    before.caller("read", 10, blocked=MS)
    after = Story(seconds=1.0).caller("fsync", 5, blocked=20 * MS, bytes_=None)
    sides = open_sides(
        [str(one.write(tmp_path / name).path) for one, name in ((before, "a"), (after, "b"))]
    )
    found = comparison.compare(*sides).call_latencies
    assert [one.what for one in found] == ["fsync", "read"]  # by the time that they take
    for one in found:
        for side, points in zip(sides, (one.before, one.after), strict=True):
            rows = [
                row
                for row in rows_of(side.typical, "syscall-latency").to_pylist()
                if row["name"] == one.what
            ]
            expected = tuple(rows[0][point] for point in POINTS) if rows else (None,) * len(POINTS)
            assert points == expected
    shown = invoke(["compare", "--evidence", *(str(one.typical.path) for one in sides)]).stdout
    assert "Calls" in shown
