"""What the kernel's flusher writes back: every page once, and told apart by why it was written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from disturbances import Disturbed
from iowhy.undo import Undo
from machine import ask, filesystem, one, python, record

#: Knobs of the machine are set meanwhile.
pytestmark = [pytest.mark.usefixtures("live"), pytest.mark.alone]

VM = Path("/proc/sys/vm")
PAGES = 4_099
#: Dirties pages, gives the flusher some seconds, and writes the rest itself.
DIRTY = f"""
import os, sys, time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range({PAGES}): os.write(fd, bytes(4096))
time.sleep(float(sys.argv[2]))
os.sync()
"""


@contextmanager
def knobs(**values: int) -> Iterator[None]:
    """Sets vm.* for a while. Of a pair of knobs in bytes and in percent, the one that holds is put back."""
    with Undo.session("test-writeback") as undo:
        for name, value in values.items():
            holds = VM / name
            if name.endswith("_bytes") and int(holds.read_text()) == 0:
                holds = VM / (name.removesuffix("_bytes") + "_ratio")
            undo.write_file(holds)
            (VM / name).write_text(str(value))
        yield


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
@pytest.mark.parametrize(
    ("reason", "settings", "seconds"),
    [
        ("periodic", {"dirty_expire_centisecs": 30, "dirty_writeback_centisecs": 20}, "1.5"),
        ("background", {"dirty_background_bytes": 1 << 20}, "0.7"),
    ],
)
def test_each_page_is_written_once_and_for_a_reason(
    tmp_path: Path, kind: str, reason: str, settings: dict[str, int], seconds: str
) -> None:
    # The knobs first: the timer of the flusher is set when the filesystem is first written to.
    with knobs(**settings), filesystem(kind, tmp_path) as scratch:
        file = scratch.mount / "f"
        recording = record(python(DIRTY, file, seconds), tmp_path / "a.iowhy")
        ino = file.stat().st_ino
        # btrfs gives the files of each subvolume a device number of their own.
        pages = dict(
            ask(
                recording,
                "SELECT reason, sum(pages_written)::BIGINT FROM writeback"
                " WHERE dev = ? AND ino = ? GROUP BY 1",
                scratch.dev,
                ino,
            )
        )
        foreign = one(
            recording,
            "SELECT coalesce(sum(pages_written), 0) FROM writeback WHERE dev = ? AND ino = ?"
            " AND reason = 'sync' AND ts_ns < (SELECT max(ts_ns) FROM syscalls WHERE name = 'sync')",
            scratch.dev,
            ino,
        )
    assert sum(pages.values()) == PAGES, pages
    # The machine's own dirty pages may start the flusher, or another's sync, before it is time.
    assert set(pages) <= {reason, "background", "periodic", "sync"}, pages
    if foreign and pages.get(reason, 0) < max(pages.values()):
        raise Disturbed(f"another's sync wrote {foreign} pages before their time")
    if reason == "periodic":
        assert pages.get("periodic", 0) == max(pages.values()), pages
    else:
        assert pages.get("background", 0) > 0, pages
