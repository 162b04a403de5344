"""Files of RocksDB and MongoDB are named by what their owners keep next to them, without a server."""

import shutil
from pathlib import Path

import pytest

from iowhy.recordings import open_recording
from iowhy.reports import run as report
from machine import record

pytestmark = pytest.mark.usefixtures("live")

KEPT = Path(__file__).resolve().parents[2] / "readings/tests/catalogues"


def test_column_families_collections_and_indexes_are_named(tmp_path: Path) -> None:
    expected = {
        "rocks/000014.sst": "column family users, level 6",
        "rocks/000099.sst": "sorted table",
        "mongo/collection-4--77.wt": "shop.orders2",
        "mongo/shop/collection-8--77.wt": "shop.orders4",
        "mongo/index-3--77.wt": "_id_ (index of shop.orders1)",
        "mongo/index-1--78.wt": "index",
    }
    files = [tmp_path / name for name in expected]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 5000)
    shutil.copy(KEPT / "MANIFEST-000005", tmp_path / "rocks")
    (tmp_path / "rocks/CURRENT").write_text("MANIFEST-000005\n")
    shutil.copy(KEPT / "snappy.wt", tmp_path / "mongo/_mdb_catalog.wt")
    out = tmp_path / "r.iowhy"
    record(["cat", *files], out)
    made = open_recording(out)
    rows = {row["path"]: row["object"] for row in report(made, "files").to_pylist()}
    assert {str(file): rows.get(str(file)) for file in files} == {
        str(tmp_path / name): object_ for name, object_ in expected.items()
    }
    assert not made.manifest.notes
