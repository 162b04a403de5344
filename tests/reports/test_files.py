"""What each file was asked for, and what that cost."""

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, call, file, request, stacked


def test_files(make: Make) -> None:
    rows = {r["path"]: r for r in run(stacked(make), "files").to_pylist()}
    assert set(rows) == {"/mnt/a", "/dev/zero"}  # no pipe, and no file that only others use
    row = rows["/mnt/a"]
    assert (row["calls"], row["time_ns"], row["sync_ns"]) == (5, 9 * MS, 5 * MS)
    assert (row["read_bytes"], row["written_bytes"]) == (50, 8192)
    assert (row["requests"], row["request_bytes"], row["mean_request_bytes"]) == (1, 8192, 8192)
    assert (row["lookup_pages"], row["miss_pages"], row["dirtied_pages"]) == (4, 1, 2)
    assert (row["extents_before"], row["extents_after"]) == (None, None)


def test_files_without_sensors(make: Make) -> None:
    rec = make({"syscalls": [call(0, MS, "read", ret=5)]}, without=["block_requests", "lookups"])
    (row,) = run(rec, "files").to_pylist()
    assert (row["read_bytes"], row["requests"], row["lookup_pages"]) == (5, None, None)
    assert row["dirtied_pages"] == 0


def pages(ino: int, **counts: int) -> dict[str, object]:
    """A row of page_cache."""
    row: dict[str, object] = {"ts_ns": T0, "interval_ns": MS, "tgid": 10, "dev": 1, "ino": ino}
    return row | {"estimated": False} | counts


def test_what_no_call_tells_was_asked_is_unknown_not_nothing(make: Make) -> None:
    direct = {"owner_page": None, "bytes": 1 << 20}
    rec = make(
        {
            "files": [file(n, f"/srv/{n}") for n in range(2, 9)],
            "syscalls": [
                *(call(0, MS, "openat", ino=n, ret=3) for n in range(2, 8)),
                call(MS, MS, "read", ino=5, ret=832),
                call(MS, MS, "copy_file_range", ino=6, ret=1 << 20),
                call(MS, MS, "pread64", ino=8, ret=(1 << 20) - 3000),
            ],
            "page_cache": [pages(3, minor_faults=1), pages(7, dirtied_pages=256)],
            "block_requests": [
                request(MS, MS, "read", owner_ino=4, **direct),  # libaio alone
                request(MS, MS, "read", owner_ino=5, **direct),  # and one read beside it
                request(MS, MS, "read", owner_ino=8, **direct),  # O_DIRECT, up to the end
            ],
        }
    )
    asked = {r["path"]: r["asked_bytes"] for r in run(rec, "files").to_pylist()}
    assert asked == {
        "/srv/2": 0,  # opened, no more
        "/srv/3": None,  # mapped
        "/srv/4": None,
        "/srv/5": None,
        "/srv/6": 1 << 20,
        "/srv/7": None,  # what a copy went to
        "/srv/8": (1 << 20) - 3000,
    }


def test_files_that_come_and_go_under_one_path_are_one_row(make: Make) -> None:
    rec = make(
        {
            "files": [
                *({**file(n, "/srv/db-journal"), "deleted": n < 4} for n in (2, 3, 4)),
                file(5, None),
                file(6, None),
            ],
            "syscalls": [call(n * MS, MS, "write", ino=n, ret=100) for n in (2, 3, 4, 5, 6)],
            "block_requests": [
                request(9 * MS, MS, owner_ino=2, owner_page=0),
                request(9 * MS, 3 * MS, owner_ino=3, owner_page=0, sector=8),
            ],
        }
    )
    rows = run(rec, "files").to_pylist()
    first = rows[0]
    assert (first["path"], first["inodes"], first["ino"], first["deleted"]) == (
        "/srv/db-journal",
        3,
        None,
        False,
    )
    assert (first["calls"], first["asked_bytes"], first["requests"]) == (3, 300, 2)
    assert (first["request_ns"], first["jump_share"]) == (4 * MS, 0)
    assert [(r["path"], r["ino"]) for r in rows[1:]] == [(None, 5), (None, 6)]


def test_the_file_that_does_the_io_comes_first(make: Make) -> None:
    """Its time in calls is nothing where it is read through mapped memory or asynchronous calls."""
    rec = make(
        {
            "files": [file(2, "/sys/stat"), file(3, "/srv/data")],
            "syscalls": [call(0, 2 * MS, "read", ret=100)],
            "block_requests": [request(n * MS, MS, "read", owner_ino=3) for n in range(5)],
        }
    )
    assert [r["path"] for r in run(rec, "files").to_pylist()] == ["/srv/data", "/sys/stat"]


def test_the_container_of_a_file_is_that_of_the_processes_that_call_on_it(make: Make) -> None:
    def process(tgid: int, container: str) -> dict[str, object]:
        return {"tid": tgid, "tgid": tgid, "comm": "c", "start_ns": T0, "container": container}

    rec = make(
        {
            "threads": [process(10, "c1"), process(20, "c2"), process(30, "")],
            "containers": [{"id": "c1", "name": "web", "cgroup": "/a"}, {"id": "c2", "cgroup": "/b"}],
            "files": [file(n, f"/srv/{n}") for n in (2, 3, 4, 5, 6)],
            "syscalls": [
                call(n * MS, MS, "read", tid=tgid, ino=ino, ret=1) | {"tgid": tgid}
                for n, (tgid, ino) in enumerate([(10, 2), (10, 6), (30, 2), (10, 3), (20, 3), (20, 4), (30, 5)])
            ],
        }
    )  # fmt: skip
    found = {r["path"]: r["container"] for r in run(rec, "files").to_pylist()}
    # 2 is read by one that is in none as well, 3 by two of them.
    assert found == {"/srv/2": None, "/srv/3": None, "/srv/4": "c2", "/srv/5": "", "/srv/6": "web"}
