"""What the pytest plugin refuses, before it records anything."""

from pathlib import Path

import pytest

from .test_expectations import syncing

pytest_plugins = ["pytester"]


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of its own, and the plugin by its module's name alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "python"))
    return pytester


def test_a_mark_that_makes_no_sense_fails_its_test_in_one_line(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import pytest
        @pytest.mark.iowhy(sync_call=3)
        def test_misspelt(): pass
        @pytest.mark.iowhy("device.reads")
        def test_no_bound(): pass
        """
    )
    done = session.runpytest_subprocess("-p", "iowhy.pytest_plugin", "--strict-markers")
    done.assert_outcomes(failed=2)
    assert "During handling" not in done.stdout.str()
    done.stdout.fnmatch_lines(
        ["*'sync_call <= 3': sync_call: no such measure; did you mean sync_calls*"]
    )
    done.stdout.fnmatch_lines(["*'device.reads': give NAME <= NUMBER*"])


def test_no_baseline_and_a_broken_one_end_the_session(session: pytest.Pytester) -> None:
    session.makepyfile("def test_a(): pass")
    words = ("-p", "iowhy.pytest_plugin", "--iowhy-fail-on-increase")
    done = session.runpytest_subprocess(*words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(
        ["ERROR: iowhy: *iowhy-tests.json: no such baseline; --iowhy-update makes it"]
    )
    Path("own.json").write_text("{}")
    done = session.runpytest_subprocess(*words, "--iowhy-baseline", "own.json")
    done.stderr.fnmatch_lines(["ERROR: iowhy: *own.json: not a baseline of version 1*"])


def test_a_project_that_does_not_ask_gets_nothing_heavy(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import sys
        def test_light(iowhy):
            assert not {"duckdb", "numpy", "iowhy.relations"} & set(sys.modules)
        """
    )
    session.runpytest_subprocess("-p", "iowhy.pytest_plugin").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--iowhy-update", "--iowhy-baseline", "/nonex/x.json"),
            "/nonex/x.json: /nonex is not a directory; choose another --iowhy-baseline",
        ),
        (("--iowhy-keep", "/proc/x"), "--iowhy-keep /proc/x: cannot be made: *another directory"),
    ],
)
def test_a_place_where_nothing_can_be_written_ends_the_session_before_any_test(
    session: pytest.Pytester, words: tuple[str, ...], says: str
) -> None:
    session.makepyfile("def test_a(): pass")
    done = session.runpytest_subprocess("-p", "iowhy.pytest_plugin", *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: iowhy: {says}"])
    assert "Traceback" not in done.stderr.str() and not done.outlines


RUNS = """
import iowhy.sources.this_process, pytest
from contextlib import contextmanager
from iowhy.recordings import open_recording

REAL = open_recording(PATH)

@contextmanager
def nothing(place):
    yield

@pytest.fixture
def unrecorded(monkeypatch):
    monkeypatch.setattr("iowhy.sources.this_process.recorded", nothing)
    monkeypatch.setattr("iowhy.recordings.open_recording", lambda path: REAL)

@pytest.mark.usefixtures("unrecorded")
class TestRuns:
    def test_misspelt(self, iowhy):
        with iowhy.recording() as run:
            pass
        assert run["sync_calls"] > 0
        run["nonsense"]

    def test_inside(self, iowhy):
        with iowhy.recording() as run:
            run["sync_calls"]

    def test_expect_inside(self, iowhy):
        with iowhy.recording() as run:
            run.expect("sync_calls <= 2")

    def test_misspelt_expectation(self, iowhy):
        with iowhy.recording() as run:
            pass
        run.expect("nonsense <= 2")

    def test_unknown(self, iowhy):
        with iowhy.recording() as run:
            pass
        run.expect("extents <= 2")

    @pytest.mark.iowhy
    def test_bare(self):
        pass
"""


def test_what_a_test_asks_in_vain_is_a_line_each(session: pytest.Pytester) -> None:
    recording = syncing(4).write(session.path / "four.iowhy").path
    session.makepyfile(RUNS.replace("PATH", repr(str(recording))))
    words = ("-p", "iowhy.pytest_plugin", "-W", "error::iowhy.pytest_plugin.UnknownWarning")
    done = session.runpytest_subprocess(*words)
    done.assert_outcomes(passed=1, failed=5)
    assert [line for line in done.outlines if line.startswith("iowhy: ")] == [
        "iowhy: nonsense: no such measure; `iowhy run --expect list` shows all",
        "iowhy: the recording goes on until its block has ended: ask after it",
        "iowhy: the recording goes on until its block has ended: ask after it",
        "iowhy: run.expect 'nonsense <= 2': nonsense: no such measure; `iowhy run --expect list` shows all",
        "iowhy: expected extents <= 2, which is not known: the run has nothing to measure it on",
    ]
    assert not {">", "E"} & {line[:1] for line in done.outlines}
    done.stdout.fnmatch_lines(["*UnheldWarning: iowhy: a mark without an expectation*"])
    failed = session.runpytest_subprocess(
        *words, "-W", "error::iowhy.pytest_plugin.UnheldWarning", "-k", "bare"
    )
    assert "iowhy: a mark without" in failed.stdout.str()
    failed.assert_outcomes(failed=1)
