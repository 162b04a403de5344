"""DuckDB's errors, known without importing it: that takes a tenth of a second, which an error can wait for."""

import sys


def is_query_error(error: BaseException) -> bool:
    """Whether an error is DuckDB's: what was never imported has raised none."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, duckdb.Error)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a query needed more memory, or more temporary files, than it may have."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(error, duckdb.OutOfMemoryException)
