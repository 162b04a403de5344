"""Rows of a query as a file of Parquet, which DuckDB writes."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

from iowhy.recordings.progress_bar import without_progress_bar
from iowhy.recordings.query_limits import bound
from iowhy.recordings.sql_text import text_literal
from iowhy.reports.batches import Result
from iowhy.reports.columns import arrays

if TYPE_CHECKING:  # slow to import
    import duckdb

#: How files are written. Row groups: small ones would make a large file.
FORM = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 100000"
#: Beside what the query takes.
MEMORY = "128MiB"


def write(result: Result, to: IO[bytes], metadata: Mapping[str, str]) -> None:
    """Writes all rows, with texts next to them by name (the file's key-value metadata). Raises OSError."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="iowhy-export-") as folder,
        closing(duckdb.connect()) as connection,
    ):
        place = Path(folder) / "rows.parquet"
        bound(connection)
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        without_progress_bar(connection)
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in result.types.items())
        connection.execute(
            f"ATTACH {text_literal(str(Path(folder) / 'rows.duckdb'))} AS kept; USE kept"
        )
        connection.execute(f"CREATE TABLE rows ({columns})")
        try:
            for batch in result.batches():
                _insert(connection, result, batch)
            told = ", ".join(
                f"{_quoted(name)}: {text_literal(text)}" for name, text in metadata.items()
            )
            more = f", KV_METADATA {{{told}}}" if told else ""
            connection.execute(f"COPY rows TO {text_literal(str(place))} ({FORM}{more})")
        except duckdb.IOException as error:
            raise OSError(str(error).splitlines()[0]) from None
        with place.open("rb") as made:
            shutil.copyfileobj(made, to)


def _insert(
    connection: "duckdb.DuckDBPyConnection", result: Result, rows: Sequence[tuple[object, ...]]
) -> None:
    if rows:
        given = arrays(result.types, rows)
        connection.register("given", {f"c{at}": array for at, array in enumerate(given)})
        connection.execute("INSERT INTO rows SELECT * FROM given")
        connection.unregister("given")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
