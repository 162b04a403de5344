"""Each error has one sentence, in errors.toml, and gives the values that it has places for."""

import ast
import pickle
import string

import pytest

from iowhy.errors import Problem, templates
from iowhy.sentences import described
from tests.words.catalogue import PACKAGE
from tests.words.texts import ROOT

_ERRORS = {"Problem", "CannotAct", "LevelFailed", "_NoS3A"}


def test_tests_ask_for_ids_and_values_not_for_sentences() -> None:
    asked = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises":
                kind = ast.unparse(node.args[0])
                if kind.endswith("Problem") and any(one.arg == "match" for one in node.keywords):
                    asked.append(f"{path}:{node.lineno}")
    assert asked == [], "`with wrong(id, value=…)` of tests/problems.py"


def test_each_error_of_the_code_has_its_sentence_and_each_sentence_its_error() -> None:
    raised = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") in _ERRORS
            if called and isinstance(node.args[0], ast.Constant):
                given = {one.arg for one in node.keywords}
                raised.setdefault(node.args[0].value, []).append((path, node.lineno, given))
    places = {
        id_: {name for _, name, _, _ in string.Formatter().parse(text) if name}
        for id_, text in templates().items()
    }
    assert set(raised) == set(places)
    wrong = [
        (str(path), line, id_)
        for id_, found in raised.items()
        for path, line, given in found
        if given != places[id_]
    ]
    assert wrong == []


def test_an_error_keeps_its_id_and_values_when_it_is_passed_on() -> None:
    found = pickle.loads(pickle.dumps(Problem("not-toml", path="a.toml", error="x")))
    assert (found.sentence.id, found.sentence.values) == (
        "not-toml",
        {"path": "a.toml", "error": "x"},
    )
    again = Problem(found.sentence)
    assert described(again.sentence) == described(found.sentence) and str(again) == str(found)
    with pytest.raises(KeyError):
        Problem("no-such-id")
