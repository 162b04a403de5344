"""Recordings made by hand, as of reports."""

from tests.reports.conftest import make

__all__ = ["make"]
