"""Recordings as those of conftest.py, in files: for tests that give their path to somebody."""

from pathlib import Path

import pytest

from iowhy.recordings.writer import write_recording
from tests.reports.conftest import Make, maker

__all__ = ["make"]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """As `make` in memory."""
    return maker(tmp_path, write_recording)
