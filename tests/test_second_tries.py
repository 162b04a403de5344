"""A live test runs again where others spoiled it, at most thrice, and not where nobody did."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

LIVE = Path(__file__).parent / "live"
sys.path.insert(0, str(LIVE))

from disturbances import Reading, between  # noqa: E402 - the path comes first

TESTS = """
import pytest
from disturbances import Disturbed
from others import OTHERS

TRIED = {}

def tried(name):
    TRIED[name] = TRIED.get(name, 0) + 1
    return TRIED[name]

@pytest.fixture
def fresh(tmp_path):
    assert not list(tmp_path.iterdir())
    return tmp_path

def test_spoiled_once(fresh):
    (fresh / "left").touch()
    if tried("once") == 1:
        raise Disturbed("another's sync")

def test_spoiled_always():
    tried("always")
    raise Disturbed("another's sync")

def test_others_took_pages(fresh):
    (fresh / "left").touch()
    OTHERS["memory"] = "12 pages of files were reclaimed"
    assert tried("pages") == 2

@pytest.mark.disturbed_by("cpu")
def test_pages_do_not_matter():
    OTHERS["memory"] = "12 pages of files were reclaimed"
    assert tried("cpu alone") == 2

def test_wrong_on_a_quiet_machine():
    assert tried("quiet") == 0

def test_tries():
    assert TRIED == {"once": 2, "always": 3, "pages": 2, "cpu alone": 1, "quiet": 1}
"""
#: What others do is what a test says that they do.
OTHERS = """
import disturbances
OTHERS = {}

def between(before, after):
    found = dict(OTHERS)
    OTHERS.clear()
    return found

disturbances.between = between
"""


def test_only_what_was_disturbed_runs_again(tmp_path: Path) -> None:
    (tmp_path / "others.py").write_text(OTHERS)
    (tmp_path / "conftest.py").write_text(f"import others\n{(LIVE / 'conftest.py').read_text()}")
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(LIVE), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert "3 failed, 3 passed" in done.stdout, done.stdout
    assert "what disturbed try 3" in done.stdout
    assert "test_spoiled_once, try 1: " in done.stdout and "another's sync" in done.stdout


def test_what_others_do_is_told_and_what_is_ours_is_not() -> None:
    before = Reading(*([0.0] * 5), 0, 0, 0, 0)  # type: ignore[arg-type]
    after = replace(before, at_s=10.0, busy_s=12.0, own_s=11.0, kernel_threads_s=0.9)
    assert between(before, after) == {}
    assert between(before, replace(after, busy_s=22.0)) == {"cpu": "others used 1.01 CPUs"}
    assert between(before, replace(after, steal_s=5.0)) == {"cpu": "the hypervisor took 0.50 CPUs"}
    emptied = between(before, replace(after, reclaimed_pages=3_214, drops=1))
    assert emptied == {"memory": "3,214 pages of files were reclaimed, caches were dropped 1 times"}
    moved = replace(after, disk_bytes=200 << 20, own_disk_bytes=100 << 20)
    assert between(before, moved) == {"disk": "others moved 100 MiB (10.0 MiB/s)"}
