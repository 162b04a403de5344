"""Pages are written from small recordings whose answers are known."""

from tests.reports.in_files import make

__all__ = ["make"]
