"""DuckDB's own module, which the package `duckdb` wraps; import this where a query is first run.

The package brings relations and expressions of Python with it, and importing those takes longer than to load
DuckDB: 50 ms of CPU beside 13. Connections and errors are the same objects in both.
"""

try:
    import _duckdb as database
except ImportError:  # before DuckDB 1.4 it lay within the package
    import duckdb as database  # type: ignore[no-redef]

__all__ = ["database"]
