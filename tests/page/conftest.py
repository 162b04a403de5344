"""Pages are written from small recordings whose answers are known."""

from tests.reports.conftest import make

__all__ = ["make"]
