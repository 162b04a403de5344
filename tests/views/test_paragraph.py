"""Paragraphs: where their lines may end."""

import pytest
from rich.console import Console

from iowhy.views.terminal import paragraph


def test_a_number_is_not_parted_from_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    for width in range(8, 40):
        paragraph(Console(width=width), "of 2.5 s at most 50 % and 1,234 KiB can go; 12 of 99.1 µs")
        lines = capsys.readouterr().out.splitlines()
        assert not any(line.endswith(("50", "2.5", "1,234", "99.1")) for line in lines), lines
        assert not any("\ue001" in line for line in lines)


def test_an_address_is_not_parted(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody could follow it."""
    address = "https://www.example.org/software/coreutils/manual/html_node/dd-invocation.html"
    paragraph(Console(width=60), f"or: what is written where that is said ({address})", indent=3)
    assert address in capsys.readouterr().out
