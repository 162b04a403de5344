"""Titles of processes: Python reads them as the recorder does, by the same cases."""

import json
from pathlib import Path

import pytest

from iowhy.watching.titles import name_of, title

CASES = json.loads(
    (Path(__file__).parents[2] / "readings/tests/titles.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(("cmdline", "comm", "expected"), CASES)
def test_titles_and_what_is_none(cmdline: str, comm: str, expected: str | None) -> None:
    assert title(cmdline.encode(), comm) == expected


def test_who_has_no_title_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/comm").write_text("nginx\n")
    (tmp_path / "7/cmdline").write_bytes(b"nginx: worker process\0")
    assert name_of(7, tmp_path) == "nginx: worker process"
    (tmp_path / "7/cmdline").write_bytes(b"nginx\0-g\0daemon off;\0")
    assert name_of(7, tmp_path) == "nginx"
