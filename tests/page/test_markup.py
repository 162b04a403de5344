"""What comes from anybody is shown, and does nothing."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.views.html import whole_page as whole_page_module
from iowhy.views.html.markup import Markup, element, escaped, joined
from iowhy.views.html.whole_page import script_json, whole_page
from iowhy.whys import classes

HOSTILE = (
    "<script>alert(1)</script>",
    '"></style><img src=x onerror=alert(1)>',
    "</script><!--<script>",
    "new\nline",
    "\x1b[31mred\x07",
    "=cmd()",
    "\u202egnp.exe",
    "\ud800 alone",
    "a" * 4096,
)


class Seen(HTMLParser):
    """The elements and the text of a page, as a browser would take it apart."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_only_text(name: str) -> None:
    seen = Seen(element("p", name, title=name))
    assert seen.names == ["p"]
    assert seen.attributes[0][0] == "title" and len(seen.attributes) == 1
    shown = "".join(seen.texts)
    assert shown == seen.attributes[0][1]
    assert shown.isprintable()


def test_markup_is_not_escaped_twice_and_text_is() -> None:
    assert joined(Markup("<b>"), "<b>") == "<b>&lt;b&gt;"
    assert element("td", "", class_=None, hidden=True, colspan=2) == '<td hidden colspan="2"></td>'


@given(st.text())
def test_any_text_survives_the_script_block(text: str) -> None:
    block = script_json({"name": text})
    assert "<" not in block and ">" not in block and "\u2028" not in block
    assert json.loads(block) == {"name": text}


@given(st.text())
def test_any_text_is_one_text(text: str) -> None:
    seen = Seen(f"<p>{escaped(text)}</p>")
    assert seen.names == ["p"]


def test_the_page_forbids_the_network_and_foreign_scripts() -> None:
    page = whole_page("<title>", [Markup("<main></main>")], {"charts": []})
    policy = next(line for line in page.splitlines() if "Content-Security-Policy" in line)
    assert "default-src &#x27;none&#x27;" in policy
    assert "unsafe" not in policy and "http:" not in policy and "https:" not in policy
    assert page.count("<script>") == policy.count("sha256-") - page.count("<style>")


def test_a_page_without_charts_has_no_scripts() -> None:
    page = whole_page("title", [Markup("<main></main>")], None)
    assert "<script" not in page and "script-src &#x27;none&#x27;" in page


def test_every_class_of_time_has_a_colour() -> None:
    style = (Path(whole_page_module.__file__).parent / "assets" / "page.css").read_text()
    for at in range(len(classes.ALL)):
        assert f".class-{at} {{" in style and f"--class-{at}: #" in style
