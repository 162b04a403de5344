"""Lines of ours are what rich prints of them, in its colours and without, and letters as wide as rich has them."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text as RichText

from iowhy.views import styled, terminal
from iowhy.views.class_marks import COLOURS
from iowhy.views.styled import Lines, Text

STYLES = ["", "bold", "dim", "yellow", "bold green", *COLOURS.values()]
PARTS = st.lists(
    st.tuples(st.text("ab–µ…█ ", max_size=6), st.sampled_from(STYLES)), min_size=1, max_size=4
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed_by_rich(what: object, stream: io.StringIO) -> str:
    Console(file=stream, width=80, highlight=False).print(what, soft_wrap=True)
    return stream.getvalue()


def printed(what: Text, stream: io.StringIO) -> str:
    Lines(stream, 80, lambda: pytest.fail("needed rich")).print(what, soft_wrap=True)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@given(PARTS)
def test_a_line_is_richs(parts: list[tuple[str, str]]) -> None:
    os.environ["TERM"] = "xterm-256color"
    for kind in (io.StringIO, Terminal):
        by_rich = printed_by_rich(RichText.assemble(*parts), kind())
        assert printed(Text.assemble(*parts), kind()) == by_rich
        assert printed_by_rich(Text.assemble(*parts), kind()) == by_rich


@given(st.text(), st.integers(0, 12))
def test_letters_are_as_wide_as_richs(text: str, cells: int) -> None:
    assert styled.cell_len(text) == cell_len(text)
    assert styled.set_cell_size(text, cells) == set_cell_size(text, cells)


def test_each_letter_that_counts_as_one_cell_is_one() -> None:
    assert {cell_len(letter) for letter in styled._ONE_CELL} == {1}


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TERM", "dumb"),
        ("TERM", "xterm"),
        ("TTY_COMPATIBLE", "0"),
        ("TTY_COMPATIBLE", "1"),
        ("FORCE_COLOR", "1"),
        ("FORCE_COLOR", ""),
        ("NO_COLOR", "1"),
    ],
)
def test_styles_are_shown_where_rich_shows_them(
    kind: type[io.StringIO], name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    by_rich = terminal._rich(kind(), 80).color_system is not None
    assert styled.shows_styles(kind()) == by_rich


def test_what_else_is_printed_goes_through_rich(capsys: pytest.CaptureFixture[str]) -> None:
    out = terminal.console()
    out.print(Text("one"), soft_wrap=True)
    out.print(RichText("two"), "three")
    out.print()
    assert capsys.readouterr().out == "one\ntwo three\n\n"
