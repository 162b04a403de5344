"""The labelled set: its index says what is in it, and the scorer counts what it says."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmark.answers import answers
from benchmark.cases import INDEX, LEVELS, cases, index
from benchmark.make import make
from benchmark.score import Scored, curve, pairs, savings, scored
from iowhy.whys.causes import causes


def test_the_index_is_what_is_made() -> None:
    assert INDEX.read_text() == index(), "python -m benchmark.cases"
    levels = Counter(one.level for one in cases())
    assert set(levels) == set(LEVELS) and sum(levels.values()) >= 200
    names = {one.name for one in causes()}
    assert {name for one in cases() for name in (*one.right, *one.second)} <= names
    assert 0.25 < sum(one.held for one in cases()) / sum(levels.values()) < 0.4


CASES = [
    {"name": "a", "level": 1, "kind": "text", "right": ["sync-storm"], "second": [], "held": False, "saves": 0.5},
    {"name": "b", "level": 3, "kind": "text", "right": ["flush-cost"], "second": [], "held": True},
    {"name": "d", "level": 4, "kind": "text", "right": ["healthy"], "second": [], "held": False},
    {"name": "c", "level": 4, "kind": "text", "right": ["cpu-serial"], "second": ["cache-cold"], "held": False},
]  # fmt: skip


def one(name: str, *causes: tuple[str | float, ...]) -> Scored:
    given = [{"name": name, "causes": causes, "seconds": 0.5}]
    (found,) = scored(CASES, given)
    return found


def test_the_scorer() -> None:
    assert one("a", ("sync-storm", 0.9)).right and not one("a", ("sync-storm", 0.9)).abstained
    assert one("a", ("flush-cost", 0.7)).false_confidence and one("a", ("flush-cost", 0.7)).resource
    unsure = one("b", ("cpu-serial", 0.59))
    assert (unsure.false_confidence, unsure.abstained, unsure.resource) == (False, True, False)
    assert one("b").abstained and not one("b").false_confidence
    assert one("d").right and not one("d", ("cpu-serial", 0.9)).right
    assert one("c", ("cache-cold", 0.9)).right and one("c", ("cache-cold", 0.9)).both is False
    both = one("c", ("cache-cold", 0.9), ("cpu-serial", 0.4))
    assert both.both and pairs([both, unsure]) == "1 of 1"
    assert "| 1 | 100% |" in curve([both])
    near, far = one("a", ("sync-storm", 0.9, 0.6)), one("a", ("sync-storm", 0.9, 0.8))
    assert savings([near, far, one("a", ("cpu-serial", 0.9, 0.5)), both]) == "1 of 2"
    held = [{"name": name, "causes": [], "seconds": 0.1} for name in "abcd"]
    assert len(scored(CASES, held, held=True)) == 1 and len(scored(CASES, held, held=False)) == 3


@pytest.mark.parametrize("who", ["iowhy", "use"])
def test_cases_are_made_and_answered(who: str, tmp_path: Path) -> None:
    chosen = {"kept-one-row", "one-row-without-syscalls-silent", "disk-iostat"}
    for case in cases():
        if case.name in chosen:
            make(case, tmp_path / case.file)
    found = scored(json.loads(INDEX.read_text()), answers(who, tmp_path))
    assert len(found) == 3
    if who == "iowhy":
        assert [(x.level, x.right, x.false_confidence) for x in found if x.level == 1] == [(1, True, False)] * 2  # fmt: skip
        assert not any(x.false_confidence for x in found)
