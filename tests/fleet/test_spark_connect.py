"""Reports of a fleet on a real Spark Connect server: the rows are DuckDB's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from iowhy.errors import Problem
from iowhy.fleet.fleet_reports import fleet_reports
from iowhy.fleet.on_spark import session_at
from iowhy.fleet.places import places
from iowhy.recording import Recording
from tests.fleet.hosts import write_fleet
from tests.fleet.spark_connect import spark_connect
from tests.reports.test_spark import agree


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


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Nine hosts on two days, the disk of one 3 times slower."""
    folder = tmp_path_factory.mktemp("hosts")
    write_fleet(folder, 9, (0, 1), slow=3)
    return places([str(folder)])


@pytest.mark.parametrize("name", sorted(fleet_reports().keys() - {"trend"}))
def test_reports_of_fleets_agree(name: str, hosts: list[Path], session: SparkSession) -> None:
    agree(name, hosts, session)


def test_where_nothing_answers_it_is_a_problem() -> None:
    with pytest.raises(Problem, match="Connection refused"), session_at("sc://127.0.0.1:1"):
        pass
