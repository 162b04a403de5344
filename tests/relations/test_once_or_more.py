"""Relations that group only what is there more than once, or by numbers, against all rows grouped plainly."""

from hypothesis import given
from hypothesis import strategies as st

from iowhy.relations import Relations
from tests.examples import costly
from tests.reports.conftest import MS, T0, Make, call, file

#: Few files, so that some have one row and some have several; of None all are counted together.
PAGES = st.lists(
    st.builds(
        lambda at, of, lookups, misses, dirtied, estimated: {
            "ts_ns": T0 + at * MS,
            "interval_ns": MS,
            "dev": of and 1,
            "ino": of,
            "lookup_pages": lookups,
            "demand_miss_pages": misses,
            "dirtied_pages": dirtied,
            "estimated": estimated,
        },
        st.integers(0, 9),
        st.sampled_from([None, 1, 2, 3, 4, 5]),
        st.none() | st.integers(0, 9),
        st.none() | st.integers(0, 9),
        st.none() | st.integers(0, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)
FILES = st.lists(
    st.builds(
        lambda ino, path, kind, size: file(ino, path, kind) | {"size_bytes": size},
        st.integers(1, 5),
        st.sampled_from([None, "/a", "/b"]),
        st.sampled_from(["file", "pipe", "directory"]),
        st.none() | st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)
CALLS = st.lists(
    st.builds(
        lambda at, name, tid, ino, ret: call(
            at * MS, MS, name, tid, tgid=tid, ino=ino, dev=1, ret=ret
        ),
        st.integers(0, 9),
        st.sampled_from(["read", "write", "fsync", "openat", "sendfile", "readahead", "other"]),
        st.sampled_from([10, 20, 30, 40]),
        st.sampled_from([None, 1, 2, 3]),
        st.sampled_from([None, -5, 0, 100]),
    ),
    min_size=1,
    max_size=12,
)
#: Of one process the container is not known.
CONTAINERS = {10: "", 20: "id-b", 30: "id-a", 40: None}


@costly(6)
@given(PAGES)
def test_pages_of_a_file(make: Make, pages: list[dict[str, object]]) -> None:
    with Relations(make({"page_cache": pages})) as opened:
        found = opened.rows(
            "SELECT dev, ino, lookup_pages, miss_pages, hit_pages, dirtied_pages, estimated FROM file_cache ORDER BY ALL"
        )
        expected = opened.rows(
            """SELECT dev, ino, sum(lookup_pages), sum(demand_miss_pages), sum(hit_pages), sum(dirtied_pages),
            bool_or(estimated) FROM cache_counts GROUP BY dev, ino ORDER BY ALL"""
        )
    assert found == expected


@costly(6)
@given(FILES)
def test_files(make: Make, files: list[dict[str, object]]) -> None:
    with Relations(make({"files": files})) as opened:
        found = opened.rows("SELECT dev, ino, path, kind, size_bytes FROM named_files ORDER BY ALL")
        expected = opened.rows(
            "SELECT dev, ino, max(path), max(kind), max(size_bytes) FROM files GROUP BY dev, ino ORDER BY ALL"
        )
    assert found == expected


@costly(6)
@given(CALLS, FILES)
def test_calls_on_a_file(
    make: Make, calls: list[dict[str, object]], files: list[dict[str, object]]
) -> None:
    tables = {
        "syscalls": calls,
        "files": files,
        "threads": [
            {"tid": tid, "tgid": tid, "comm": "c", "container": name, "start_ns": T0}
            for tid, name in CONTAINERS.items()
        ],
        "containers": [
            {"id": "id-a", "name": "first", "cgroup": "/a"},
            {"id": "id-b", "name": "second", "cgroup": "/b"},
        ],
    }
    with Relations(make(tables)) as opened:
        found = opened.rows("SELECT * FROM file_calls ORDER BY ALL")
        expected = opened.rows(_CALLS)
        kinds = opened.rows(
            "SELECT name, file_kind, sum(calls) FROM calls_by_filesystem GROUP BY ALL ORDER BY ALL"
        )
        of_rows = opened.rows(
            """SELECT s.name, coalesce(f.kind, 'file') AS kind, count(*) FROM syscalls s
            LEFT JOIN named_files f ON f.dev = s.dev AND f.ino = s.ino GROUP BY ALL ORDER BY ALL"""
        )
    assert found == expected
    assert kinds == of_rows


_CALLS = """SELECT s.dev, s.ino, count(*),
    count(CASE WHEN k.kind IN ('read', 'write', 'copy') AND s.name <> 'readahead' THEN 1 END),
    sum(s.dur_ns), sum(CASE WHEN k.kind = 'sync' THEN s.dur_ns ELSE 0 END), sum(s.blocked_ns),
    sum(CASE WHEN k.kind = 'read' AND s.ret > 0 THEN s.ret ELSE 0 END),
    sum(CASE WHEN k.kind = 'copy' AND s.ret > 0 THEN s.ret ELSE 0 END),
    sum(CASE WHEN k.kind = 'write' AND s.ret > 0 THEN s.ret ELSE 0 END),
    min(CASE WHEN p.in_none THEN '' ELSE p.container END), max(CASE WHEN p.in_none THEN '' ELSE p.container END)
FROM syscalls s LEFT JOIN call_kinds k ON k.name = s.name LEFT JOIN named_processes p ON p.tgid = s.tgid
WHERE s.ino IS NOT NULL GROUP BY s.dev, s.ino ORDER BY ALL"""
