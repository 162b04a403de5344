"""Reports of a fleet on a real Spark Connect server: the rows are DuckDB's."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from benchmarks.generated import generate
from iowhy.fleet.asking import Question, fleet_result, spark_result
from iowhy.fleet.fleet_reports import fleet_reports
from iowhy.fleet.gathered import Asked
from iowhy.fleet.members import LeftOut
from iowhy.fleet.on_spark import SparkGathering, session_at
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.recordings import Recording, open_recording
from iowhy.reports import Filters
from tests.examples import TIMES
from tests.fleet.agents import agent
from tests.fleet.hosts import write_fleet
from tests.fleet.spark_connect import spark_connect
from tests.object_store import object_store, put, reach
from tests.problems import wrong
from tests.reports.test_spark import MADE_STACKS, agree
from tests.stacks.conftest import with_tables

#: What rows of some reports of fleets must be there to be compared: a column, and its values.
TELLS = {
    "trend": ("what", {"call", "cause", "class", "agent sync", "agent request", "agent io_wait"}),
    # Of a whole machine it is whose threads were blocked longest (main_service).
    "causes": ("service", {"ledger", "worker10"}),
    "outliers": ("told_by", {"agent", "recording"}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_connect(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture(scope="module")
def session(server: str) -> Iterator[SparkSession]:
    with session_at(server) as session:
        yield session


@pytest.mark.parametrize("name", ["waits"])
def test_reports_of_recordings_agree(
    name: str, fleet: list[Recording], packed: dict[Path, Path], session: SparkSession
) -> None:
    """Of one that lies by itself, and of one in a pack."""
    agree(name, [fleet[0].path, packed[fleet[1].path]], session)


def test_a_table_may_have_a_column_file(tmp_path: Path, session: SparkSession) -> None:
    """As what is joined to each row to tell its recording."""
    recording = generate(tmp_path / "one.iowhy", calls=20, files=2, threads=1)
    with_tables(recording, MADE_STACKS)
    list(pack_fleet([recording.path], tmp_path / "packs", LeftOut()))
    sql = "SELECT file, count(*) AS frames FROM user_stacks GROUP BY file"
    left_out, asked = LeftOut(), {"found": Asked(sql, "own.sql", Filters())}
    gathering = SparkGathering(asked, left_out, session)
    try:
        gathering.gather([recording.path, *places([str(tmp_path / "packs")])])
        (part,) = gathering.parts["found"]
        found = session.table(gathering.table_of(part)).collect()
    finally:
        gathering.drop()
    assert not left_out.reasons and {row.fleet_no for row in found} == {0, 1}
    assert sum(row.frames for row in found) == 2 * len(MADE_STACKS["user_stacks"])


def test_a_file_without_a_column_that_it_must_have_is_left_out_as_on_duckdb(
    tmp_path: Path, session: SparkSession
) -> None:
    whole, lacking = (
        generate(tmp_path / f"{name}.iowhy", calls=20, files=2, threads=1, seed=seed)
        for seed, name in enumerate(("whole", "lacking"))
    )
    (file,) = lacking.files("syscalls")
    pq.write_table(pq.read_table(file).drop_columns(["name"]), file)
    question, paths = Question("syscalls", Filters()), [whole.path, lacking.path]
    ours, theirs = LeftOut(), LeftOut()
    with fleet_result(question, paths, ours) as result:
        rows = result.table().num_rows
    with spark_result(question, paths, theirs, session) as result:
        assert result.table().num_rows == rows > 0
    assert theirs.reasons == ours.reasons and theirs.reasons.keys() == {lacking.path}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Nine hosts, the disk of one 3 times slower, and what their agents keep."""
    folder = tmp_path_factory.mktemp("hosts")
    write_fleet(folder, 9, slow=3)
    for host in range(9):
        agent(folder / f"agent-{host}", host, slow=3)
    return places([str(folder)])


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two hosts on two days and what their agents keep; what ran on one is not known, as of a whole machine."""
    folder = tmp_path_factory.mktemp("few")
    write_fleet(folder / "full", 2, (0, 1))
    for host in range(2):
        agent(folder / f"agent-{host}", host)
    for path in places([str(folder / "full" / "*" / "host=web001")]):
        manifest = open_recording(path).manifest
        machine = replace(manifest.command, mode="machine", argv=())
        (path / "manifest.json").write_text(replace(manifest, command=machine).as_json())
    return places([str(folder)])


#: Planning `trend` on a server takes it some minutes: only in torture.
REPORTS = sorted(name for name in fleet_reports() if name != "trend" or TIMES > 1)


@pytest.mark.more
@pytest.mark.parametrize("name", REPORTS)
def test_reports_of_fleets_agree(
    name: str, hosts: list[Path], few: list[Path], session: SparkSession
) -> None:
    """Each with rows of all that it can be of; only outliers have peers."""
    paths = hosts if name == "outliers" else few
    agree(name, paths, session)
    column, values = TELLS.get(name, (None, None))
    if column is not None:
        with fleet_result(Question(name, Filters()), paths, LeftOut()) as result:
            assert set(result.table().column(column)) == values


def test_few_rows_are_not_cut_into_many_tasks_and_the_session_keeps_its_settings(
    few: list[Path], session: SparkSession
) -> None:
    name = "spark.sql.shuffle.partitions"
    own = session.conf.get(name)
    session.conf.set(name, "7")
    try:
        with spark_result(Question("threads", Filters()), few[-1:], LeftOut(), session):
            assert session.conf.get(name) == "1"
        assert session.conf.get(name) == "7"
    finally:
        session.conf.set(name, own)


def test_where_nothing_answers_it_is_a_problem() -> None:
    said = wrong("spark-silent", error="[Errno 111] Connection refused")
    with said, session_at("sc://127.0.0.1:1"):
        pass


def test_a_spark_without_hadoops_reader_says_what_it_lacks(
    few: list[Path], session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store(tmp_path / "said") as address:
        reach(monkeypatch, address)
        put(address, "lacking", few[-1])
        question, where = Question("syscalls", Filters()), places(["s3://lacking"])
        with (
            wrong("gathering-failed", name="found"),
            spark_result(question, where, LeftOut(), session),
        ):
            pass
