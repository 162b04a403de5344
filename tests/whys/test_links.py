"""Every number of a chain has its rows in the report that its link names, whatever printed them."""

from pathlib import Path

import pytest

from iowhy.errors import Problem
from iowhy.sources.diagnose import diagnose

from .conftest import judge_with_rows

FIXTURES = Path(__file__).parents[1] / "sources" / "fixtures"
TEXTS = sorted(path for path in FIXTURES.rglob("*") if path.suffix in (".txt", ".json"))


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_of_other_tools_texts(text: Path, tmp_path: Path) -> None:
    try:
        found = diagnose([str(text)], tmp_path / "x.iowhy")
    except Problem:
        return  # a text without anything to judge
    judge_with_rows(found.recording)
