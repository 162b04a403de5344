"""A verdict is one screen: 25 lines and 180 words, whatever was recorded, and its answer is in the first lines."""

from pathlib import Path

import pytest

from iowhy.views.verdict_page import LINES, WORDS
from tests.command_line import invoke

RECORDINGS = sorted((Path(__file__).parents[2] / "docs" / "recordings").glob("*.zip"))
#: The answer: the headline and the first fix with its saving and risk.
ANSWER_WORDS, HEADLINE_WORDS = 85, 35


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_a_verdict_fits_on_a_screen(recording: Path, columns: str) -> None:
    done = invoke(["why", recording.name], env={"COLUMNS": columns, "NO_COLOR": "1"})
    lines = done.stdout.rstrip("\n").split("\n")
    assert len(lines) <= LINES <= 25 and len(done.stdout.split()) <= WORDS <= 180, done.stdout
    headline, _, rest = done.stdout.partition("\n\n")
    assert len(headline.split()) <= HEADLINE_WORDS
    assert len(headline.split()) + len(rest.partition("\nor ")[0].split()) <= ANSWER_WORDS or not (
        rest.startswith("Fix")
    )


@pytest.fixture(autouse=True)
def _beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RECORDINGS[0].parent)
