"""A limit of the control group is told of the device that it holds for, and by the verdict only where the command used that."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.relations import Relations
from iowhy.whys.verdict import judge
from machine import disk_number, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

BYTES, RATE = 16 * 2**20, 10 * 2**20


@contextmanager
def group(disk: int) -> Iterator[Path]:
    """The processes of a group that may read little from one disk."""
    old, new = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup/cgroup.controllers")
    if not old.is_dir() and "io" not in (new.read_text().split() if new.exists() else ()):
        pytest.skip("no control group has limits of reads here")
    root = old if old.is_dir() else new.parent
    made = root / f"iowhy-test-{os.getpid()}"
    number = f"{disk >> 20}:{disk & 0xFFFFF}"
    made.mkdir()
    try:
        if old.is_dir():
            (made / "blkio.throttle.read_bps_device").write_text(f"{number} {RATE}")
        else:
            (made / "io.max").write_text(f"{number} rbps={RATE}")
        yield made / "cgroup.procs"
    finally:
        made.rmdir()


@pytest.mark.disturbed_by("cpu", "disk")
def test_a_limit_of_the_device_that_it_reads_and_one_of_another(tmp_path: Path) -> None:
    limited, free = tmp_path / "limited", tmp_path / "free"
    for folder in (limited, free):
        folder.mkdir()
    with filesystem("ext4", limited) as slow, filesystem("ext4", free) as quick:
        for scratch in (slow, quick):
            (scratch.mount / "file").write_bytes(os.urandom(BYTES))
        run("sync")
        with group(disk_number(slow.disk)) as processes:
            found = {}
            for scratch in (slow, quick):
                read = f"dd if={scratch.mount}/file of=/dev/null bs=4k iflag=direct"
                command = ["sh", "-c", f"echo $$ > {processes}; sleep 0.3; exec {read}"]
                found[scratch.disk] = record(command, tmp_path / f"{scratch.disk}.iowhy")
    for scratch in (slow, quick):
        with Relations(found[scratch.disk]) as relations:
            rows = relations.rows(
                "SELECT dev, read_limit_bytes_per_s, read_bytes FROM device_limits"
            )
        # The same limit is seen in both.
        assert rows == [(disk_number(slow.disk), RATE, BYTES if scratch is slow else 0)]
    verdict = judge(found[slow.disk])
    first = verdict.findings[0]
    assert first.cause == "io-throttled"
    said = " ".join(link.statement for link in first.chain)
    assert f"the control group may read 10.5 MB/s from {slow.disk}" in said
    other = str(judge(found[quick.disk]))
    assert "the control group may" not in other and "lift the limit" not in other
