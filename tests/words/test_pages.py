"""Pages are short: words together, and in a sentence."""

import re
from statistics import median

from tests.words.texts import ROOT, pages

#: Words of all pages that are written by hand, and of their sentences.
MOST, MEDIAN, LONGEST = 44_200, 20, 60
#: Rows that a program prints: of trials (`python -m iowhy.lab.accuracy`), of kernels (`python -m tests.kernels`), of reasons of waits
#: (tables/reasons.toml), and what is between marks (`python -m benchmarks`, `benchmark.page`). The list of causes is made from the code.
_RESULTS = {
    "RELEASING.md": re.compile(r"\|.*\|"),
    "docs/accuracy.md": re.compile(r"\|.*\|"),
    "docs/architecture.md": re.compile(r"\| [456]\.\d.*\|"),
    "docs/glossary.md": re.compile(r"\| `.*\|"),
}
_PRINTED = {"docs/benchmarks.md", "docs/reliability.md"}
_MARKED = re.compile(r"<!-- [a-z-]+ -->\n.*?\n<!-- end -->", re.S)
_MADE = {"docs/causes/README.md"}


def test_pages_together_are_short() -> None:
    words = 0
    for path in pages():
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if name in _PRINTED:
            text = _MARKED.sub("", text)
        if name in _RESULTS:
            text = "\n".join(one for one in text.split("\n") if not _RESULTS[name].fullmatch(one))
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
