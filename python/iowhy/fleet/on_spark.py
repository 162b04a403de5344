"""A report of a fleet on Spark: the same lifted statements, put into its SQL by sqlglot; only the answer comes here.

Spark reads the recordings' files itself, so they are where its workers see them under the same paths. Recordings are opened here for
what their manifests and footers say: which can be read, and how relations are computed of them. What is kept between
statements are tables of the session's current schema, dropped afterwards.
"""

import os
import re
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from iowhy.errors import Problem
from iowhy.fleet.answered import Tables
from iowhy.fleet.gathered import Asked, Found, Gathering, statement_for
from iowhy.fleet.members import COLUMNS, LeftOut
from iowhy.fleet.sql_parts import KEY, RECORDINGS
from iowhy.fleet.statement import row_of
from iowhy.fleet.table_files import TableFiles, must_fit
from iowhy.recordings.day_packs import NUMBER
from iowhy.recordings.object_store import is_stored, written
from iowhy.recordings.open_tables import reading
from iowhy.recordings.schema import Table, tables
from iowhy.reports.batches import BATCH_ROWS, Result
from iowhy.reports.spark import spark_of, to_spark

if TYPE_CHECKING:  # an extra
    from pyspark.sql import DataFrame, SparkSession
    from sqlglot import exp

#: What Spark gives files the names of as they are (RFC 3986, unreserved characters and those that a path may have).
_PLAIN = re.compile(r"[A-Za-z0-9/._~=+@,:-]+")
_TYPES = {"bigint": "BIGINT", "int": "BIGINT", "double": "DOUBLE", "string": "VARCHAR"}
_SPARK = {"BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN", "VARCHAR": "STRING"}
_SPARK |= {"BIGINT[]": "ARRAY<BIGINT>", "VARCHAR[]": "ARRAY<STRING>"}


#: Hadoop's name of what reads the API of S3.
_S3A = "s3a:"
_NO_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem not found"
CONNECT_PORT = 15002
#: What an address begins with: a Connect server's, and Spark's masters ("Submitting Applications", Master URLs).
MASTERS = ("sc://", "local", "spark://", "yarn", "k8s://")
_ANSWERS_S = 10.0
_SELECTS_AT_ONCE = 256
#: Above 32 paths Spark looks at each of them in a task of its own, which takes longer than to look.
_LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_LISTED_BY_A_TASK = 100
#: Of so many rows Spark takes longer to cut the work into tasks, and to compile code for each of them, than to do it.
_FEW_ROWS = 5_000_000
_FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def session_at(url: str) -> "Iterator[SparkSession]":
    """A session of `local[2]` or another master, or of a Spark Connect server (`sc://HOST:15002`).

    Raises Problem where pyspark is missing, or nothing answers.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise Problem("pyspark-missing") from None
    if not url.startswith(MASTERS):
        raise Problem("spark-url-unknown", url=url or "(nothing)", connect_port=CONNECT_PORT)
    builder = SparkSession.builder
    _say_it_once()
    if url.startswith("sc://"):
        _must_answer(url)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # pyspark's, of the pandas beside it
            made = (
                builder.remote(url) if url.startswith("sc://") else builder.master(url)
            ).getOrCreate()
    except Exception as error:  # of Java's, of gRPC's
        raise Problem(
            "spark-failed", url=url, error=str(error).strip().splitlines()[0][:300]
        ) from None
    try:
        yield made
    finally:
        made.stop()
        # A client of Connect leaves it there, and then every session of this process is to be one.
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def _say_it_once() -> None:
    """What fails is said in a line: pyspark 4 would print the whole stack of the server as well."""
    with suppress(ModuleNotFoundError):
        from pyspark.logger import PySparkLogger

        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True


def _must_answer(url: str) -> None:
    """Raises Problem if nobody listens: the client itself would try for ten minutes."""
    found = urlsplit(url.partition(";")[0])
    try:
        at = (found.hostname or "", found.port or CONNECT_PORT)
        socket.create_connection(at, timeout=_ANSWERS_S).close()
    except (OSError, ValueError) as error:
        raise Problem("spark-silent", url=url, error=error) from None


class _NoS3A(Problem):
    """No recording is to blame for it."""


class SparkGathering(Gathering):
    """Rows of several SQL texts over recordings, gathered in tables of a session."""

    #: One statement for a whole fleet: Spark divides the work itself.
    most_together, most_rows = 100_000, 1 << 62
    #: It reads rows where they are stored.
    outline = True

    def __init__(
        self, asked: Mapping[str, Asked], left_out: LeftOut, session: "SparkSession"
    ) -> None:
        super().__init__(asked, left_out)
        self.session = session
        self.made: list[str] = []
        self._stored: dict[Path, str] = {}
        #: The session's own settings, which it gets back.
        self._settings: dict[str, str] = {}

    def table_of(self, part: Path) -> str:
        """The session's table that holds a part."""
        return f"iowhy_{self.folder.name.replace('-', '_')}_{part.stem}"

    def of_the_query(self, error: Exception) -> bool:
        """As Gathering has it."""
        from pyspark.errors import AnalysisException

        return super().of_the_query(error) or isinstance(error, AnalysisException | _NoS3A)

    def of_a_recording(self, error: Exception) -> bool:
        """As Gathering has it."""
        from pyspark.errors import PySparkException

        return super().of_a_recording(error) or isinstance(error, PySparkException)

    def write(
        self,
        asked: Asked,
        group: list[Found],
        lies: Mapping[str, TableFiles],
        part: Path,
    ) -> None:
        """Makes a table of the rows of some recordings of which names mean the same."""
        manifests = [member.recording.manifest for member, _, _ in group]
        self._set_for(sum(one.kept for manifest in manifests for one in manifest.tables.values()))
        tree = statement_for(asked, group)
        rows = [row_of(member.number, facts, chosen) for member, facts, chosen in group]
        self._view(RECORDINGS, _rows(*_selected(rows)))
        for member, _, _ in group:
            here, there = member.lies
            if is_stored(there):
                self._stored[here.resolve()] = written(there).replace("s3:", _S3A, 1)
        try:
            self._make(tree, lies, part)
        except Exception as error:  # of Java's, of gRPC's
            if _NO_S3A not in str(error):
                raise
            raise _NoS3A("spark-without-store") from None

    def _make(self, tree: "exp.Expression", lies: Mapping[str, TableFiles], part: Path) -> None:
        for name, one in lies.items():
            self._table(tables()[name], one)
        *before, last = spark_of(tree)
        for statement in before:
            if statement.startswith("DROP TABLE IF EXISTS "):
                self.made.append(statement.removeprefix("DROP TABLE IF EXISTS "))
            self.session.sql(statement)
        table = self.table_of(part)
        self.made.append(table)
        from pyspark.sql import functions

        found = self.session.sql(last).withColumn("place", functions.monotonically_increasing_id())
        found.write.mode("overwrite").saveAsTable(table)
        part.touch()

    def _table(self, table: Table, lies: TableFiles) -> None:
        """Raises Problem for a file that is not as the schema says: Spark takes what it lacks for unknown."""
        with closing(reading(lies.files())) as connection:
            must_fit(connection, table, lies.files())
        columns = ", ".join(f"f.`{c.name}`" for c in table.columns)
        empty = ", ".join(
            f"CAST(NULL AS {_SPARK[c.sql_type]}) AS `{c.name}`" for c in table.columns
        )
        parts = [f"SELECT CAST(NULL AS BIGINT) AS {KEY}, {empty} WHERE false"]
        found: list[tuple[object, ...]] = [
            (self._url(file), number) for file, number in lies.own.items()
        ]
        if found:
            self._files(f"files_of_{table.name}", table, list(lies.own))
            parts = [
                f"SELECT m.{KEY}, {columns} FROM files_of_{table.name} f JOIN ({_pairs(found, 'file', KEY)}) AS m "
                "ON m.file = f.file_path"
            ]
        found = [
            (self._url(file), at, number)
            for file, ones in lies.shared.items()
            for at, number in ones.items()
        ]
        if found:
            self._files(f"packs_of_{table.name}", table, list(lies.shared), NUMBER)
            parts.append(
                f"SELECT m.{KEY}, {columns} FROM packs_of_{table.name} f JOIN ({_pairs(found, 'file', 'at', KEY)}) AS m "
                f"ON m.file = f.file_path AND m.at = f.{NUMBER}"
            )
        self._view(table.name, " UNION ALL ".join(parts))

    def _files(self, view: str, table: Table, files: Sequence[str], *more: str) -> None:
        """The rows of some files, each with its own path."""
        schema = [f"`{c.name}` {_SPARK[c.sql_type]}" for c in table.columns]
        tasks = -(-len(files) // _LISTED_BY_A_TASK)
        self.session.conf.set(_LISTING_TASKS, str(tasks))
        read = self.session.read.schema(", ".join([f"{c} BIGINT" for c in more] + schema))
        rows = read.parquet(*map(self._url, files))
        from pyspark.sql import functions

        path = functions.regexp_replace(rows["_metadata.file_path"], "^file:/+", "file:///")
        rows.select("*", path.alias("file_path")).createOrReplaceTempView(view)

    def _url(self, file: str) -> str:
        """A file as Spark names it. Raises Problem for a name that Spark would write in another way."""
        folder = Path(file).parents[1]
        stored = self._stored.get(folder)
        url = f"file://{file}" if stored is None else f"{stored}/{Path(file).relative_to(folder)}"
        if _PLAIN.fullmatch(url) is None:
            raise Problem("spark-path-not-plain", url=url)
        return url

    def _set_for(self, rows: int) -> None:
        if rows > _FEW_ROWS:
            self._set_back()
        elif not self._settings:
            self._settings = {name: self.session.conf.get(name) for name in _FOR_FEW_ROWS}
            for name, value in _FOR_FEW_ROWS.items():
                self.session.conf.set(name, value)

    def _set_back(self) -> None:
        for name, value in self._settings.items():
            self.session.conf.set(name, value)
        self._settings = {}

    def _view(self, name: str, sql: str) -> None:
        self.session.sql(sql).createOrReplaceTempView(name)

    def drop(self) -> None:
        """Removes the tables that were made."""
        for table in self.made:
            self.session.sql(f"DROP TABLE IF EXISTS {table}")
        self._set_back()


def _selected(selects: Sequence[str]) -> tuple[dict[str, str], list[dict[str, object]]]:
    """The columns with their types, and the rows, of SELECTs that give a row each.

    A UNION of them is for Spark a tree as deep as they are many, which it walks again and again.
    """
    columns: dict[str, str] = {}
    rows: list[dict[str, object]] = []
    with closing(reading([])) as connection:
        for at in range(0, len(selects), _SELECTS_AT_ONCE):
            found = connection.execute(" UNION ALL ".join(selects[at : at + _SELECTS_AT_ONCE]))
            columns = {str(name): str(kind) for name, kind, *_ in found.description or ()}
            rows += [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    return columns, rows


def _pairs(rows: Sequence[tuple[object, ...]], *names: str) -> str:
    """Rows of texts and whole numbers as a SELECT."""
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    typed = ", ".join(n if n == "file" else f"CAST({n} AS BIGINT) AS {n}" for n in names)
    return f"SELECT {typed} FROM (VALUES {values}) AS v({', '.join(names)})"


def spark_answer(gathering: SparkGathering, sql: str, given: Tables | None = None) -> Result:
    """The rows of `sql` over `recordings`, what was gathered and other tables."""
    session = gathering.session
    for name, (columns, rows) in {
        "recordings": (COLUMNS, gathering.members),
        **(given or {}),
    }.items():
        gathering.session.sql(_rows(columns, rows)).createOrReplaceTempView(name)
    for name, parts in gathering.parts.items():
        if not parts:
            raise Problem("no-readable-recording")
        made = session.table(gathering.table_of(parts[0]))
        for part in parts[1:]:
            made = made.unionByName(session.table(gathering.table_of(part)))
        made.createOrReplaceTempView(name)
    (asked,) = to_spark(sql)
    return _result(session.sql(asked))


def _result(found: "DataFrame") -> Result:
    types = {name: _TYPES.get(kind, kind.upper()) for name, kind in found.dtypes}
    return Result(types, _batches(found))


def _batches(found: "DataFrame") -> Iterator[Sequence[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    for row in found.toLocalIterator():
        batch.append(tuple(row))
        if len(batch) == BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _rows(columns: Mapping[str, str], rows: Sequence[Mapping[str, object]]) -> str:
    """A table's rows as a SELECT of Spark's."""
    typed = ", ".join(f"CAST({c} AS {_SPARK[kind]}) AS {c}" for c, kind in columns.items())
    if not rows:
        return f"SELECT {typed} FROM (VALUES ({', '.join(['NULL'] * len(columns))})) AS v({', '.join(columns)}) WHERE false"
    values = ", ".join(f"({', '.join(_literal(row[c]) for c in columns)})" for row in rows)
    return f"SELECT {typed} FROM (VALUES {values}) AS v({', '.join(columns)})"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return repr(value).lower() if isinstance(value, bool) else repr(value)
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
