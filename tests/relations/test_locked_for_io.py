"""A wait for a locked block is a lock where a thread holds it, and I/O where the device does."""

import pytest

from iowhy.relations import Relations
from tests.reports.conftest import MS, T0, Make, request, wait

DISK, OTHER_DISK, FS = 8 << 20, 8 << 20 | 16, 8 << 20 | 1
US = MS // 1000


def read(at_ns: int, took_ns: int, **more: object) -> dict[str, object]:
    row = request(at_ns, took_ns)
    known = {"dev": DISK, "op": "read", "owner_kind": "metadata", "in_scope": True}
    times = {"queue_ns": T0 + at_ns, "issue_ns": T0 + at_ns, "complete_ns": T0 + at_ns + took_ns}
    return row | known | times | more


def locked(at_ns: int = 10 * MS, dur_ns: int = 8 * MS, **more: object) -> dict[str, object]:
    return wait(at_ns, dur_ns, "metadata_lock", syscall="getdents64") | {"dev": FS} | more


@pytest.mark.parametrize(
    ("waits", "requests", "expected"),
    [
        # Readahead began it before the wait, and its end ends the wait.
        (locked(), read(9 * MS, 8900 * US), "metadata_read"),
        (locked(), read(9 * MS, 8900 * US, op="write"), "stable_page"),
        (locked(), read(14 * MS, 3900 * US), "metadata_lock"),  # under way for less than half of it
        (locked(), read(13900 * US, 4 * MS), "metadata_read"),  # for half of it
        (locked(), read(9 * MS, 7900 * US), "metadata_lock"),  # 1.1 ms before its end
        (locked(), read(9 * MS, 9100 * US), "metadata_lock"),  # it went on after the wait
        (locked(), read(9 * MS, 9 * MS), "metadata_read"),  # at its very end
        (locked(), read(9 * MS, 8900 * US, dev=OTHER_DISK), "metadata_lock"),
        (locked(), read(9 * MS, 8900 * US, owner_kind="data"), "metadata_lock"),
        (locked(), read(9 * MS, 8900 * US, complete_ns=None), "metadata_lock"),
        # Another process's read of the same filesystem: the block is locked for that.
        (locked(), read(9 * MS, 8900 * US, in_scope=False), "metadata_read"),
        # A call without a file: the command's own requests, or the filesystem's, and no others'.
        (locked(dev=None), read(9 * MS, 8900 * US), "metadata_read"),
        (locked(dev=None), read(9 * MS, 8900 * US, in_scope=None), "metadata_read"),
        (locked(dev=None), read(9 * MS, 8900 * US, in_scope=False), "metadata_lock"),
        # Another reason stays what it is.
        (locked(reason="inode_lock"), read(9 * MS, 8900 * US), "inode_lock"),
    ],
)
def test_what_is_waited_for(
    make: Make, waits: dict[str, object], requests: dict[str, object], expected: str
) -> None:
    filesystem = {"dev": FS, "kind": "xfs", "mount": "/srv", "options": "rw", "disk_dev": DISK}
    tables = {"waits": [waits], "block_requests": [requests], "filesystems": [filesystem]}
    with Relations(make(tables)) as opened:
        (row,) = opened.rows("SELECT reason, class FROM _waits_to_divide")
        devices = opened.rows("SELECT dev FROM waited_devices")
    classes = {"metadata_read": "read", "stable_page": "write"}
    assert row == (expected, classes.get(expected, "lock"))
    # The device of a wait for I/O is waited for; a lock waits for none.
    of_disk = expected in classes and waits["dev"] is not None
    assert ((DISK,) in devices) is of_disk


def test_without_requests_a_lock_is_a_lock(make: Make) -> None:
    with Relations(make({"waits": [locked()]})) as opened:
        assert opened.rows("SELECT reason, class FROM _waits_to_divide") == [
            ("metadata_lock", "lock")
        ]
