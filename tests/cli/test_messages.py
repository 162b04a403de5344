"""Wrong input on the command line is one line that names it, exit status 2, and no traceback."""

from pathlib import Path

import pytest

from iowhy.cli.main import main
from iowhy.errors import Problem
from tests.command_line import invoke


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "nothing to watch"),
        (["run", "-a", "--", "ls"], "-a and the command ls"),
        (["run", "--duration", "3s", "--", "ls"], "--duration "),
        (["run", "--no-children", "-a"], "--no-children"),
        (["run", "-a", "--duration", "soon"], "--duration soon"),
        (["run", "--mode", "magic", "--", "ls"], "--mode magic"),
        (["run", "-o", ".", "--", "ls"], "exists already"),
        (["run", "-q", "--json", "--", "ls"], "-q prints nothing, and --json"),
        (["run", "--on=-oProxyCommand=x", "--", "ls"], "give a machine as ssh knows it"),
        (["run", "-o", "/no/such/name", "--", "ls"], "there is no folder /no/such"),
        (["why", "/no/such"], "no such recording"),
        (["why", "/etc/passwd"], "iowhy diagnose"),
        (["check", "/tmp"], "not a recording"),
        (["report", "no-such-report", "/tmp"], "no-such-report"),
        (["diagnose", "/no/such/file"], "/no/such/file"),
        (["compare", "/no/a.iowhy", "/no/b.iowhy"], "/no/a.iowhy"),
        (["lab", "run", "no-such-scenario"], "no-such-scenario"),
        (["experiment", "no-such-lever", "--", "true"], "no-such-lever"),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["iowhy", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
    assert len(error.strip().splitlines()) <= 2, error


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
        (["why", "fio"], "there is fio.iowhy"),
        (["diagnose", "fio.iowhy"], "iowhy why fio.iowhy"),
        (["experiment", "no-such", "--", "true"], "no-such: neither a lever"),
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
