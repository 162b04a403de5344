"""What files of databases are by their names alone."""

from pathlib import Path

from iowhy.reports import run
from tests.whys.made import START, Story

#: Names that rocksdict 0.3.29 gave.
ROCKSDB = {
    "000009.sst": "sorted table",
    "000010.log": "write-ahead log",
    "MANIFEST-000005": "list of sorted tables",
    "OPTIONS-000007": "settings",
    "CURRENT": None,
    "IDENTITY": None,
    "LOCK": None,
    "LOG": None,
}
#: Names as MongoDB is known to give them; no server gave these.
MONGODB = {
    "collection-7-4081936412.wt": "collection",
    "shop/index-8-4081936412.wt": "index",
    "index-5c1f7f5e-4f0f-4a3e-9d5e-0c4b5a1e7f10.wt": "index",
    "_mdb_catalog.wt": "catalogue of collections",
    "WiredTiger.wt": "catalogue of collections",
    "WiredTigerHS.wt": "older versions of documents",
    "journal/WiredTigerLog.0000000003": "journal",
    "journal/WiredTigerPreplog.0000000001": "journal",
    "diagnostic.data/metrics.interim": None,
}


def test_files_of_rocksdb_and_mongodb_are_known_without_their_servers(tmp_path: Path) -> None:
    expected = {f"/rocks/{name}": object_ for name, object_ in ROCKSDB.items()}
    expected |= {f"/mongo/{name}": object_ for name, object_ in MONGODB.items()}
    story = Story(1.0).thread(20, 20)
    for ino, path in enumerate(expected, 100):
        story.file(ino, path)
        story.call(START + ino, "pread64", {"cpu_ns": 1}, tid=20, ino=ino, offset=0, bytes_=9)
    made = story.made(tmp_path / "x.iowhy")
    files = {row["path"]: row["object"] for row in run(made, "files").to_pylist()}
    assert files == expected
