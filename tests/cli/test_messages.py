"""Wrong input on the command line is one line that names it, exit status 2, and no traceback."""

import json
from pathlib import Path

import pytest

from iowhy.cli.main import main
from iowhy.errors import Problem
from tests.command_line import invoke
from tests.json_schema import broken
from tests.words.texts import ROOT


@pytest.mark.parametrize(
    ("arguments", "id_", "named"),
    [
        (["run"], "nothing-to-watch", None),
        (["run", "-a", "--", "ls"], "two-targets", "-a and the command ls"),
        (["run", "--duration", "3s", "--", "ls"], "duration-of-command", None),
        (["run", "--exact", "-a"], "exact-alone", None),
        (
            ["run", "--statements=mysql://me@db", "--", "ls"],
            "statements-of-command",
            "mysql://me@db",
        ),
        # A password is not said again.
        (
            ["run", "--statements=mysql://me:pw9@db", "--", "ls"],
            "statements-of-command",
            "mysql://me:***@db",
        ),
        (["run", "--mode", "proc", "--statements", "--", "ls"], "statements-mode", None),
        (["run", "--on", "db1", "--statements", "-a"], "statements-of-what", None),
        (["top", "--statements", "x.iowhy"], "top-statements", None),
        (["run", "--no-children", "-a"], "no-children-of-what", None),
        (["run", "-a", "--duration", "soon"], "not-a-time", "soon"),
        (["run", "-a", "--duration", "5", "minutes"], "quantity-in-two-words", "m"),
        (["run", "--max-size", "5", "MiB", "--", "ls"], "quantity-in-two-words", "MiB"),
        (["report", "files", "a.iowhy", "--since", "5", "s"], "quantity-in-two-words", "s"),
        (["run", "-o", "/proc/x.iowhy", "--", "ls"], "no-recording-in", "/proc"),
        (["why", "a.iowhy", "b.iowhy"], "one-recording-only", "b.iowhy"),
        (["experiment", "--", "no-such-command"], "no-such-lever", "no-such-command"),
        (["run", "--mode", "magic", "--", "ls"], "not-a-choice", "magic"),
        (["run", "-o", ".", "--", "ls"], "recording-exists", "."),
        (["run", "-q", "--json", "--", "ls"], "quiet-and-json", None),
        (["run", "--on=-oProxyCommand=x", "--", "ls"], "not-a-machine", None),
        (["run", "-o", "/no/such/name", "--", "ls"], "no-folder", "/no/such"),
        (["why", "/no/such"], "recording-not-found", "/no/such"),
        (["why", "/etc/passwd"], "not-a-recording", "/etc/passwd"),
        (["check", "/tmp"], "no-manifest", "/tmp"),
        (["report", "no-such-report", "/tmp"], "no-such-report-known", "no-such-report"),
        (["diagnose", "/no/such/file"], "log-not-found", "/no/such/file"),
        (["compare", "/no/a.iowhy", "/no/b.iowhy"], "no-such-recording", "/no/a.iowhy"),
        (["lab", "run", "no-such-scenario"], "no-such-scenario", "no-such-scenario"),
        (["experiment", "no-such-lever", "--", "true"], "no-such-lever", "no-such-lever"),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    arguments: list[str],
    id_: str,
    named: str | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["iowhy", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err and len(shown.err.strip().splitlines()) <= 2, shown.err
    problem = invoke(arguments).exception
    assert isinstance(problem, Problem) and problem.sentence.id == id_
    assert named is None or named in map(str, problem.sentence.values.values())
    if "--json" in arguments:
        schema = json.loads((ROOT / "docs" / "schema" / "error.json").read_text())
        assert list(broken(schema, json.loads(shown.out))) == []


@pytest.mark.parametrize(
    "name",
    ["run", "why", "report", "sql", "diagnose", "experiment", "compare", "check", "lab",
     "lab list", "lab run", "lab verify", "lab clean"],
)  # fmt: skip
def test_every_command_has_a_help_that_fits_100_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = invoke([*name.split(), "--help"])
    assert shown.exit_code == 0
    assert all(len(line) <= 100 for line in shown.output.splitlines())
    assert "Example" in shown.output or name.startswith("lab")


def test_what_was_meant_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recording = tmp_path / "fio.iowhy"
    recording.mkdir()
    (recording / "manifest.json").write_text("{}")
    for arguments, message in (
        (["why", "fio"], "fio.iowhy"),
        (["diagnose", "fio.iowhy"], "iowhy why fio.iowhy"),
    ):
        monkeypatch.setattr("sys.argv", ["iowhy", *arguments])
        with pytest.raises(SystemExit):
            main()
        assert message in capsys.readouterr().err


def test_a_problem_never_becomes_a_traceback(tmp_path: Path) -> None:
    assert isinstance(invoke(["why", str(tmp_path)]).exception, Problem)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_ctrl_c_ends_quietly_wherever_it_comes(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise raised

    monkeypatch.setattr("iowhy.cli._commands.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
