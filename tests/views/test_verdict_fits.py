"""A verdict is one screen: 25 lines and 180 words, whatever was recorded or pasted, and its answer is in the first lines."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from iowhy.cli.diagnose import what_to_run_next
from iowhy.commands.overview import overview
from iowhy.recordings import open_recording
from iowhy.sources.diagnose import diagnose
from iowhy.sources.processes import busiest
from iowhy.views import diagnosis, verdict_page
from iowhy.views.terminal import console
from iowhy.views.verdict_page import LINES, WORDS

TESTS = Path(__file__).parents[1]
RECORDINGS = sorted((TESTS.parent / "docs" / "recordings").glob("*.zip"))
#: Every third of the texts that formats are tried with.
TEXTS = sorted((TESTS / "sources" / "fixtures").glob("*.txt"))[::3]
#: The answer: the headline and the first fix with its saving and risk. Words before the first full stop, and by
#: columns those of the first seven lines.
ANSWER_WORDS, HEADLINE_WORDS, SENTENCE_WORDS = 85, 35, 34
FIRST_WORDS = {"80": 70, "100": 85}


def fits(printed: str, columns: str) -> None:
    lines = printed.rstrip("\n").split("\n")
    assert len(lines) <= LINES <= 25 and len(printed.split()) <= WORDS <= 180, printed
    assert len(" ".join(lines[:7]).split()) <= FIRST_WORDS[columns], printed
    headline, rest = [*printed.split("\n\n"), ""][:2]
    assert len(headline.split()) <= HEADLINE_WORDS, printed
    assert len(headline.split(". ")[0].split()) <= SENTENCE_WORDS, printed
    assert len(headline.split()) + len(rest.partition("\nor ")[0].split()) <= ANSWER_WORDS or not (
        rest.startswith("Fix")
    ), printed


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_a_verdict_fits_on_a_screen(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recording.parent)
    judged = overview(open_recording(Path(recording.name)))
    for columns in FIRST_WORDS:
        fits(drawn(columns, lambda out: verdict_page.show(judged, out)), columns)


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_the_verdict_on_a_paste_does_too(text: Path, tmp_path: Path) -> None:
    found = diagnose([str(text)], tmp_path / "x.iowhy")
    judged = overview(found.recording)
    steps = what_to_run_next(found, judged.verdict, busiest(found.recording))
    for columns in FIRST_WORDS:
        fits(drawn(columns, lambda out: diagnosis.show(out, judged, found, steps)), columns)


def drawn(columns: str, draw: Callable[[Any], None]) -> str:
    out = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": columns, "NO_COLOR": "1"}), redirect_stdout(out):
        draw(console())
    return out.getvalue()
