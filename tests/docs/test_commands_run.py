"""What pages say to type is typed: here what reads recordings, texts and tables; what records and stages, in tests/live/test_typed.py.

The screens of tutorials and the pages of causes have tests of their own as well.
"""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from tests.command_line import invoke
from tests.docs import typed
from tests.docs.readers_files import PRINTED_PID, place, printed_by
from tests.docs.typed import Typed

#: What the reader puts in its place: a report, a command, a folder at the root, the text of another tool.
_OWN = {
    "NAME": "files", "CMD": "run", "FOLDER": "recordings", "/srv/recordings": "recordings", "/srv/packs": "packs", "/srv/recordings/host=db*": "host=db*", "FILE": "incident.txt",
}  # fmt: skip
#: A process and a container that the reader's recording has, and ours has not.
_NOT_OURS = {"--pid", "--container"}


def here() -> list[Typed]:
    return typed.once(
        one for one in typed.typed() if typed.reading(one) and not typed.elsewhere(one)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("typed")


@pytest.mark.parametrize("one", here(), ids=lambda one: one.call)
def test_what_a_page_says_to_type_works(
    one: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    line = [_OWN.get(word, word) for word in one.words]
    names = iter(("one-row", "batched", "free", "in-order"))
    for before, word in pairwise(line):
        if before not in ("-o", "--to"):
            place(folder, word, names)
    at = next((line.index(word) for word in _NOT_OURS if word in line), None)
    if at is not None:
        line[at : at + 2] = ["--pid", PRINTED_PID] if line[0] == "diagnose" else []
    if line[0] in ("html", "export", "pack"):
        line.append("--force")
    done = invoke(line, input=printed_by(one.line))
    assert done.exception is None, done.exception
    # A comparison that is asked to fail on what grew may end with 1, and 3 is of a broken expectation.
    answers = {"--fail-on": (0, 1), "--fail-on-regression": (0, 1), "--expect": (0, 3)}
    allowed = next((answers[word] for word in line if word in answers), (0,))
    assert done.exit_code in allowed, done.output


def test_there_are_many() -> None:
    assert len(here()) > 40


@pytest.mark.parametrize("pattern", typed.ELSEWHERE)
def test_what_is_not_typed_is_still_there_and_its_test_too(pattern: str) -> None:
    assert any(typed.matches(pattern, one.call) for one in typed.typed()), (
        "no page gives it any more"
    )
    assert (typed.ROOT / typed.ELSEWHERE[pattern].split(":")[0]).exists()


@pytest.mark.parametrize("line", typed.others())
def test_what_else_is_typed_has_a_test_or_a_reason(line: str) -> None:
    assert any(typed.matches(pattern, line) for pattern in typed.OTHERS_ELSEWHERE), line


@pytest.mark.parametrize("pattern", typed.OTHERS_ELSEWHERE)
def test_what_else_is_listed_is_still_there(pattern: str) -> None:
    assert any(typed.matches(pattern, line) for line in typed.others())
    by = typed.OTHERS_ELSEWHERE[pattern].split(":")[0]
    assert (typed.ROOT / by).exists() or by == "not iowhy's"


def test_lines_are_found_in_blocks_and_sentences() -> None:
    text = "    $ iowhy why a.iowhy  # says\n    iowhy: an answer\n\n```yaml\n  - iowhy check b.iowhy\n```\nand `sudo iowhy run -- CMD`"
    assert list(typed.block_lines(text)) == ["iowhy why a.iowhy  # says", "iowhy check b.iowhy"]
    assert shlex.split(next(typed.block_lines(text)), comments=True) == ["iowhy", "why", "a.iowhy"]
