"""Pages have one width, so that a change of a sentence is no change of a page."""

from pathlib import Path

import pytest

from tests.docs.wrapping import filled, pages
from tests.house import ROOT


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_filled_to_one_width(page: Path) -> None:
    text = page.read_text()
    assert filled(text) == text, "python -m tests.docs.wrapping fills the pages"
