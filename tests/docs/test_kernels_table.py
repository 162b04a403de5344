"""The table of kernels in docs/architecture.md is what the guests said (tests/kernels/found.json)."""

from tests.kernels import packages, table


def test_the_page_shows_what_was_found() -> None:
    text = table.PAGE.read_text()
    assert table.BEGIN in text and table.on_page(text) == text, (
        "write it: python -m tests.kernels.table"
    )


def test_only_kernels_that_are_tried_are_in_it() -> None:
    assert set(table.kept()) <= {*packages.SUITES, "arm64"}
