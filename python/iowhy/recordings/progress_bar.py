"""DuckDB draws a bar on the terminal when a query takes long; iowhy says itself what takes long."""

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import
    import duckdb


def without_progress_bar(connection: "duckdb.DuckDBPyConnection") -> None:
    """No query of the connection draws one. To be called before its configuration is locked."""
    import duckdb

    # In a notebook without ipywidgets DuckDB draws none, and refuses every setting about it.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
