"""The sentence, tables from elsewhere, findings, what is saved."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.experiments import confirm, metric, result
from iowhy.experiments.condition import BASELINE, Condition
from iowhy.experiments.interval import Interval
from iowhy.experiments.lever_answer import Verdict
from iowhy.experiments.levers import levers
from iowhy.experiments.predicted import Predicted, compared
from iowhy.experiments.result import Judged, Result, as_json, save_beside, save_json
from iowhy.experiments.sentence import plain, sentence
from iowhy.experiments.table import judge_table
from iowhy.experiments.trials import Plan, conduct
from iowhy.recordings import experiments, open_recording
from iowhy.views import experiment_page
from iowhy.whys import causes
from iowhy.whys.finding import Finding
from tests.numbers_told import tells
from tests.problems import wrong

from ..whys.made import Story
from .fake import HALF, OFF, TAKEN, Fake

PUBLISHED = Path(__file__).parent / "fixtures" / "android-squeeze.csv"


def made(slower, levers_run=None, noise=0.01, blocks=8):
    wanted = levers_run or {"cpu-quota": [HALF], "io-contention": [TAKEN]}
    fake = Fake(np.random.default_rng(2), noise=noise, slower=slower)
    done = conduct(wanted, fake, Plan(7, least=blocks, most=blocks))
    answers = tuple(done.answers.values())
    conditions = [Condition(name, lv) for name, found in wanted.items() for lv in found]
    return Result(
        command=("bench", "a b"),
        measure="wall time",
        unit="s",
        higher_is_better=False,
        seed=7,
        sentence=sentence(answers, levers()),
        answers=answers,
        conditions=(BASELINE, *conditions),
        trials=tuple(done.trials),
        blocks=done.blocks,
    )


def test_the_sentence_of_a_cpu_bound_command():
    text = made({"cpu-quota 50 %": 1.93, "io-contention 30 % taken": 1.02}).sentence
    assert text.startswith("CPU-bound: ") and " 1.9" in text
    assert "(1.9" in text or "(1.8" in text
    assert tells(text, "30 %") and " 1.0" in text


def test_the_sentence_of_what_answers_to_nothing():
    assert made({}).sentence.startswith("Bound by none of what was tried (")


def test_the_sentence_of_a_relief():
    text = made({"sync-free off": 0.2}, {"sync-free": [OFF]}).sentence
    assert text.startswith("Sync-bound: off makes it 5.") or "4.9" in text
    assert "times faster" in text


def test_unresolved_says_so_and_how_many_more_runs():
    found = made({"cpu-quota 50 %": 1.1}, noise=0.3)
    assert found.sentence.startswith("Not known yet")
    assert "more runs of each would show it" in experiment_page.markdown(found)


def test_the_published_squeezes_of_a_phone_are_cpu_bound():
    found = judge_table(PUBLISHED)
    by = {one.lever: one for one in found.answers}
    assert found.sentence.startswith("CPU-bound: ")
    assert by["cpu-pin"].verdict is Verdict.BOUND
    assert by["cpu-frequency"].verdict is Verdict.BOUND
    assert by["io-contention"].sensitivity.value == pytest.approx(
        math.log(849 / 790) / math.log(1 / 0.7)
    )
    assert tells(found.sentence, "30 %", "1.07")
    json.dumps(as_json(found), allow_nan=False)


def test_a_table_with_repeated_values_gets_intervals(tmp_path):
    lines = ["lever,level,factor,value"]
    for value in (10.0, 10.2, 9.9, 10.1, 10.0):
        lines += [f"baseline,,,{value}", f"cpu-quota,half,0.5,{value * 2}"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    found = judge_table(path).answers[0]
    assert found.verdict is Verdict.BOUND
    assert found.sensitivity.value == pytest.approx(1) and found.sensitivity.known


COLUMNS = "lever,level,factor,value\n"


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("", "table-first-line", {"where": 1}),
        ("a,b\n", "table-first-line", {"where": 1}),
        (COLUMNS + "baseline,,,x\n", "table-number-not-positive", {"number": 2, "text": "x"}),
        (COLUMNS + "baseline,,,-1\n", "table-number-not-positive", {"number": 2, "text": "-1"}),
        (COLUMNS + "baseline,,\n", "table-cells", {"number": 2, "cells": 3}),
        (COLUMNS + "foo,,,1\n", "table-lever-unknown", {"number": 2, "name": "foo"}),
        (COLUMNS + "baseline,,,1\n", "table-only-baseline", {}),
        (COLUMNS + "cpu-quota,h,0.5,1\n", "table-without-baseline", {}),
        (f"# better: more\n{COLUMNS}baseline,,,1\n", "table-better-unknown", {"about": "more"}),
    ],
)
def test_a_bad_table_is_told_by_line(tmp_path, text, id_, values):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with wrong(id_, path=path, **values):
        judge_table(path)


@given(st.text(max_size=200))
def test_any_text_as_a_table_is_a_problem_or_a_result(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_text(
        "lever,level,factor,value\nbaseline,,,1\ncpu-pin,x,,2\n" + text, errors="replace"
    )
    try:
        judge_table(path)
    except Problem as problem:
        assert "t.csv" in str(problem)


def finding(cause, lever, confidence=0.8):
    return Finding(cause, cause, 0.5, 0.5, "", confidence, (), (), (), (), lever)


def test_findings_are_confirmed_and_refuted():
    found = made({"cpu-quota 50 %": 2.0})
    judged = confirm.judge(
        [
            finding("cpu-serial", "cpu-quota"),
            finding("device-saturated", "io-contention"),
            finding("device-slow", "io-throttle"),  # its stand-in was tried
            finding("cache-thrash", "memory-limit"),
            finding("lock-contended", None),
        ],
        found.answers,
    )
    outcomes = {one.cause: one.outcome for one in judged}
    assert outcomes == {
        "cpu-serial": "confirmed",
        "device-saturated": "refuted",
        "device-slow": "refuted",
        "cache-thrash": "not tested",
        "lock-contended": "not tested",
    }
    by = {one.cause: one for one in judged}
    assert by["cpu-serial"].confidence_after > 0.8 > by["device-saturated"].confidence_after
    assert by["cache-thrash"].confidence_after == 0.8


def test_trials_without_what_was_found_refute_nothing():
    found = made({"cpu-quota 50 %": 2.0})
    findings = [finding("cpu-serial", "cpu-quota"), finding("device-saturated", "io-contention")]
    # Half of the time was waiting for the disk: a run in a quarter of the time has none of it.
    for baseline_s, outcome in ((1.0, "not tested"), (2.9, "not tested"), (3.1, "refuted")):
        times = confirm.Times(recorded_s=4.0, baseline_s=baseline_s)
        serial, saturated = confirm.judge(findings, found.answers, times=times)
        assert (serial.outcome, saturated.outcome) == ("confirmed", outcome)
        assert (saturated.confidence_after == 0.8) is (outcome == "not tested")
    judged = confirm.judge(findings, found.answers, times=confirm.Times(4.0, 1.0))
    assert tells(judged[1].because, "4 s")


def test_another_command_than_the_recordings_neither_confirms_nor_refutes():
    found = made({"cpu-quota 50 %": 2.0})
    findings = [finding("cpu-serial", "cpu-quota"), finding("device-saturated", "io-contention")]
    judged = confirm.judge(findings, found.answers, same_command=False)
    assert {one.outcome for one in judged} == {"not tested"}
    assert all(one.confidence_after == one.confidence_before for one in judged)
    assert "another command" in judged[0].because


def test_what_a_lever_saves_stands_beside_what_was_to_be_gained():
    found = made({"sync-free off": 0.25}, {"sync-free": [OFF]})
    judged = confirm.judge([finding("sync-storm", "sync-free")], found.answers)
    assert tells(judged[0].because, "75 %", "50 %")


def test_findings_ask_for_levers_cheapest_first():
    asked = confirm.asked_for(
        [finding("a", "sync-free"), finding("b", "cpu-quota"), finding("c", None)]
    )
    assert asked == ["cpu-quota", "sync-free"]


def test_the_saved_result_is_hyperfines_and_ours(tmp_path):
    found = made({"cpu-quota 50 %": 2.0})
    save_json(tmp_path / "r.json", found)
    read = json.loads((tmp_path / "r.json").read_text())
    assert [entry.get("parameters") for entry in read["results"]] == [
        None,
        {"lever": "cpu-quota", "level": "0.5"},
        {"lever": "io-contention", "level": "0.3"},
    ]
    first = read["results"][0]
    assert first["command"] == "bench 'a b'"
    assert len(first["times"]) == 8 == len(first["exit_codes"])
    assert first["min"] <= first["median"] <= first["max"]
    assert first["mean"] == pytest.approx(sum(first["times"]) / 8)
    assert read["iowhy"]["seed"] == 7 and read["iowhy"]["answers"][0]["verdict"] == "bound by"


def test_results_are_numbered_in_the_recording(tmp_path):
    found = made({})
    assert save_beside(tmp_path, found).name == "000001.json"
    assert save_beside(tmp_path, found).name == "000002.json"


def test_a_directory_that_is_not_there_is_told(tmp_path):
    with wrong("no-directory", parent=tmp_path / "nowhere"):
        result.save_json(tmp_path / "nowhere" / "r.json", made({}))


def test_metric_takes_the_last_match():
    found = metric.parse(r"qps: ([0-9.,]+)", False, "1/s")
    assert found.read("qps: 1\nqps: 1,234.5\n") == 1234.5
    assert found.higher_is_better and found.name == "qps"


@pytest.mark.parametrize(
    ("pattern", "id_"),
    [
        ("(", "metric-not-a-pattern"),
        ("no group", "metric-needs-one-group"),
        ("(a)(b)", "metric-needs-one-group"),
    ],
)
def test_a_bad_metric_is_told(pattern, id_):
    with wrong(id_, pattern=pattern):
        metric.parse(pattern, False, "")


@pytest.mark.parametrize(
    ("output", "id_"),
    [
        ("", "metric-not-found"),
        ("qps: none", "metric-not-positive"),
        ("qps: 0", "metric-not-positive"),
        ("qps: -1", "metric-not-positive"),
    ],
)
def test_a_metric_that_is_not_there_is_told(output, id_):
    with wrong(id_):
        metric.parse(r"qps: (\S+)", False, "").read(output)


def test_what_was_shown_once_stays_shown(tmp_path):
    Story(seconds=1.0).write(tmp_path / "r.iowhy")
    recording = open_recording(tmp_path / "r.iowhy")
    for slower, noise in ((2.0, 0.01), (1.1, 0.4)):
        found = made({"cpu-quota 50 %": slower}, {"cpu-quota": [HALF]}, noise=noise, blocks=5)
        judged = confirm.judge([finding("cpu-serial", "cpu-quota")], found.answers)
        save_beside(recording.path, replace(found, findings=judged))
    assert experiments.tested(recording)["cpu-serial"].outcome == "confirmed"
    refuting = made({}, {"cpu-quota": [HALF]})
    judged = confirm.judge([finding("cpu-serial", "cpu-quota")], refuting.answers)
    save_beside(recording.path, replace(refuting, findings=judged))
    assert experiments.tested(recording)["cpu-serial"].outcome == "refuted"


def test_each_lever_that_a_cause_names_exists():
    texts = [path.read_text() for path in Path(causes.__file__).parent.glob("*.py")]
    named = {name for text in texts for name in re.findall(r'experiment="([^"]+)"', text)}
    assert named and named <= set(levers())


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.934, "1.93"),
        (0.12, "0.12"),
        (0.0947, "0.095"),
        (0.00474, "0.0047"),
        (0.001, "0.0010"),
        (1e-9, "any"),
        (0.0, "any"),
        (999.0, "999.00"),
        (5000.0, "any"),
    ],
)
def test_ratios_are_written_without_exponents(ratio, text):
    assert plain(ratio) == text


def test_less_of_a_resource_that_makes_it_faster_refutes_nothing():
    """The lever took something else away with it: a limit that held before, a neighbour."""
    answers = made({"cpu-quota 50 %": 0.4}).answers
    (judged,) = confirm.judge([finding("cpu-serial", "cpu-quota")], answers)
    assert judged.outcome == "not resolved" and judged.confidence_after == 0.8
    assert "something else changed" in judged.because


def test_a_lever_is_compared_with_the_prediction_for_the_same_change():
    found = made({"sync-free off": 0.2}, {"sync-free": [OFF]})
    right = Predicted("no-syncs", Interval(0.21, 0.18, 0.24))
    wrong_ = replace(right, times=Interval(0.8, 0.7, 0.9))
    other = replace(right, change="in-memory")
    (one,) = compared((other, right), found.answers)
    assert one.agree and one.lever == "sync-free" and abs(one.predicted.value - 0.21) < 1e-9
    assert abs(one.measured.value - 0.2) < 0.02
    assert not compared((wrong_,), found.answers)[0].agree
    assert compared((other,), found.answers) == ()
    said = experiment_page.markdown(replace(found, compared=(one,)))
    assert tells(said, "0.21") and tells(said, "0.18")


def test_loud_neighbours_leave_the_findings_as_they_were():
    judged = Judged("sync-storm", "t", "refuted", 0.9, 0.18, "because")
    (after,) = confirm.unheard((judged,))
    assert after.outcome == "not resolved" and after.confidence_after == 0.9
