"""The recorder's memory and its work for each call have bounds, stated in docs/promises.md, whatever the command does."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.recorder import programs_counted
from benchmarks.workloads import preads
from iowhy.recordings import Recording
from machine import one, record, run, work

#: Rows wait in memory for a disk that others keep busy, and are lost when the recorder gets no CPU.
pytestmark = [
    pytest.mark.usefixtures("live", "before_others"),
    pytest.mark.alone,
    pytest.mark.disturbed_by("cpu", "disk"),
]

# While the disk takes the recording; rows that wait for a slower one come on top.
BOUND_BYTES = 512 * 2**20
FILES = 200_000
THREADS = 10_000
READS = 200_000


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A filesystem in memory: many files are made quickly there."""
    folder = tmp_path / "memory"
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", str(folder))
    yield folder
    run("umount", str(folder))


def peak_bytes(recording: Recording) -> int:
    peak = recording.manifest.recorder.memory_peak_bytes
    assert peak is not None
    return peak


def test_many_files(memory: Path, tmp_path: Path) -> None:
    command = work(
        *("smallfiles", "--dir", memory / "files", "--sync", "none"),
        *("--bytes", str(FILES), "--file-bytes", "1"),
    )
    recording = record(command, tmp_path / "a.iowhy")
    assert peak_bytes(recording) < BOUND_BYTES
    assert one(recording, "SELECT count(*) FROM syscalls WHERE name = 'write' AND ret = 1") == FILES
    # Each file is told by name, or counted as one that is not.
    named = one(
        recording, "SELECT count(DISTINCT ino) FROM files WHERE starts_with(path, ?)", str(memory)
    )
    lost = {name: table.lost for name, table in recording.manifest.tables.items() if table.lost}
    assert set(lost) <= {"files"}, lost
    assert isinstance(named, int) and named <= FILES <= named + lost.get("files", 0)


def test_many_threads(memory: Path, tmp_path: Path) -> None:
    command = work("threads", "--count", str(THREADS), "--file", memory / "file")
    recording = record(command, tmp_path / "a.iowhy")
    assert peak_bytes(recording) < BOUND_BYTES
    # Calls that do no I/O are counted in the kernel by thread and number: so many threads at once are
    # more than it has room for when the recorder is late to empty it.
    lost = {name: table.lost for name, table in recording.manifest.tables.items() if table.lost}
    assert set(lost) <= {"syscall_totals"}, lost
    assert one(recording, "SELECT count(DISTINCT tid) FROM threads") == THREADS + 1
    assert (
        one(
            recording,
            "SELECT count(DISTINCT tid) FROM syscalls WHERE name = 'pwrite64' AND ret = 4096",
        )
        == THREADS
    )
    # They were all there at once: the last began before the first ended.
    assert one(recording, "SELECT max(start_ns) < min(end_ns) FROM threads WHERE tid <> tgid"), (
        "the threads did not run at once"
    )


def test_a_cached_read_passes_three_programs(tmp_path: Path) -> None:
    """Two at the call, one for its page: what a call costs is bounded by their number, on any machine."""
    (tmp_path / "cached").write_bytes(bytes(1 << 20))
    stats = tmp_path / "programs.json"
    with programs_counted():
        record(preads(tmp_path, READS), tmp_path / "a.iowhy", "--program-stats", str(stats))
    runs = {row["name"]: row["runs"] for row in json.loads(stats.read_text())}
    often = {name: count / READS for name, count in runs.items() if count > READS / 2}
    # Others on the machine pass those of calls, too.
    assert set(often) == {"on_sys_enter", "on_sys_exit", "on_get_pages"}, runs
    assert all(1 <= count < 2 for count in often.values()), often
