"""Pages are short: words together, and in a sentence."""

import re
from statistics import median

from tests.words.texts import ROOT, pages

#: Words of all pages that are written by hand, and of their sentences.
MOST, MEDIAN, LONGEST = 45_000, 20, 60
#: A trial's row, as `python -m iowhy.lab.accuracy` and `iowhy experiment` print them; the list of causes is made from the code.
_RESULTS = re.compile(r"\|.*\|")
_MADE = {"docs/causes/README.md"}


def test_pages_together_are_short() -> None:
    words = 0
    for path in pages():
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if name == "docs/accuracy.md":
            text = "\n".join(line for line in text.split("\n") if not _RESULTS.fullmatch(line))
        words += 0 if name in _MADE else len(text.split())
    assert words <= MOST, f"{words:,} words"


def test_sentences_are_short() -> None:
    lengths = []
    for path in pages():
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
        prose = "\n".join(line for line in text.split("\n") if not re.match(r"[|#<]|    ", line))
        for paragraph in re.split(r"\n\s*\n|\n[-*\d]", prose):
            for said in re.split(r"(?<=[.!?:;])\s+", paragraph.strip()):
                if len(said.split()) > 2:
                    lengths.append(len(said.split()))
                    assert lengths[-1] <= LONGEST, f"{path.name}: {said}"
    assert median(lengths) <= MEDIAN
