"""What a process serves: sleeps and waits in calls on its files, and their part of all such."""

import pytest

from iowhy.relations import Relations
from tests.reports.conftest import MS, Make, call, file, wait


def test_of_which_filesystem_and_what_part(make: Make) -> None:
    far = {"dev": 9}
    rec = make(
        {
            "files": [file(2, "/srv/a"), file(2, "/far/a", dev=9)],
            "filesystems": [
                {"dev": dev, "kind": kind, "mount": mount, "options": "rw"}
                for dev, kind, mount in (
                    (1, "ext4", "/srv"),
                    (9, "fuse", "/far"),
                    (10, "nfs4", "/nfs"),
                )
            ],
            "syscalls": [
                call(0, 3 * MS, "read", blocked_ns=0, sleeping_ns=3 * MS) | far,
                call(0, MS, "read", blocked_ns=0, sleeping_ns=MS),
            ],
            "waits": [
                wait(0, MS, "page_read", syscall="read", ino=2) | far,
                wait(MS, 4 * MS, "page_read", syscall="read", ino=2, dev=1),
                wait(6 * MS, MS, "fuse", syscall="newfstatat", ino=None, dev=None),
                wait(7 * MS, MS, "network_filesystem", syscall="close", ino=None, dev=None),
                wait(8 * MS, 2 * MS, "page_writeback", syscall="fsync", ino=2, dev=10),
            ],
        }
    )
    with Relations(rec) as relations:
        rows = relations.rows(
            "SELECT syscall, reason, dev, served_by, waits, total_ns, part FROM served_waits ORDER BY 1, 2"
        )
    assert rows == [
        ("close", "network_filesystem", None, "server", 1, MS, 1.0),
        ("fsync", "page_writeback", 10, "server", 1, 2 * MS, 1.0),
        ("newfstatat", "fuse", 9, "process", 1, MS, 1.0),
        ("read", "page_read", 9, "process", 1, MS, 0.2),
        ("read", None, 9, "process", 1, 3 * MS, 0.75),
    ]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["ext4", "fuse.sshfs"], (2, "process")),
        (["ext4", "fuse.sshfs", "nfs4"], (2, "process")),
        (["fuse", "fuse.sshfs"], (None, "process")),
        (["fuse", "virtiofs"], (None, "process")),
        (["virtiofs"], (1, "server")),
        (["ext4"], (None, "process")),
    ],
)
def test_a_call_on_names_has_no_file_and_may_mean_only_one(
    make: Make, kinds: list[str], expected: tuple[int | None, str]
) -> None:
    rec = make(
        {
            "filesystems": [
                {"dev": dev, "kind": kind, "mount": f"/{dev}", "options": "rw"}
                for dev, kind in enumerate(kinds, 1)
            ],
            "waits": [wait(0, MS, "fuse", syscall="newfstatat", ino=None, dev=None)],
        }
    )
    with Relations(rec) as relations:
        assert relations.rows("SELECT dev, served_by FROM served_waits") == [expected]


@pytest.mark.parametrize(
    ("opened", "syscall", "expected"),
    [
        ([1], "close", 1),
        ([1], "exit_group", 1),
        ([1], None, 1),
        # A name need not be of what is open.
        ([1], "newfstatat", None),
        ([1, 2], "close", None),
        ([], "close", None),
    ],
)
def test_what_is_closed_was_opened_before(
    make: Make, opened: list[int], syscall: str | None, expected: int | None
) -> None:
    rec = make(
        {
            "filesystems": [
                {"dev": dev, "kind": "fuse.sshfs", "mount": f"/{dev}", "options": "rw"}
                for dev in (1, 2)
            ],
            "syscalls": [call(dev * MS, MS, "openat") | {"dev": dev} for dev in (*opened, 7)],
            "waits": [wait(9 * MS, MS, "fuse", syscall=syscall, ino=None, dev=None)],
        }
    )
    with Relations(rec) as relations:
        rows = relations.rows("SELECT dev, served_by FROM served_waits WHERE reason = 'fuse'")
    assert rows == [(expected, "process")]
