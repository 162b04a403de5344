"""What holds for all commands: order of words, -p, lists, exit statuses, files that are not overwritten."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from iowhy import __version__
from iowhy.cli import experiment, report, run
from iowhy.cli._commands import COMMANDS
from iowhy.cli.main import main
from iowhy.options.described import build, parameters
from iowhy.options.parser import parse
from tests.command_line import invoke
from tests.problems import asks
from tests.whys.made import Story

IOWHY = [sys.executable, "-m", "iowhy.cli.main"]


class Done:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def iowhy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Runs the command line in this process."""

    def call(*words: object) -> Done:
        monkeypatch.setattr("sys.argv", ["iowhy", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, shown.out, shown.err)

    return call


@pytest.fixture
def rec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording in the working directory."""
    monkeypatch.chdir(tmp_path)
    Story(seconds=0.5).thread(user=0.97).caller("read", 40, blocked=1_000_000).write(
        tmp_path / "made.iowhy"
    )
    return Path("made.iowhy")


def test_a_report_and_its_recording_come_in_either_order(iowhy, rec) -> None:
    first = iowhy("report", "files", rec)
    assert first.status == 0 and "Files" in first.out
    assert iowhy("report", rec, "files").out == first.out
    asks(invoke(["report", str(rec), "nope"]).exception, "no-such-report-known", name="nope")
    asks(invoke(["report", "files", "nope"]).exception, "recording-not-found", path="nope")


@pytest.mark.parametrize("words", [["--list"], []])
def test_reports_are_listed(iowhy, words: list[str]) -> None:
    assert "amplification" in iowhy("report", *words).out


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["report", "--list"], "rows"),
        (["diagnose", "--list"], "formats"),
        (["experiment", "--list"], "levers"),
        (["lab", "list"], "scenarios"),
    ],
)
def test_lists_are_there_for_programs_too(
    iowhy, words: list[str], key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # levers look at its files
    assert len(json.loads(iowhy(*words, "--json").out)[key]) > 10
    assert iowhy(*words).status == 0


def test_tables_are_listed(iowhy, rec) -> None:
    rows = json.loads(iowhy("sql", rec, "--list", "--json").out)["rows"]
    assert {"table": "syscalls", "rows": 40, "one_row_is": rows[0]["one_row_is"]} == rows[0]


@pytest.mark.parametrize("words", [["-V"], ["--version"]])
def test_the_version_is_said(iowhy, words: list[str]) -> None:
    assert iowhy(*words).out == f"iowhy {__version__}\n"


def test_help_is_a_command_too(iowhy) -> None:
    top = iowhy("help").out
    assert top == iowhy("--help").out == iowhy().out
    assert all(name in top for name in COMMANDS) and "Exit status" in top
    assert iowhy("help", "run").out == iowhy("run", "--help").out
    assert iowhy("help", "lab", "verify").out == iowhy("lab", "verify", "-h").out


@pytest.mark.parametrize(
    ("words", "argv", "output"),
    [
        ("ls -l", "ls -l", None),
        ("-o out ls -o x", "ls -o x", "out"),
        ("-qo out ls -a", "ls -a", "out"),
        ("-oout ls -a", "ls -a", "out"),
        ("--output=x -q ls --json", "ls --json", "x"),
        ("--output x -- ls -- -l", "ls -- -l", "x"),
        ("-- -odd", "-odd", None),
        ("-p 1,2 --duration 3s", "", None),
    ],
)
def test_what_follows_the_command_belongs_to_it(words: str, argv: str, output: str | None) -> None:
    made = parse(run.Options, words.split())
    assert made.argv == tuple(argv.split()) and not made.as_json
    assert made.output == (None if output is None else Path(output))


def test_options_after_a_lever_are_still_ours() -> None:
    words = ["cpu-quota=0.5", "--runs", "5", "cpu-pin", "make", "-j2", "--runs"]
    made = parse(experiment.Options, words, experiment.is_ours)
    assert made.words == ("cpu-quota=0.5", "cpu-pin", "make", "-j2", "--runs")
    assert made.trials.runs == 5


def test_options_stand_before_and_after_words() -> None:
    for words in ("--json files x.iowhy", "files --json x.iowhy", "files x.iowhy --json"):
        made = parse(report.Options, words.split())
        assert (made.name, made.recording, made.table.format) == ("files", "x.iowhy", "json")


@pytest.mark.parametrize(("texts", "pids"), [(["1,2"], (1, 2)), (["1", "2"], (1, 2))])  # fmt: skip
def test_process_ids_are_joined_or_repeated(texts: Sequence[str], pids: tuple[int, ...]) -> None:
    assert build(run.Options, {"pids": texts}).pids == pids


@pytest.mark.parametrize("text", ["x", "1,x", "0", "-1", "1.5", "", "99999999", "٣"])
def test_what_is_no_process_id_is_refused(text: str) -> None:
    for words in (["run"], ["diagnose", "f"], ["report", "files", "r"]):
        asks(invoke([*words, f"--pid={text}"]).exception, "not-a-process-id")


@pytest.mark.parametrize("command", ["experiment", "compare"])
def test_the_old_letter_of_prepare_is_explained(iowhy, command: str) -> None:
    words = [command, "-p", "rm -f x", "--", "true", "--vs", "true"]
    asks(invoke(words).exception, "p-is-a-process-id", text="rm -f x")
    assert " -p " not in iowhy(command, "--help").out


def test_one_option_of_trials_is_described_once() -> None:
    """The same text for both commands, each with its own number of runs."""
    from iowhy.cli import compare

    most = [
        {p.name: p for p in parameters(options)}["max_runs"]
        for options in (experiment.Options, compare.Options)
    ]
    assert [one.default for one in most] == [15, 20]
    assert most[0].described == most[1].described
    assert build(experiment.Options, {}).trials.max_runs == 15


def test_no_file_is_overwritten_unasked(iowhy, rec) -> None:
    keep = Path("keep.txt")
    keep.write_text("mine")
    table = Path("table.csv")
    table.write_text("lever,level,factor,value\nbaseline,default,,849\nio-contention,x,0.7,790\n")
    for words in (
        ["report", "files", rec, "--format", "csv", "-o"],
        ["sql", rec, "SELECT 1", "--json", "-o"],
        ["experiment", "--from", table, "--export-json"],
        ["experiment", "--from", table, "--export-markdown"],
        ["compare", "a", "--vs", "b", "--export-json"],
        ["diagnose", table, "-o"],
    ):
        done = iowhy(*words, keep)
        assert done.status == 2 and "keep.txt exists already" in done.err, done.err
        assert keep.read_text() == "mine"
        if words[0] in ("report", "sql", "experiment"):
            assert iowhy(*words, keep, "--force").status == 0
            assert keep.read_text() != "mine"
            keep.write_text("mine")
    assert iowhy("report", "files", rec, "--format", "csv", "-o", "/dev/null").status == 0


def test_no_is_1_and_cannot_is_2(iowhy, rec) -> None:
    assert iowhy("check", rec).status == 0
    next(rec.glob("syscalls/*.parquet")).write_bytes(b"PAR1")
    damaged = iowhy("check", rec)
    assert damaged.status == 1 and "damaged" in damaged.out
    assert iowhy("check", "nowhere.iowhy").status == 2
    assert iowhy("nonsense").status == 2


@pytest.mark.parametrize(
    ("words", "id_", "values"),
    [
        (["run", "--nope"], "unexpected-argument-near", {"wrong": "--nope", "near": "--name"}),
        (["rn"], "no-such-command-or-option", {"words": "rn"}),
        (["why"], "word-missing", {"called": "REC"}),
        (["why", "a", "b"], "one-recording-only", {"second": "b"}),
        (["compare", "--runs", "x", "a", "b"], "not-a-number", {"option": "--runs", "text": "x"}),
        (["compare", "--runs", "2", "a", "b"], "below-least", {"given": 2, "least": 3}),
        (["experiment", "--cache", "hot", "x"], "not-a-choice", {"given": "hot"}),
        (["experiment", "--timeout", "soon", "x"], "not-a-time", {"text": "soon"}),
    ],
)
def test_a_wrong_call_is_one_line(
    iowhy, words: list[str], id_: str, values: dict[str, object]
) -> None:
    done = iowhy(*words)
    assert done.status == 2 and done.out == ""
    assert done.err.startswith("iowhy: ") and done.err.count("\n") == 1
    asks(invoke(words).exception, id_, **values)


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`line` in bash, where $IOWHY is the command."""
    path = str(Path(__file__).parents[2] / "python")
    environment = {**os.environ, "IOWHY": " ".join(IOWHY), "PYTHONPATH": path}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_a_reader_that_goes_away_is_no_error_for_any_command(rec: Path, tmp_path: Path) -> None:
    calls = [
        f"why {rec}", f"why {rec} --json", f"report files {rec}", f"sql {rec} --list --json", f"check {rec}",
        f"compare {rec} {rec}", "experiment --list", "lab list", "diagnose --list", "run --help",
    ]  # fmt: skip
    line = " ".join(f"$IOWHY {call} | :; echo ${{PIPESTATUS[0]}};" for call in calls)
    done = shell(line, tmp_path)
    assert done.stderr == "" and done.stdout.split() == ["0"] * len(calls)


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("$IOWHY report files made.iowhy >&-", 2, "iowhy: standard output is closed"),
        ("$IOWHY report events made.iowhy > /dev/full", 2, "iowhy: standard output: No space left"),
        ("$IOWHY why made.iowhy 2>&- | grep -c Because", 0, ""),
        ("$IOWHY why nowhere 2>&-", 2, ""),
        ("$IOWHY why nowhere 2> /dev/full", 2, ""),
        ("mkdir gone; cd gone; rmdir ../gone; $IOWHY report files ../made.iowhy", 2, "iowhy: "),
        ("mkdir gone; cd gone; rmdir ../gone; $IOWHY run true", 2, "working directory is gone"),
        ("$IOWHY diagnose - <&-", 2, "iowhy: "),
        ("$IOWHY diagnose --list | head -1; exit ${PIPESTATUS[0]}", 0, ""),
        (
            "$IOWHY report events made.iowhy --json --limit 0 | head -1; exit ${PIPESTATUS[0]}",
            0,
            "",
        ),
        ("$IOWHY check made.iowhy | true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
@pytest.mark.usefixtures("rec")
def test_streams_that_are_closed_full_or_gone(tmp_path, line, status, said) -> None:  # type: ignore[no-untyped-def]
    done = shell(line, tmp_path)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert said in done.stderr and len(done.stderr.splitlines()) <= 1, done.stderr
    assert done.returncode == status, done.stderr
