"""The Python API on a made recording: what it gives, and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import iowhy
from iowhy.api.magic import load_ipython_extension
from iowhy.commands.record import Planned
from iowhy.options import experiment
from iowhy.options import record as run
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
    assert done.stdout == "['iowhy.version']\n"
    assert set(iowhy.__dir__()) >= {"open", "record", "recording", "experiment", "compare"}


def test_a_recording_says_what_the_command_line_says(rec) -> None:  # type: ignore[no-untyped-def]
    shown = invoke(["why", str(rec.path)], env={"COLUMNS": "100", "NO_COLOR": "1"}).stdout
    lines = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
    assert [line.rstrip() for line in str(rec).split("\n")] == lines
    assert rec.verdict.headline in " ".join(shown.split()) and rec.measures["sync_calls"] == 40
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
    import iowhy.comparisons.comparison as inside

    found = iowhy.compare(rec, rec.path)  # type: ignore[operator]
    assert isinstance(found.result[0], inside.Comparison)
    assert isinstance(found.json(), list) and "sync-storm is unchanged" in repr(found)
    with pytest.raises(iowhy.Problem, match="at least two"):
        iowhy.compare(rec)  # type: ignore[operator]
    assert iowhy.recordings.open_recording(rec.path).path == rec.path  # type: ignore[attr-defined]


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


def test_what_a_comparison_may_not_show_is_on_the_answer(rec, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    compare = iowhy.compare
    more = syncing(60).write(tmp_path / "more.iowhy").path
    assert compare(rec, more, fail_on="sync_calls > +20").broken == ()  # type: ignore[operator]
    (grown,) = compare(rec, more, fail_on=["sync_calls > +0"]).broken  # type: ignore[operator]
    assert grown.startswith("failed on sync_calls > +0") and grown.endswith("40 → 60")
    (unknown,) = compare(rec, more, fail_on_regression="5%").broken  # type: ignore[operator]
    assert unknown.startswith("more: ") and "5 %" in unknown
    steps = compare(rec, more, more, baseline=True, fail_on="sync_calls > +0")  # type: ignore[operator]
    assert len(steps.result) == 3 and len(steps.json()) == 3 and len(steps.broken) == 1
    slow = compare("true", vs="sleep 0.5", runs=3, warmup=0, fail_on_regression=5)  # type: ignore[operator]
    (slower,) = slow.broken
    assert slower.startswith("sleep 0.5: takes ") and slower.endswith("5 % more allowed")


@pytest.mark.parametrize(
    ("sides", "options", "says"),
    [
        (("a", "b"), {"fail_on": "calls"}, "--fail-on 'calls': give NAME > "),
        (("a", "b"), {"runs": 3}, "runs: such options are for commands"),
        (("a", "b"), {"export_json": "x"}, "export_json: such options are for commands"),
        (("a", "b"), {"json": True}, "json is the command line's alone; here ask .*json()"),
        (("true",), {"vs": "true", "fail_on": "sync_calls > +0"}, "--fail-on "),
        (("true",), {"vs": "true", "baseline": True}, "--baseline "),
        (("true", "true"), {"vs": "true"}, "with vs= give one command"),
        (("a", 5.0, None), {}, "sides=None: give"),
        (("true",), {"vs": "true", "runs": 2.5}, "runs=2.5: give a whole number"),
    ],
)
def test_no_option_of_compare_is_dropped_without_a_word(
    sides: tuple[str, ...], options: dict[str, object], says: str
) -> None:
    with pytest.raises(iowhy.Problem, match=f"^iowhy.compare: {says}"):
        iowhy.compare(*sides, **options)  # type: ignore[operator]


def test_an_experiment_done_elsewhere_is_judged_and_saved(tmp_path: Path) -> None:
    table = Path(__file__).parents[1] / "experiment" / "fixtures" / "android-squeeze.csv"
    kept = tmp_path / "kept.md"
    found = iowhy.experiment(**{"from": table, "export_markdown": kept})  # type: ignore[operator]
    assert found.result.answers and kept.read_text()
    for words, options, says in (
        ((), {"list": True}, "iowhy.experiment: list is the command line's alone"),
        (("true",), {"json": True}, "iowhy.experiment: json is the command line's alone"),
        ((5, None), {}, "iowhy.experiment: words=None: give"),
    ):
        with pytest.raises(iowhy.Problem, match=f"^{says}"):
            iowhy.experiment(*words, **options)  # type: ignore[operator]


def test_a_value_of_the_wrong_kind_is_a_problem_that_names_it(rec) -> None:  # type: ignore[no-untyped-def]
    rows = rec.report("syscalls")
    wrong = {
        "iowhy.open: path=5: give the path": lambda: iowhy.open(5),
        "iowhy.recording: output=5: give": lambda: iowhy.recording(output=5).__enter__(),  # type: ignore[operator]
        "report: --pid abc: not a process id": lambda: rec.report("files", pid="abc"),
        "report: since=True: give": lambda: rec.report("files", since=True),
        "report: file=.* give": lambda: rec.report("files", file=["a"]),
        "report: name=5: give the name": lambda: rec.report(5),
        "sql: select=5: give the text": lambda: rec.sql(5),
        "sql: select=None: give the text": lambda: rows.sql(None),
        "head: rows='x': give a whole number": lambda: rows.head("x"),
        "expect: texts=5: give NAME": lambda: rec.expect(5),
        "there is no chart 5": lambda: rec.chart(5),
    }
    for says, ask in wrong.items():
        with pytest.raises(iowhy.Problem, match=f"^{says}"):
            ask()
    assert len(rec.report("syscalls", pid=[], device=None, until=10.0)) == 1
    with pytest.raises(KeyError):
        rec.measures["nope"]


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


@pytest.fixture
def made_instead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """`record` makes a recording of 40 fsyncs without a recorder; here is where."""

    def record(plan: Planned) -> int:
        syncing(40).write(plan.out)
        return 0

    monkeypatch.setattr("iowhy.commands.record.record", record)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_record_is_to_cost_is_judged_as_on_the_command_line(
    made_instead: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = iowhy.record(["./load"], expect="sync_calls <= 40", baseline="io.json", update=True)
    assert kept.broken == () and (made_instead / "io.json").exists()
    done = iowhy.record(["./load"], expect=["sync_calls <= 1"], junit="out.xml", name="load")
    (broken,) = done.broken
    assert broken.startswith("expected sync_calls <= 1, found 40") and done.expect(
        "sync_calls <= 1"
    )
    assert "<failure" in (made_instead / "out.xml").read_text()
    assert "sync_calls <= 1" in capsys.readouterr().err
    unheld = iowhy.record(["./load"], baseline="io.json", name="another")
    assert unheld.broken == ("the baseline knows no run called 'another'",)


@pytest.mark.parametrize(
    ("argv", "options", "says"),
    [
        (["./load"], {"expect": "nonsense"}, "--expect 'nonsense': give NAME <= NUMBER"),
        (["./load"], {"update": True}, "--update .*--baseline"),
        (["./load"], {"json": True}, "json is the command line's alone; here ask .*json()"),
        (["./load"], {"live": True}, "live is the command line's alone"),
        (["./load"], {"sudo": True}, "sudo .*on=HOST"),
        (["./load"], {"pid": 1}, "--pid 1 and the command ./load"),
        (["./load"], {"duration": "1s"}, "--duration .*-p"),
        ([], {}, "nothing to record: give the words of a command, or .*pid=.*all="),
        ([], {"all": False}, "nothing to record"),
        (5, {}, "argv=5: give the words"),
        ("make -j2", {}, "argv='make -j2': give the words"),
        ([None], {}, "argv=None: give a text"),
        (["./load"], {"output": 5}, "output=5: give a text or a path"),
        (["./load"], {"quiet": "no"}, "quiet='no': give True or False"),
        (["./load"], {"user": ["x"]}, r"user=\['x'\]: give a text"),
        (["./load"], {"max_time": True}, "max_time=True: give a text, a number or a path"),
    ],
)
def test_no_option_of_record_is_dropped_without_a_word(
    made_instead: Path, argv: list[str], options: dict[str, object], says: str
) -> None:
    with pytest.raises(iowhy.Problem, match=f"^iowhy.record: {says}"):
        iowhy.record(argv, **options)  # type: ignore[arg-type]
    assert not list(made_instead.iterdir())


@pytest.mark.parametrize(
    ("status", "says"),
    [(127, "command not found: nope"), (126, "cannot run nope: "), (2, "the recorder has said")],
)
def test_why_nothing_was_recorded_is_in_the_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, says: str
) -> None:
    def record(*_: object) -> int:
        raise SystemExit(status)

    monkeypatch.setattr("iowhy.commands.record.record", record)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(iowhy.Problem, match=f"^nothing was recorded; {says}"):
        iowhy.record(["nope"])
