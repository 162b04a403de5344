"""Recordings are made as for the reports."""

from tests.reports.conftest import make

__all__ = ["make"]
