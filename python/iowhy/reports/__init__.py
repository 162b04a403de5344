"""Reports: one SQL file each, run over a recording's tables by DuckDB here and by Spark for fleets."""

from iowhy.reports.engine import result_of, run, run_all, spark_statements, statement
from iowhy.reports.filters import Filters
from iowhy.reports.report import Report, find, reports

__all__ = [
    "Filters",
    "Report",
    "find",
    "reports",
    "result_of",
    "run",
    "run_all",
    "spark_statements",
    "statement",
]
