"""No query of iowhy's draws DuckDB's bar; and where DuckDB takes no setting about it, as in a notebook without ipywidgets, nothing breaks."""

from typing import NoReturn, cast

import duckdb

from iowhy.recordings.progress_bar import without_progress_bar


class InNotebook:
    """What DuckDB answers there."""

    def execute(self, statement: str) -> NoReturn:
        raise duckdb.InvalidInputException(f"{statement}: ipywidgets is missing")


def test_where_it_is_refused_nothing_breaks() -> None:
    without_progress_bar(cast(duckdb.DuckDBPyConnection, InNotebook()))


def test_none_is_drawn_for_a_recording() -> None:
    connection = duckdb.connect()
    without_progress_bar(connection)
    assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [
        (False,)
    ]
