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
from tests.problems import wrong


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
    with wrong("rows-sql-wrong") as problem:
        found.sql("SELECT no_such FROM rows")
    assert "no_such" in str(problem.value.sentence.values["error"])
    assert rec.sql("SELECT count(*) AS n FROM syscalls").rows() == [{"n": 40}]
    assert len(rec.sql(found.statement)) == 1
    assert "fsync" in repr(found) and "fsync" in found._repr_html_()


@pytest.mark.parametrize(
    ("package", "method", "brings"),
    [
        ("polars", "pl", "polars"),
        ("pandas", "df", "pandas"),
        ("pyarrow", "arrow", "'iowhy[arrow]'"),
    ],
)
def test_without_a_package_it_says_what_to_install(  # type: ignore[no-untyped-def]
    rec, monkeypatch, package: str, method: str, brings: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with wrong("package-missing", method=method, package=package, brought_by=brings):
        getattr(rec.report("files"), method)()


def test_packages_are_functions_and_packages(rec) -> None:  # type: ignore[no-untyped-def]
    import iowhy.comparisons.comparison as inside

    found = iowhy.compare(rec, rec.path)  # type: ignore[operator]
    assert isinstance(found.result[0], inside.Comparison)
    assert isinstance(found.json(), list) and "sync-storm is unchanged" in repr(found)
    with wrong("api-compares-two"):
        iowhy.compare(rec)  # type: ignore[operator]
    assert iowhy.recordings.open_recording(rec.path).path == rec.path  # type: ignore[attr-defined]


def test_commands_are_compared_with_the_options_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # whose files are read before each run
    found = iowhy.compare("true", vs=["sleep 0.05"], runs=3, warmup=0)  # type: ignore[operator]
    assert {one.condition.name for one in found.result.trials} == {
        "baseline",
        "command 2 sleep 0.05",
    }
    assert len(found.json()["results"]) == 2 and "sleep 0.05" in repr(found)
    with wrong("argument-unknown", name="run", meant="; did you mean runs?"):
        iowhy.compare("true", vs="true", run=2)  # type: ignore[operator]
    with wrong("option-of-commands", name="runs"):
        iowhy.compare("a.iowhy", "b.iowhy", runs=3)  # type: ignore[operator]


def test_what_a_comparison_may_not_show_is_on_the_answer(
    rec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")  # whose files are read before each run
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
    ("sides", "options", "id_", "values"),
    [
        (("a", "b"), {"fail_on": "calls"}, "not-a-fail-on", {"text": "calls"}),
        (("a", "b"), {"runs": 3}, "option-of-commands", {"name": "runs"}),
        (("a", "b"), {"export_json": "x"}, "option-of-commands", {"name": "export_json"}),
        (("a", "b"), {"json": True}, "option-of-the-command-line-only", {"name": "json"}),
        (
            ("true",),
            {"vs": "true", "fail_on": "sync_calls > +0"},
            "fail-on-of-recordings",
            {},
        ),
        (("true",), {"vs": "true", "baseline": True}, "baseline-of-recordings", {}),
        (("true", "true"), {"vs": "true"}, "vs-with-several", {}),
        (("a", 5.0, None), {}, "not-of-kind", {"value": None}),
        (("true",), {"vs": "true", "runs": 2.5}, "not-of-kind", {"value": 2.5}),
    ],
)
def test_no_option_of_compare_is_dropped_without_a_word(
    sides: tuple[str, ...], options: dict[str, object], id_: str, values: dict[str, object]
) -> None:
    with wrong(id_, **values) as found:
        iowhy.compare(*sides, **options)  # type: ignore[operator]
    assert str(found.value).startswith("iowhy.compare: ")


def test_an_experiment_done_elsewhere_is_judged_and_saved(tmp_path: Path) -> None:
    table = Path(__file__).parents[1] / "experiment" / "fixtures" / "android-squeeze.csv"
    kept = tmp_path / "kept.md"
    found = iowhy.experiment(**{"from": table, "export_markdown": kept})  # type: ignore[operator]
    assert found.result.answers and kept.read_text()
    for words, options, id_, name in (
        ((), {"list": True}, "option-of-the-command-line-only", "list"),
        (("true",), {"json": True}, "option-of-the-command-line-only", "json"),
        ((5, None), {}, "not-of-kind", "iowhy.experiment: words"),
    ):
        with wrong(id_, name=name) as problem:
            iowhy.experiment(*words, **options)  # type: ignore[operator]
        assert str(problem.value).startswith("iowhy.experiment: ")


def test_a_value_of_the_wrong_kind_is_a_problem_that_names_it(rec) -> None:  # type: ignore[no-untyped-def]
    rows = rec.report("syscalls")
    for name, value, ask in (
        ("iowhy.open: path", 5, lambda: iowhy.open(5)),
        ("iowhy.recording: output", 5, lambda: iowhy.recording(output=5).__enter__()),  # type: ignore[operator]
        ("report: since", True, lambda: rec.report("files", since=True)),
        ("report: file", ["a"], lambda: rec.report("files", file=["a"])),
        ("report: name", 5, lambda: rec.report(5)),
        ("sql: select", 5, lambda: rec.sql(5)),
        ("sql: select", None, lambda: rows.sql(None)),
        ("expect: texts", 5, lambda: rec.expect(5)),
    ):
        with wrong("not-of-kind", name=name, value=value):
            ask()
    with wrong("not-a-process-id", word="abc"):
        rec.report("files", pid="abc")
    with wrong("head-rows-not-a-number", rows="x"):
        rows.head("x")
    with wrong("no-such-chart", name=5):
        rec.chart(5)
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
    with wrong("no-such-chart", name="flame"):
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
    ("given", "id_", "values"),
    [
        (
            {"max_tim": 1},
            "argument-unknown",
            {"name": "max_tim", "meant": "; did you mean max_time?"},
        ),
        ({"max_time": "soon"}, "not-a-time", {"option": "--max-time", "text": "soon"}),
        ({"mode": "fast"}, "not-a-choice", {"called": "--mode", "given": "fast"}),
        ({"pid": "x"}, "not-a-process-id", {"option": "--pid", "word": "x"}),
    ],
)
def test_a_wrong_argument_is_named(
    given: dict[str, object], id_: str, values: dict[str, object]
) -> None:
    with wrong(id_, **values) as found:
        from_keywords(run.Options, "f", {}, given)
    assert str(found.value).startswith("f: ")


def test_what_cannot_be_read_or_recorded_is_a_problem(tmp_path: Path) -> None:
    with wrong("recording-not-found", path=tmp_path / "nope"):
        iowhy.open(tmp_path / "nope")
    with wrong("not-of-kind", name="iowhy.record: argv", value="make -j2"):
        iowhy.record("make -j2")
    with wrong("recording-exists", path=tmp_path):
        iowhy.record(["true"], tmp_path)
    with wrong("mode-unknown", mode="fast"), iowhy.recording(mode="fast"):  # type: ignore[operator]
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
    (unknown,) = unheld.broken
    assert "'another'" in unknown


@pytest.mark.parametrize(
    ("argv", "options", "id_", "values"),
    [
        (["./load"], {"expect": "nonsense"}, "not-an-expectation", {"text": "nonsense"}),
        (["./load"], {"update": True}, "update-needs-baseline", {}),
        (["./load"], {"json": True}, "option-of-the-command-line-only", {"name": "json"}),
        (["./load"], {"live": True}, "option-of-the-command-line-only", {"name": "live"}),
        (["./load"], {"sudo": True}, "api-sudo-without-host", {}),
        (["./load"], {"pid": 1}, "two-targets", {"targets": "--pid 1 and the command ./load"}),
        (["./load"], {"duration": "1s"}, "duration-of-command", {}),
        ([], {}, "api-nothing-to-record", {}),
        ([], {"all": False}, "api-nothing-to-record", {}),
        (5, {}, "not-of-kind", {"value": 5}),
        ("make -j2", {}, "not-of-kind", {"value": "make -j2"}),
        ([None], {}, "not-of-kind", {"value": None}),
        (["./load"], {"output": 5}, "not-of-kind", {"value": 5}),
        (["./load"], {"quiet": "no"}, "not-a-flag", {"value": "no"}),
        (["./load"], {"user": ["x"]}, "not-of-kind", {"value": ["x"]}),
        (["./load"], {"max_time": True}, "not-of-kind", {"value": True}),
    ],
)
def test_no_option_of_record_is_dropped_without_a_word(
    made_instead: Path,
    argv: list[str],
    options: dict[str, object],
    id_: str,
    values: dict[str, object],
) -> None:
    with wrong(id_, **values) as found:
        iowhy.record(argv, **options)  # type: ignore[arg-type]
    assert str(found.value).startswith("iowhy.record: ")
    assert not list(made_instead.iterdir())


@pytest.mark.parametrize(
    ("status", "id_"),
    [(127, "command-not-found"), (126, "command-not-a-program"), (2, "nothing-was-recorded")],
)
def test_why_nothing_was_recorded_is_in_the_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, id_: str
) -> None:
    def record(*_: object) -> int:
        raise SystemExit(status)

    monkeypatch.setattr("iowhy.commands.record.record", record)
    monkeypatch.chdir(tmp_path)
    with wrong(id_):
        iowhy.record(["nope"])
