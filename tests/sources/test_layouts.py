"""The same text as mail, wikis, trackers and editors show it says the same."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.sources.format import Part
from iowhy.sources.names import Names
from iowhy.sources.paste import decode, split

from .reading import one_of_each

#: One row of numbers and words per line, in any of which a layout may do harm.
TEXTS = one_of_each()


def quoted(text: str) -> str:
    return "Hi,\nhe wrote:\n" + "".join(f"> {line}\n" for line in text.split("\n"))


def numbered(text: str) -> str:
    return "".join(f"{at:>6}\t{line}\n" for at, line in enumerate(text.split("\n"), 40))


def in_html(text: str) -> str:
    return f"<p>See:<br>\n<pre>\n{html.escape(text, quote=False)}\n</pre>"


LAYOUTS: dict[str, Callable[[str], str]] = {
    "quoted": quoted,
    "quoted twice": lambda text: quoted(quoted(text)),
    "mail in mail": lambda text: "".join(f">> {line}\n" for line in text.split("\n")),
    "html": in_html,
    "nbsp": lambda text: text.replace(" ", "\u00a0"),
    "ideographic blanks": lambda text: text.replace(" ", "\u3000"),
    "jira": lambda text: "{noformat:title=out}\n" + text + "\n{noformat}",
    "jira, glued": lambda text: "{code}" + text.rstrip("\n") + "{code}",
    "fence glued": lambda text: "```" + text.rstrip("\n") + "```\n",
    "fence": lambda text: "```text\n" + text + "\n```\n",
    "one blank in": lambda text: "".join(f" {line}\n" for line in text.split("\n")),
    "five blanks in": lambda text: "".join(f"     {line}\n" for line in text.split("\n")),
    "blanks collapsed": lambda text: re.sub(r"(?<=\S) +", " ", text),
    "line numbers": numbered,
    "Windows": lambda text: text.replace("\n", "\r\n"),
}


def parts_of(text: str) -> list[Part]:
    return split(decode(text.encode(), "x"), "x", Names()).parts


def contents(parts: list[Part]) -> list[tuple[object, ...]]:
    return [
        (
            part.format,
            sorted(map(repr, part.parsed.intervals)),
            {name: str(rows) for name, rows in part.parsed.tables.items()},
            part.parsed.snapshots,
            part.parsed.host,
        )
        for part in parts
        if part.parsed.lines_understood
    ]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_layout_changes_nothing(path: Path) -> None:
    text = path.read_text()
    whole = contents(parts_of(text))
    assert whole
    for name, layout in LAYOUTS.items():
        assert contents(parts_of(layout(text))) == whole, name
