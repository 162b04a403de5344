"""Every report gives the same rows on DuckDB and, put into its SQL by sqlglot, on Spark."""

import math
import os
import shutil
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.arrow_tables import arrow_schema
from benchmarks.generated import generate
from iowhy.fleet.asking import Question, fleet_result, spark_result
from iowhy.fleet.members import LeftOut
from iowhy.fleet.places import places
from iowhy.recordings import Recording
from iowhy.recordings.schema import tables
from iowhy.reports import Filters, reports, run, spark_statements
from tests.problems import wrong
from tests.reports.test_agent import AGENT
from tests.stacks.conftest import MODULES, MS, frames, sample, with_tables
from tests.whys.made import Story

_STACKS = {1: ("fsync", "commit", "main"), 2: (None, "walk", "walk", "main")}
MADE_STACKS = {
    "stack_samples": [
        sample(at * MS, at * MS // 4, 1 + at % 2, tid=1000 + at % 5, syscall=call)
        for at in range(20)
        for call in ("fsync", "pread64")
    ],
    "user_stacks": frames(_STACKS),
    "modules": MODULES,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    made = generate(
        tmp_path_factory.mktemp("spark") / "made.iowhy", calls=800, files=8, threads=5, stalled=True
    )
    return with_tables(made, MADE_STACKS | AGENT)


@pytest.fixture(scope="module")
def spark(made: Recording, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing = "Spark needs Java 17 or later: apt-get install default-jre-headless"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("warehouse")
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder))
        # Compiling pays off on data, not on a few hundred rows.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.adaptive.enabled", "false")
        # Its snappy takes a machine that has musl beside glibc for one of musl, and does not load.
        .config("spark.sql.parquet.compression.codec", "uncompressed")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    empty = tmp_path_factory.mktemp("empty")
    for table in tables().values():
        files = made.files(table.name)
        if not files:
            files = [empty / f"{table.name}.parquet"]
            pq.write_table(arrow_schema(table).empty_table(), files[0])
        read = session.read.schema(from_arrow_schema(arrow_schema(table)))
        read.parquet(*map(str, files)).createOrReplaceTempView(table.name)
    yield session
    session.stop()


def key(row: tuple[object, ...]) -> tuple[str, ...]:
    """Sort by what is exact; sums of doubles may differ in the last digits."""
    return tuple("" if isinstance(v, float) else repr(v) for v in row) + tuple(
        f"{v:.6e}" if isinstance(v, float) else "" for v in row
    )


def normal(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def same(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


#: The statements of the tables that are there, those first that others are made of.
MADE: dict[str, str] = {}


def forget(table: str) -> None:
    """A table that will be another one, and what was made of it."""
    gone = {table}
    for other, create in list(MADE.items()):
        if other == table or any(name in create for name in gone):
            gone.add(other)
            del MADE[other]


def on_spark(
    spark: SparkSession, rec: Recording, name: str, filters: Filters | None = None
) -> DataFrame:
    *before, last = spark_statements(rec, name, filters)
    for drop, create in zip(before[::2], before[1::2], strict=True):
        table = drop.split()[-1]
        if MADE.get(table) == create:
            continue  # for an earlier report
        forget(table)
        spark.sql(drop)
        spark.sql(create)
        MADE[table] = create
    return spark.sql(last)


@pytest.mark.parametrize("name", sorted(reports()))
def test_spark_agrees(name: str, made: Recording, spark: SparkSession) -> None:
    ours = run(made, name)
    theirs = on_spark(spark, made, name)
    assert theirs.columns == ours.column_names
    expected = sorted((tuple(row.values()) for row in ours.to_pylist()), key=key)
    found = sorted((tuple(map(normal, row)) for row in theirs.collect()), key=key)
    assert expected, "the generated recording gives this report nothing to show"
    assert len(found) == len(expected)
    # The budget to the nanosecond.
    assert name != "budget" or found == expected
    for row, other in zip(expected, found, strict=True):
        assert all(map(same, row, other)), (row, other)


def test_filters_on_spark(made: Recording, spark: SparkSession) -> None:
    filters = Filters(since="0.001", until="5ms", pids=(1000,), file="*-0000?.db")
    ours = run(made, "files", filters)
    theirs = on_spark(spark, made, "files", filters).collect()
    assert ours.num_rows == len(theirs) > 0
    assert sum(ours.column("calls")) == sum(row.calls for row in theirs) > 0


def test_without_sqlglot_it_says_which_extra_brings_it(
    made: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "iowhy.reports.spark", raising=False)
    with wrong("spark-package-missing", name="sqlglot"):
        spark_statements(made, "files")


def agree(name: str, paths: list[Path], session: SparkSession) -> None:
    """A report of a fleet has the same rows on DuckDB and on Spark."""
    left_out, question = LeftOut(), Question(name, Filters())
    with fleet_result(question, paths, left_out) as result:
        ours = result.table()
    with spark_result(question, paths, left_out, session) as result:
        theirs = result.table()
    assert not left_out.reasons and ours.num_rows
    assert theirs.column_names == ours.column_names
    expected, found = (
        sorted((tuple(map(normal, row)) for row in one.values), key=key) for one in (ours, theirs)
    )
    assert len(found) == len(expected)
    for row, other in zip(expected, found, strict=True):
        assert all(map(same, row, other)), (row, other)


# Last in this module: it puts the tables of a fleet in the place of those of `made`. Other reports: tests/fleet/test_spark_connect.py.
def test_a_report_of_a_fleet_agrees(tmp_path: Path, made: Recording, spark: SparkSession) -> None:
    generate(tmp_path / "other.iowhy", calls=100, files=4, threads=2, seed=3)
    Story(seconds=0.3).caller("fsync", 5, bytes_=None).write(tmp_path / "third.iowhy")
    agree("files", places([str(tmp_path), str(made.path)]), spark)
