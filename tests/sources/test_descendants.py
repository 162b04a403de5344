"""Who belongs to an attached process: children of children, whatever they are called."""

import os
import subprocess
from pathlib import Path

from iowhy.sources.descendants import name_of, with_descendants


def made(proc: Path, pid: int, parent: int, name: str = "worker") -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "status").write_text(f"Name:\t{name}\nPPid:\t{parent}\nTracerPid:\t1\n")
    (proc / str(pid) / "comm").write_text(f"{name}\n")


def test_children_of_children_are_taken_and_others_not(tmp_path: Path) -> None:
    made(tmp_path, 10, 1, "postgres")
    made(tmp_path, 11, 10, "a) S 1 (b")
    made(tmp_path, 12, 11)
    made(tmp_path, 9, 12)
    made(tmp_path, 20, 1)
    (tmp_path / "self").mkdir()
    assert with_descendants([10], tmp_path) == [10, 11, 12, 9]
    assert with_descendants([20, 10, 20], tmp_path) == [20, 10, 11, 12, 9]
    assert name_of(10, tmp_path) == "postgres" and name_of(99, tmp_path) is None


def test_a_process_that_is_there() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert child.pid in with_descendants([os.getpid()])
    finally:
        child.kill()
        child.wait()
