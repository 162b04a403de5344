"""Pages of comparisons and of experiments."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.cli._commands import run
from iowhy.errors import Problem
from iowhy.experiments.circumstances import circumstances
from iowhy.experiments.load import Others
from iowhy.experiments.result import save_json
from iowhy.experiments.saved import read_saved
from iowhy.experiments.table import judge_table
from iowhy.views.experiment_page import limits
from tests.numbers_told import tells
from tests.page.test_markup import Seen
from tests.page.test_recording_page import mixed
from tests.problems import wrong
from tests.reports.conftest import MS
from tests.whys.made import Story

TABLE = """# command: <script>alert(1)</script> --key=hunter2
lever,level,factor,value
baseline,,,1.00
baseline,,,1.02
baseline,,,0.99
baseline,,,1.01
cpu-quota,50 %,0.5,1.98
cpu-quota,50 %,0.5,2.02
cpu-quota,50 %,0.5,2.00
cpu-quota,50 %,0.5,2.01
io-contention,30 %,0.7,1.01
io-contention,30 %,0.7,1.00
io-contention,30 %,0.7,1.02
io-contention,30 %,0.7,0.99
"""


def faster() -> Story:
    story = Story(seconds=1.0).thread(tid=20, user=0.3)
    return story.caller("fsync", 30, blocked=9 * MS, reason="device_flush", bytes_=None)


def written(words: list[str], to: Path) -> str:
    run(["html", *words, "-o", str(to)])
    return to.read_text("utf-8")


def words_of(page: str) -> str:
    plain = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join("".join(Seen(plain).texts).split())


def saved_experiment(tmp_path: Path) -> Path:
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    path = tmp_path / "experiment.json"
    save_json(path, judge_table(table))
    return path


def sides(tmp_path: Path) -> list[str]:
    mixed().write(tmp_path / "before.iowhy")
    faster().write(tmp_path / "after.iowhy")
    return [str(tmp_path / "before.iowhy"), str(tmp_path / "after.iowhy")]


def test_a_comparison_says_the_difference_without_scripts(tmp_path: Path) -> None:
    page = written(sides(tmp_path), tmp_path / "page.html")
    words = words_of(page)
    assert "after against before" in words and "waiting for sync" in words and "99.9" in words
    assert 'id="difference"' in page and 'id="findings"' in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    names = {one["name"] for one in data["charts"]}
    assert {"before-budget-over-time", "after-budget-over-time", "difference"} <= names


def test_several_are_compared_with_the_first(tmp_path: Path) -> None:
    before, after = sides(tmp_path)
    faster().write(tmp_path / "again.iowhy")
    page = written([before, after, str(tmp_path / "again.iowhy")], tmp_path / "page.html")
    words = words_of(page)
    assert "2 against before" in words
    assert tells(words, "after", "4.00", "before")
    assert len(re.findall(r'id="[^"]*difference"', page)) == 2
    assert page.count('class="hint whole"') >= 4
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    names = {one["name"] for one in data["charts"]}
    assert {f"side-{nth}-budget-over-time" for nth in (1, 2, 3)} <= names
    assert {"difference-2", "difference-3"} <= names
    ids = [value for key, value in Seen(page).attributes if key == "id"]
    assert len(ids) == len(set(ids))


def test_a_saved_comparison_is_opened_again(tmp_path: Path) -> None:
    """`compare --export-json`, and a line of changes each: its page is that of its recordings."""
    both, saved = sides(tmp_path), tmp_path / "found.json"
    first = words_of(written(both, tmp_path / "first.html"))
    for words in ([], ["--baseline"]):
        saved.unlink(missing_ok=True)
        run(["compare", *words, "--export-json", str(saved), *both])
        again = written([str(saved), "--force"], tmp_path / "again.html")
        assert words_of(again) == first
    Path(both[1]).rename(tmp_path / "moved.iowhy")
    with wrong("compared-recording-gone", path=saved, one=both[1]):
        run(["html", str(saved)])


@pytest.mark.parametrize("text", ["[3]", "[{}]", '[{"before": {}, "after": {}}]', '[{"label": 1}]'])
def test_what_is_no_comparison_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with wrong("not-a-saved-comparison", path=path):
        run(["html", str(path)])


def test_a_comparison_hides_names(tmp_path: Path) -> None:
    before, after = sides(tmp_path)
    Path(before).rename(tmp_path / "acme-old.iowhy")
    words = [str(tmp_path / "acme-old.iowhy"), after, "--redact"]
    page = written(words, tmp_path / "page.html")
    assert "acme" not in page and "recording-1" in page


def test_an_experiment_is_read_as_it_was_saved(tmp_path: Path) -> None:
    path = saved_experiment(tmp_path)
    judged = judge_table(tmp_path / "table.csv")
    saved = read_saved(path)
    assert saved.sentence == judged.sentence
    assert [(one.lever, one.verdict) for one in saved.answers] == [
        (one.lever, one.verdict) for one in judged.answers
    ]
    for one, other in zip(saved.answers, judged.answers, strict=True):
        assert [r.slower for r in one.responses] == [r.slower for r in other.responses]
    assert {(one.lever, one.level): len(one.values) for one in saved.measured} == {
        ("baseline", ""): 4,
        ("cpu-quota", "50 %"): 4,
        ("io-contention", "30 %"): 4,
    }


def test_the_page_says_what_limits_an_experiment_as_the_terminal_does(tmp_path: Path) -> None:
    """Others' load, trials that were disturbed, what a lever reached: without them the answer looks surer than it is."""
    saved_experiment(tmp_path)
    judged = judge_table(tmp_path / "table.csv")
    trials = [
        replace(
            one,
            user_s=0.25,
            system_s=0.5,
            device_bytes=3 * 1024**2,
            others=Others(1.75, 0.0),
            factor=0.7 if one.condition.lever == "io-contention" else None,
            reached={"contention_bytes_per_s": 30e6}
            if one.condition.lever == "io-contention"
            else {},
        )
        for one in judged.trials
    ]
    result = replace(
        judged,
        trials=tuple(trials),
        seed=7,
        repeated=2,
        kept_disturbed=1,
        left_out=(("cache-cold", "no files"),),
        settings={"cache": "warm"},
    )
    path = tmp_path / "disturbed.json"
    save_json(path, result)
    words = words_of(written([str(path)], tmp_path / "page.html"))
    told = limits(circumstances(result))
    assert len(told) == 6 and "1.8 CPUs" in told[-2]
    assert [one for one in told if one not in words] == []
    assert "disk, by all" in words and "750 ms" in words and "3 MiB" in words


def test_the_page_of_an_experiment(tmp_path: Path) -> None:
    path = saved_experiment(tmp_path)
    page = written([str(path)], tmp_path / "page.html")
    words = words_of(page)
    assert read_saved(path).sentence in words and "limits it" in words
    assert "<script>alert(1)" in words and "<script>alert" not in page
    hidden = written([str(path), "--redact"], tmp_path / "hidden.html")
    assert "hunter2" not in hidden


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"iowhy": {}}', '{"iowhy": 3}', "[" * 100_000])
def test_what_is_no_experiment_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with wrong("not-an-export", path=path):
        run(["html", str(path)])


def test_damage_of_an_experiment_is_a_problem_not_a_traceback(tmp_path: Path) -> None:
    whole = json.loads(saved_experiment(tmp_path).read_text())
    path = tmp_path / "damaged.json"
    for key in whole["iowhy"]:
        for value in (None, 3, "x", [None], {"a": 1}):
            damaged = {**whole["iowhy"], key: value}
            path.write_text(json.dumps({"iowhy": damaged}))
            try:
                read_saved(path)
            except Problem as problem:
                assert "damaged.json" in str(problem)
