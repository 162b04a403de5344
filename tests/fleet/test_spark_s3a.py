"""Reports of a fleet in an object store, whose rows a Spark Connect server reads by s3a: they are DuckDB's of the same."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from iowhy.fleet.members import LeftOut
from iowhy.fleet.on_spark import session_at
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.recordings import open_recording
from tests.fleet.hosts import write_fleet
from tests.fleet.spark_connect import spark_connect
from tests.object_store import KEYS, object_store, put, reach
from tests.reports.test_spark import agree

#: `tools/s3a` fetches them.
JARS = Path(__file__).parents[2] / "target" / "packages" / "s3a"
LOOSE, PACKS = "s3://fleet/kept/date=2025-11-01", "s3://fleet/packs"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Three hosts on two days, the second one in packs; what one of them recorded broke off."""
    top = tmp_path_factory.mktemp("top")
    write_fleet(top / "kept", 3, (0, 1))
    for one in places([str(top / "kept" / "*" / "host=web002")]):
        manifest = open_recording(one).manifest
        ended = replace(manifest, command=replace(manifest.command, end_ns=None))
        (one / "manifest.json").write_text(ended.as_json())
    list(pack_fleet(places([str(top / "kept" / "date=2025-11-02")]), top / "packs", LeftOut()))
    with object_store(tmp_path_factory.mktemp("moto") / "said") as address:
        put(address, "fleet", top)
        yield address


@pytest.fixture(autouse=True)
def reached(store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reach(monkeypatch, store)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def session(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    jars = sorted(map(str, JARS.glob("*.jar")))
    if not jars:
        missing = "Spark reads no object store: tools/s3a"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    settings = {
        "spark_jars": ",".join(jars),
        "spark_hadoop_fs_s3a_endpoint": store,
        "spark_hadoop_fs_s3a_endpoint_region": KEYS["AWS_REGION"],
        "spark_hadoop_fs_s3a_path_style_access": "true",
        "spark_hadoop_fs_s3a_access_key": KEYS["AWS_ACCESS_KEY_ID"],
        "spark_hadoop_fs_s3a_secret_key": KEYS["AWS_SECRET_ACCESS_KEY"],
    }
    with (
        spark_connect(tmp_path_factory.mktemp("connect"), **settings) as url,
        session_at(url) as made,
    ):
        yield made


@pytest.mark.parametrize("name", ["syscalls", "causes"])
def test_rows_are_read_where_they_are_stored(name: str, session: SparkSession) -> None:
    where = places([LOOSE, PACKS])
    assert len(where) == 6
    agree(name, where, session)
