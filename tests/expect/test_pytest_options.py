"""What the pytest plugin refuses, before it records anything."""

from pathlib import Path

import pytest

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
    done.stderr.fnmatch_lines(["ERROR: iowhy: *iowhy-tests.json: no such baseline; *"])
    Path("own.json").write_text("{}")
    done = session.runpytest_subprocess(*words, "--iowhy-baseline", "own.json")
    done.stderr.fnmatch_lines(["ERROR: iowhy: *own.json: is no baseline of version 1*"])


def test_a_project_that_does_not_ask_gets_nothing_heavy(session: pytest.Pytester) -> None:
    session.makepyfile(
        """
        import sys
        def test_light(iowhy):
            assert not {"duckdb", "numpy", "iowhy.relations"} & set(sys.modules)
        """
    )
    session.runpytest_subprocess("-p", "iowhy.pytest_plugin").assert_outcomes(passed=1)
