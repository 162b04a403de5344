"""The Python API on a made recording: what it gives, and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import iowhy
from iowhy.api.magic import load_ipython_extension
from iowhy.cli import experiment, run
from iowhy.options.described import parameters
from iowhy.options.keywords import from_keywords, keyword
from tests.command_line import invoke
from tests.expect.test_expectations import syncing


@pytest.fixture
def rec(tmp_path: Path) -> iowhy.api.Opened:  # type: ignore[name-defined]
    return iowhy.open(syncing(40).write(tmp_path / "made.iowhy").path)


def test_to_import_it_imports_nothing() -> None:
    code = "import sys, iowhy; print([one for one in sys.modules if one.startswith('iowhy.')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "[]\n"
    assert set(iowhy.__dir__()) >= {"open", "record", "recording", "experiment", "compare"}


def test_a_recording_says_what_the_command_line_says(rec) -> None:  # type: ignore[no-untyped-def]
    shown = invoke(["why", str(rec.path)], env={"COLUMNS": "100", "NO_COLOR": "1"}).stdout
    lines = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
    assert [line.rstrip() for line in str(rec).split("\n")] == lines
    assert rec.verdict.answer in " ".join(shown.split()) and rec.measures["sync_calls"] == 40
    assert rec.json()["measures"]["sync_calls"] == 40 and rec.exit_status == 0
    assert rec.expect("sync_calls <= 40") == []
    (broken,) = rec.expect("sync_calls < 40")
    assert broken.startswith("expected sync_calls < 40, found 40")
    html = rec._repr_html_()
    assert html.startswith("<pre") and "<script" not in html


def test_rows_are_the_same_in_each_form(rec) -> None:  # type: ignore[no-untyped-def]
    pandas = pytest.importorskip("pandas")
    found = rec.report("syscalls", since=0)
    (row,) = found.rows()
    assert (row["name"], row["calls"]) == ("fsync", 40)
    assert found.arrow().num_rows == len(found) == 1 and found.columns == tuple(row)
    assert isinstance(found.df(), pandas.DataFrame) and found.df()["calls"].sum() == 40
    assert found.sql("SELECT calls + 1 AS n FROM rows").rows() == [{"n": 41}]
    with pytest.raises(iowhy.Problem, match=r"SQL: .*no_such"):
        found.sql("SELECT no_such FROM rows")
    assert rec.sql("SELECT count(*) AS n FROM syscalls").rows() == [{"n": 40}]
    assert len(rec.sql(found.statement)) == 1
    assert "fsync" in repr(found) and "fsync" in found._repr_html_()


@pytest.mark.parametrize(
    ("package", "method", "brings"),
    [
        ("polars", "pl", "polars"),
        ("pandas", "df", "pandas"),
        ("pyarrow", "arrow", r"'iowhy\[arrow\]'"),
    ],
)
def test_without_a_package_it_says_what_to_install(  # type: ignore[no-untyped-def]
    rec, monkeypatch, package: str, method: str, brings: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(iowhy.Problem, match=f"pip install {brings}$"):
        getattr(rec.report("files"), method)()


def test_packages_are_functions_and_packages(rec) -> None:  # type: ignore[no-untyped-def]
    import iowhy.compare.comparison as inside

    found = iowhy.compare(rec, rec.path)  # type: ignore[operator]
    assert isinstance(found.result[0], inside.Comparison)
    assert isinstance(found.json(), list) and "sync-storm: unchanged" in repr(found)
    with pytest.raises(iowhy.Problem, match="at least two"):
        iowhy.compare(rec)  # type: ignore[operator]
    assert iowhy.recording.open_recording(rec.path).path == rec.path  # type: ignore[attr-defined]


def test_commands_are_compared_with_the_options_of_the_command_line() -> None:
    found = iowhy.compare("true", vs=["sleep 0.05"], runs=3, warmup=0)  # type: ignore[operator]
    assert {one.condition.name for one in found.result.trials} == {
        "baseline",
        "command 2 sleep 0.05",
    }
    assert len(found.json()["results"]) == 2 and "sleep 0.05" in repr(found)
    with pytest.raises(iowhy.Problem, match="there is no run; did you mean runs"):
        iowhy.compare("true", vs="true", run=2)  # type: ignore[operator]
    with pytest.raises(iowhy.Problem, match="options are for commands"):
        iowhy.compare("a.iowhy", "b.iowhy", runs=3)  # type: ignore[operator]


def test_a_chart_is_a_page_in_a_frame(rec) -> None:  # type: ignore[no-untyped-def]
    drawn = rec.chart("budget-over-time")
    assert drawn.missing is None and drawn.rows()[0].keys() >= {"at_s", "span_s"}
    assert (
        drawn.html().startswith("<!doctype html>")
        and "default-src &#x27;none&#x27;" in drawn.html()
    )
    shown = drawn._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html')
    assert "<script" not in shown
    assert rec.chart("page-cache-over-time").missing is not None
    with pytest.raises(iowhy.Problem, match="there is no chart flame: choose budget-over-time"):
        rec.chart("flame")


@pytest.mark.parametrize("options", [run.Options, experiment.Options])
def test_each_option_is_an_argument(options: type) -> None:
    names = [keyword(one) for one in parameters(options) if one.described.flags]
    assert len(set(names)) == len(names) and all(name.isidentifier() for name in names)


def test_arguments_are_read_as_on_the_command_line() -> None:
    given = {"max_time": 2.5, "max_size": "1MiB", "user": "x", "quiet": True, "expect": "calls < 1"}
    made = from_keywords(run.Options, "f", {"argv": ("a",)}, given)
    assert (made.max_time_ns, made.max_size_bytes, made.quiet) == (2_500_000_000, 1 << 20, True)
    assert made.budgets.expected == ("calls < 1",)
    assert from_keywords(experiment.Options, "f", {}, {"runs": 4}).trials.runs == 4


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_tim": 1}, "f: there is no max_tim; did you mean max_time?"),
        ({"max_time": "soon"}, "f: --max-time soon: give a time"),
        ({"mode": "fast"}, "f: --mode fast: choose"),
        ({"pid": "x"}, "f: --pid x: not a process id"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, object], says: str) -> None:
    with pytest.raises(iowhy.Problem) as found:
        from_keywords(run.Options, "f", {}, given)
    assert str(found.value).startswith(says)


def test_what_cannot_be_read_or_recorded_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(iowhy.Problem, match="no such recording"):
        iowhy.open(tmp_path / "nope")
    with pytest.raises(iowhy.Problem, match="give the words"):
        iowhy.record("make -j2")
    with pytest.raises(iowhy.Problem, match="exists already"):
        iowhy.record(["true"], tmp_path)
    with pytest.raises(iowhy.Problem, match="mode fast"), iowhy.recording(mode="fast"):  # type: ignore[operator]
        pass


def test_the_magic_explains_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    class Shell:
        def register_magic_function(self, function, magic_kind):  # type: ignore[no-untyped-def]
            self.magic = function
            assert (function.__name__, magic_kind) == ("iowhy", "cell")

    shell = Shell()
    load_ipython_extension(shell)
    assert shell.magic("--mode fast", "1") is None
    assert "--mode fast: choose auto" in capsys.readouterr().out
