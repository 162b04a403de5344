"""What storage refused or could not do is said; what programs ask for to see whether they may is not."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.recordings import Recording
from iowhy.whys.facts import facts_of
from iowhy.whys.failures import failures
from tests.numbers_told import tells

from .made import FILE, KIB, MS, START, Story

PARTS = {"cpu_ns": 1_000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}


def story(name: str, error: int, ino: int | None = FILE) -> Story:
    """A program whose last calls fail, 10 ms apart, the last of them 1.5 s before the end."""
    made = Story(2.0).thread(10, user=0.5, kernel=0.1)
    made.add("filesystems", dev=8 << 20 | 1, kind="ext4", mount="/data", options="rw", disk_dev=8 << 20,
             block_bytes=4096)  # fmt: skip
    made.file(102, "pipe:[7]", 0)
    made.tables["files"][-1]["kind"] = "pipe"
    for number, ret in enumerate((4 * KIB, -error, -error)):
        at = START + 480 * MS + number * 10 * MS - 1_000
        made.call(at, name, PARTS, tid=10, ino=ino, offset=0, bytes_=4 * KIB)
        made.tables["syscalls"][-1]["ret"] = ret
    return made


def ended(recording: Recording, status: int) -> Recording:
    manifest = recording.manifest
    return replace(
        recording, manifest=replace(manifest, command=replace(manifest.command, exit_status=status))
    )


def told(recording: Recording) -> tuple[str, ...]:
    with facts_of(recording) as facts:
        return failures(facts)


@pytest.mark.parametrize(
    ("name", "error", "always", "where_it_failed"),
    [
        ("write", 28, True, True),
        ("openat", 122, True, True),
        ("fsync", 5, True, True),
        ("ftruncate", 5, False, True),
        ("openat", 30, False, True),
        ("openat", 2, False, False),
        ("write", 11, False, False),
        # A limit of watches, which has nothing to do with room.
        ("inotify_add_watch", 28, False, False),
    ],
)
def test_which_errors_are_said(
    name: str, error: int, always: bool, where_it_failed: bool, tmp_path: Path
) -> None:
    made = story(name, error).made(tmp_path / "x.iowhy")
    for status, said in ((0, always), (1, where_it_failed)):
        assert bool(told(ended(made, status))) == said, status


@pytest.mark.parametrize(("kind", "said"), [("proc", 0), ("cgroup2", 0), ("tmpfs", 1), ("ext4", 1)])
def test_files_that_the_kernel_makes_up_are_no_storage(
    kind: str, said: int, tmp_path: Path
) -> None:
    """Who reads the memory of a process where nothing is gets EIO."""
    made = story("pread64", 5)
    made.tables["filesystems"][0]["kind"] = kind
    assert len(told(made.made(tmp_path / "x.iowhy"))) == said


def test_what_is_said(tmp_path: Path) -> None:
    made = story("write", 28).made(tmp_path / "x.iowhy")
    (said,) = told(made)
    assert tells(said, "/data/file", "/data", "ENOSPC", "2 calls", "1.5 s")
    assert "df -h" in said and "df -i" in said


def test_the_last_error_comes_first(tmp_path: Path) -> None:
    both = story("write", 28)
    both.tables["syscalls"][-1] |= {"ret": -5}
    names = [one.split("(")[1][:6] for one in told(both.made(tmp_path / "x.iowhy"))]
    assert names == ["EIO; 1", "ENOSPC"]


def test_a_terminal_that_has_gone_is_no_broken_disk(tmp_path: Path) -> None:
    made = story("read", 5, ino=102).made(tmp_path / "x.iowhy")
    assert told(ended(made, 1)) == ()


def test_of_operations_alone(tmp_path: Path) -> None:
    """A copy of a recording may lack its table of calls."""
    made = story("write", 5)
    del made.tables["syscalls"]
    made.add("async_operations", submit_ns=START, complete_ns=START + MS, tgid=10, tid=10, api="io_uring", op="write",
             kind="write", ran="inline", results=1, flags=[], dev=8 << 20 | 1, ino=FILE, offset=0, bytes=4 * KIB, ret=-5)  # fmt: skip
    (said,) = told(made.made(tmp_path / "x"))
    assert tells(said, "io_uring write")
