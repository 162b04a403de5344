"""The waterfall of the slowest calls: below each stands what that call waited for, and nothing that only was at the same time."""

from iowhy.recordings import Recording
from tests.page.test_recording_page import all_drawn
from tests.reports.conftest import MS, Make, call, filesystem, request, wait


def below(recording: Recording) -> dict[str, list[tuple[object, int]]]:
    """Flushes and journal commits below each call, by its name: what, and after how many milliseconds."""
    chart = all_drawn(recording)["slowest-calls"]
    rows = [dict(zip(chart.columns, values, strict=True)) for values in chart.rows]
    names = {row["call"]: str(row["what"]) for row in rows if row["layer"] == "call"}
    found: dict[str, list[tuple[object, int]]] = {name: [] for name in names.values()}
    for row in rows:
        if row["layer"] in ("flush", "journal"):
            found[names[row["call"]]].append((row["what"], int(row["begin_ns"]) // MS))
    return found


def commit(at_ns: int, dur_ns: int, dev: int = 1) -> dict[str, object]:
    return {
        "ts_ns": call(at_ns, 0, "")["ts_ns"],
        "dur_ns": dur_ns,
        "dev": dev,
        "kind": "jbd2",
    }


def test_flushes_and_commits_are_below_calls_that_wait_for_them(make: Make) -> None:
    """Two filesystems, on loop0 over vda and on vdb; a pipe, a page read, a rename and syncs at the same time."""
    shared = {"owner_dev": None, "owner_ino": None, "in_scope": None}
    rec = make(
        {
            "filesystems": [filesystem(disk=70), filesystem(disk=90, dev=5)],
            "devices": [
                {"dev": 70, "name": "loop0", "below_dev": 80},
                {"dev": 80, "name": "vda"},
                {"dev": 90, "name": "vdb"},
            ],
            "syscalls": [
                call(0, 900 * MS, "read", dev=14, tid=11),
                call(0, 800 * MS, "pread64", tid=12),
                call(0, 700 * MS, "rename", tid=13),
                call(0, 100 * MS, "fsync"),
                call(100 * MS, 100 * MS, "fdatasync", dev=5, ino=6),
                call(500 * MS, 100 * MS, "sync", dev=None, ino=None),
                call(200 * MS, 50 * MS, "write"),
            ],
            "waits": [
                wait(0, 800 * MS, "page_read", tid=12, syscall="pread64"),
                wait(300 * MS, 20 * MS, "journal_space", tid=13, syscall="rename"),
                wait(210 * MS, 30 * MS, "device_flush", syscall="write"),  # O_DSYNC
            ],
            "block_requests": [
                request(10 * MS, MS),
                request(50 * MS, 10 * MS, "flush", dev=70, **shared),
                request(51 * MS, 8 * MS, "flush", dev=80, **shared),
                request(52 * MS, 8 * MS, "flush", dev=90, owner_dev=5, owner_ino=6),
                request(53 * MS, 8 * MS, "flush", dev=80, **(shared | {"in_scope": False})),
                request(150 * MS, 10 * MS, "flush", dev=90, owner_dev=5, owner_ino=6),
                request(220 * MS, 10 * MS, "flush"),
                request(550 * MS, 10 * MS, "flush"),
                request(551 * MS, 10 * MS, "flush", dev=90, owner_dev=5, owner_ino=6),
            ],
            "journal_commits": [
                commit(40 * MS, 30 * MS),
                commit(45 * MS, 30 * MS, dev=5),
                commit(310 * MS, 30 * MS),
                commit(650 * MS, 20 * MS),
            ],
        }
    )  # fmt: skip
    assert below(rec) == {
        "read": [],
        "pread64": [],
        "rename": [("journal commit", 310)],
        "fsync": [("flush of loop0", 50), ("flush of vda", 51), ("journal commit", 40)],
        "fdatasync": [("flush of vdb", 50)],
        "sync": [("flush of vda", 50), ("flush of vdb", 51)],
        "write": [("flush of vda", 20)],
    }


def test_a_call_on_a_pipe_is_none_of_the_slowest(make: Make) -> None:
    """It waits for another process; a file of the same inode number, on its filesystem, stays."""
    on_pipe = call(0, 900 * MS, "read") | {"dev": 14, "ino": 5}
    on_file = call(MS, MS, "read") | {"dev": 1, "ino": 5}
    files = [
        {"dev": 14, "ino": 5, "path": "pipe:[5]", "kind": "pipe"},
        {"dev": 1, "ino": 5, "path": "/file", "kind": "file"},
    ]
    chart = all_drawn(make({"syscalls": [on_pipe, on_file], "files": files}))["slowest-calls"]
    rows = [dict(zip(chart.columns, values, strict=True)) for values in chart.rows]
    assert [(row["path"], row["dur_ns"]) for row in rows] == [("/file", MS)]


def test_flushes_of_the_log_s_disk_and_of_an_array_s_disks_are_below_a_sync(make: Make) -> None:
    """A filesystem on an array of two disks, its log on a third (XFS: who syncs writes to it); another's disk stays out."""
    shared = {"owner_dev": None, "owner_ino": None, "in_scope": None}
    rec = make(
        {
            "filesystems": [filesystem(disk=9), filesystem(disk=90, dev=5)],
            "devices": [
                {"dev": dev, "name": name}
                for dev, name in ((9, "md0"), (80, "vda"), (81, "vdb"), (85, "vdc"), (90, "vdd"))
            ],
            "device_layers": [{"dev": 9, "below_dev": 80}, {"dev": 9, "below_dev": 81}],
            "syscalls": [call(0, 100 * MS, "fsync"), call(0, MS, "write", dev=5, ino=6, tid=11)],
            "block_requests": [
                *(request(5 * MS, MS, dev=dev) for dev in (9, 80, 81)),
                request(20 * MS, MS, dev=85, owner_dev=None, owner_ino=None),
                request(20 * MS, MS, dev=90, owner_dev=5, owner_ino=6),
                *(
                    request(at * MS, 8 * MS, "flush", dev=dev, **shared)
                    for at, dev in ((50, 9), (51, 80), (52, 81), (62, 90))
                ),
                request(60 * MS, 8 * MS, "flush", dev=85, **(shared | {"in_scope": True})),
            ],
        }
    )
    assert below(rec)["fsync"] == [
        ("flush of md0", 50),
        ("flush of vda", 51),
        ("flush of vdb", 52),
        ("flush of vdc", 60),
    ]
