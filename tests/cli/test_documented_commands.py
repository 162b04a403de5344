"""Every command line of iowhy in the documentation is one that the command line takes: it is parsed as it stands."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from iowhy.cli._commands import COMMANDS
from iowhy.options.parser import HelpAsked, parse

ROOT = Path(__file__).parents[2]
PAGES = [
    # The changelog tells of what was, too.
    *(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"),
    ROOT / "llms.txt",
    *(path for path in (ROOT / "docs").rglob("*.md")),
]
#: `iowhy …` at the start of a line of a block or behind a prompt, or within backticks.
_LINE = re.compile(r"^(?:    |- |)(?:\$ )?(?:sudo )?(iowhy [a-z][^`\n]*)$", re.MULTILINE)
_SPAN = re.compile(r"`(?:sudo )?(iowhy [a-z][^`\n]*)`")
#: Where a line of a shell goes on with something else.
_ENDS = {"|", "<", ">", ">>", "&&", "||", ";", "#", "&"}
#: What stands for words of the reader's own, or for several lines at once.
_SKETCH = re.compile(r"…|\.\.\.|(?<![\w'])\[|\{|^iowhy COMMAND")


#: Words of the reader's own, and one that each could be.
_OWN = {"PID": "4711", "N": "3", "N:M": "3:4"}


def commands(text: str) -> Iterator[str]:
    for found in (*_LINE.finditer(text), *_SPAN.finditer(text)):
        yield found[1].strip()


def words_of(line: str) -> list[str] | None:
    """The words of the call; None for what is no whole call."""
    if _SKETCH.search(line):
        return None
    try:
        split = shlex.split(line, comments=True)
    except ValueError:
        return None
    end = next((at for at, word in enumerate(split) if word in _ENDS), len(split))
    return [_OWN.get(word, word) for word in split[1:end]]


def parsed(words: list[str]) -> None:
    """Raises Problem for a call that makes no sense."""
    if words[0] == "help":
        words = [*words[1:], "--help"]
    module = import_module(f"iowhy.cli.{words[0].replace('-', '_')}")
    inner = getattr(module, "COMMANDS", None)
    options, rest = (module.Options if inner is None else None), words[1:]
    if inner is not None:
        if not rest or rest[0] == "--help":
            return
        options, rest = inner[rest[0]][0], rest[1:]
    with suppress(HelpAsked):
        parse(options, rest, getattr(module, "is_ours", lambda _: False))


def calls(path: Path) -> list[list[str]]:
    found = [words_of(line) for line in commands(path.read_text())]
    return [words for words in found if words and words[0] in (*COMMANDS, "help")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_says_to_type_is_understood(path: Path) -> None:
    wrong = []
    for words in calls(path):
        # A command named alone (`iowhy why`) is a name in a sentence, not a call.
        if len(words) == 1 or words == ["help", "CMD"]:
            continue
        try:
            parsed(words)
        except Exception as error:
            # In a sentence options are named without what they are of: `iowhy why --json`.
            if str(error).startswith("missing "):
                continue
            wrong.append(f"iowhy {shlex.join(words)}: {error}")
    assert wrong == []


def test_the_pages_have_many() -> None:
    assert sum(len(calls(path)) for path in PAGES) > 100


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, part in re.findall(r"\]\(((?!https?:)[^)#]*)(?:#([^)]*))?\)", text):
        page = path.parent / target if target else path
        assert page.exists(), target
        if part and page.suffix == ".md":
            assert part in anchors(page), f"{target}#{part}"


def anchors(page: Path) -> set[str]:
    """The parts of a page that a link can name, as GitHub makes names of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text()
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/tutorials").glob("*.md")]:
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "README.md" or f"({name})" in index, name
