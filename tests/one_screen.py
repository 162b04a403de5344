"""A verdict is one screen: 25 lines and 180 words, whatever was recorded or pasted, and its answer is in the first lines."""

import io
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from unittest.mock import patch

from rich.console import Console

from iowhy.views.terminal import console
from iowhy.views.verdict_page import LINES, WORDS

#: The answer: the headline and the first fix with its saving and risk. Words before the first full stop, and by
#: columns those of the first seven lines.
ANSWER_WORDS, HEADLINE_WORDS, SENTENCE_WORDS = 85, 35, 34
FIRST_WORDS = {"80": 70, "100": 85}


def fits(draw: Callable[[Console], None]) -> None:
    """Asserts it of what is drawn, on terminals of two widths."""
    for columns, first_words in FIRST_WORDS.items():
        printed = drawn(columns, draw)
        lines = printed.rstrip("\n").split("\n")
        assert len(lines) <= LINES <= 25 and len(printed.split()) <= WORDS <= 180, printed
        assert len(" ".join(lines[:7]).split()) <= first_words, printed
        headline, rest = [*printed.split("\n\n"), ""][:2]
        assert len(headline.split()) <= HEADLINE_WORDS, printed
        assert len(headline.split(". ")[0].split()) <= SENTENCE_WORDS, printed
        answer = len(headline.split()) + len(rest.partition("\nor ")[0].split())
        assert answer <= ANSWER_WORDS or not rest.startswith("Fix"), printed


def drawn(columns: str, draw: Callable[[Console], None]) -> str:
    """What is printed on a terminal so wide, without colours."""
    out = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": columns, "NO_COLOR": "1"}), redirect_stdout(out):
        draw(console())
    return out.getvalue()
