"""The pytest plugin in sessions of its own: counts of this process that are known, as root and as nobody."""

import json
from pathlib import Path

import pytest

from iowhy.sources.live import RECORDER, program
from tests.numbers_told import tells

pytest_plugins = ["pytester"]

FILE = """
import os, subprocess, sys
import pytest

def syncs(path, number):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    for _ in range(number):
        os.write(fd, b"x" * 4096)
        os.fsync(fd)
    os.close(fd)

@pytest.mark.iowhy(sync_calls=3)
def test_kept(tmp_path):
    syncs(tmp_path / "log", 3)

@pytest.mark.iowhy("sync_calls == 3", written_bytes="8 KiB")
def test_broken(tmp_path):
    syncs(tmp_path / "log", 3)

@pytest.mark.iowhy(sync_calls=1)
def test_of_a_child(tmp_path):
    code = "import os, sys; os.fsync(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY))"
    for name in "ab":
        subprocess.run([sys.executable, "-c", code, tmp_path / name], check=True)

def test_fixture(iowhy, tmp_path):
    syncs(tmp_path / "before", 2)
    with iowhy.recording() as run:
        syncs(tmp_path / "log", int(os.environ.get("SYNCS", 4)))
    assert run["sync_calls"] == int(os.environ.get("SYNCS", 4))
    run.expect("sync_calls <= 4")
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with the tests above, and the plugin by its module's name alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "python"))
    monkeypatch.delenv("SYNCS", raising=False)
    pytester.makepyfile(FILE)
    return pytester


def run(session: pytest.Pytester, *words: str) -> pytest.RunResult:
    return session.runpytest_subprocess("-p", "iowhy.pytest_plugin", *words)


@pytest.mark.usefixtures("live")
def test_counts_of_tests_are_held_in_one_line(session: pytest.Pytester) -> None:
    done = run(session, "--tb=short")
    done.assert_outcomes(passed=2, failed=2)
    text = done.stdout.str()
    broken = [line for line in done.outlines if line.startswith("iowhy: expected")]
    assert tells(broken[0], "written_bytes <= 8 KiB", "12 KiB", "write")
    assert tells(broken[1], "sync_calls <= 1", "2")
    assert len(broken) == 2 and "pytest_plugin.py" not in text


@pytest.mark.usefixtures("live")
def test_a_count_that_grew_fails_and_only_that(session: pytest.Pytester, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    only = "-k=test_fixture"
    for _ in range(3):
        run(session, only, "--iowhy-update").assert_outcomes(passed=1)
    ((name, counts),) = json.loads(Path("iowhy-tests.json").read_text())["commands"].items()
    assert name.endswith("::test_fixture") and counts["sync_calls"]["values"] == [6, 6, 6]
    # What the fixture records and judges is not the test's.
    assert max(counts["calls"]["values"]) < 40
    assert "device.reads" not in counts  # others may evict what a test counts on
    kept = run(session, only, "--iowhy-fail-on-increase", "-W", "ignore")
    assert "sync calls 6, " in kept.stdout.str()
    monkeypatch.setenv("SYNCS", "3")
    grown = session.makepyfile(FILE.replace('"before", 2', '"before", 4'))
    assert grown.exists()
    done = run(session, only, "--iowhy-fail-on-increase")
    assert "iowhy: expected sync_calls <= 6 (iowhy-tests.json), found 7" in done.stdout.str()


@pytest.mark.usefixtures("live")
def test_without_the_rights_it_says_what_it_cannot_see(
    session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = session.path / "iowhy-record"
    drop = "setpriv --bounding-set=-bpf,-perfmon,-sys_admin"
    shim.write_text(f'#!/bin/sh\nexec {drop} {program(RECORDER)} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("IOWHY_RECORD", str(shim))
    done = run(session)
    done.assert_outcomes(passed=3, skipped=1)
    text = done.stdout.str()
    assert tells(text, "sync_calls <= 3", "syscalls")
    (line,) = [line for line in done.outlines if line.startswith("not seen: ")]
    assert "syscalls, " in line and line.endswith("says why)")
