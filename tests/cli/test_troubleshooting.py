"""The pages quote what the program says: messages of docs/troubleshooting.md, and the words of docs/glossary.md."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TROUBLES = (ROOT / "docs/troubleshooting.md").read_text()
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
#: The first cell of a row: a message, which may itself hold backticks; `…` stands for what it puts in.
_MESSAGE = re.compile(r"^\| `(.+?)` \|", re.MULTILINE)
#: "one" "two" and f"one" on two lines are one text; so are the `\` line ends of Rust.
_JOIN = re.compile(r'"\s*\n?\s*f?"|\\\n\s*')
#: What a message puts in: {name}, or Rust's {}.
_FILLED = re.compile(r"\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)?\}")


@pytest.fixture(scope="module")
def sources() -> str:
    places = [("python/iowhy", "*.py"), ("python/iowhy", "*.toml")]
    places += [(crate, "*.rs") for crate in ("recorder/src", "programs/src", "readings/src")]
    texts = (path.read_text() for folder, kind in places for path in (ROOT / folder).rglob(kind))
    return "\n".join(_FILLED.sub("…", _JOIN.sub("", text)) for text in texts)


@pytest.mark.parametrize("message", _MESSAGE.findall(TROUBLES))
def test_what_is_quoted_is_what_the_code_says(message: str, sources: str) -> None:
    assert message.strip("`") in sources


def test_the_page_quotes_many() -> None:
    assert len(_MESSAGE.findall(TROUBLES)) > 30


def test_the_glossary_has_every_reason_in_the_words_of_the_table() -> None:
    reasons = tomllib.loads((ROOT / "python/iowhy/tables/reasons.toml").read_text())["reason"]
    for name, reason in reasons.items():
        assert f"| `{name}` | {reason['doc']} |" in GLOSSARY
