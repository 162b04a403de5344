"""`iowhy experiment` as a command: what it takes, what it refuses, what it saves."""

import json
import shlex
from pathlib import Path

import pytest

from iowhy.commands.experiment import split
from iowhy.experiments.levers import levers
from tests.command_line import invoke
from tests.problems import asks

from .test_words import PUBLISHED


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return lambda *arguments: invoke(["experiment", *arguments])


def test_levers_come_before_the_command():
    assert split(["cpu-quota=0.5", "cpu-pin", "make", "-j2"]) == (
        ["cpu-quota=0.5", "cpu-pin"],
        ["make", "-j2"],
    )
    assert split(["make", "cpu-pin"]) == ([], ["make", "cpu-pin"])


def test_every_lever_is_listed(run):
    output = run("--list").output
    assert all(f"{name}: " in output for name in levers())


def test_a_published_table_is_judged_and_saved(run, tmp_path):
    done = run(
        *("--from", str(PUBLISHED), "--export-json", str(tmp_path / "r.json")),
        *("--export-markdown", str(tmp_path / "r.md")),
    )
    assert done.exit_code == 0 and done.output.startswith("CPU-bound: "), done.output
    assert json.loads((tmp_path / "r.json").read_text())["iowhy"]["measure"] == "deletes"
    assert (tmp_path / "r.md").read_text().startswith("# CPU-bound: ")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["mkdir", "made here"], "add --prepare " + shlex.quote("rm -rf 'made here'")),
        (["sh", "-ec", "mkdir out; :"], "left out behind"),
        # It made b of a: to remove that would be the end of it.
        (["mv", "a", "b"], "used something up: --prepare takes a shell command"),
    ],
)
def test_a_command_whose_second_run_fails_is_told_what_to_add(run, command, said):
    Path("a").write_text("kept")
    done = run("-w", "0", "cpu-pin=shared", "--", *command)
    asks(done.exception, "failed-command")
    text = str(done.exception)
    assert said in text
    assert ("rm -rf" in text) == (command[0] != "mv")
    assert (Path("b") if command[0] == "mv" else Path("a")).read_text() == "kept"


def test_what_is_to_be_added_lets_it_run(run):
    done = run("-r", "3", "cpu-pin=shared", "--prepare", "rm -rf out", "--", "mkdir", "out")
    assert done.exit_code == 0, done.output


def test_a_command_whose_first_run_fails_left_nothing(run):
    done = run("cpu-pin=shared", "--", "sh", "-c", "touch here; exit 3")
    asks(done.exception, "failed-command", why="exit status 3")


def test_a_lever_without_rights_runs_and_saves(run, tmp_path):
    saved = tmp_path / "r.json"
    done = run(
        *("-r", "3", "-w", "0", "--seed", "4", "--metric", "n: ([0-9]+)", "--unit", "n"),
        *("--export-json", str(saved), "cpu-pin=shared", "--", "echo", "n: 5"),
    )
    assert done.exit_code == 0, (done.output, done.exception)
    assert "seed 4" in " ".join(done.output.split())
    read = json.loads(saved.read_text())
    assert [entry["metric"]["values"] for entry in read["results"]] == [[5.0] * 3] * 2
    assert read["iowhy"]["answers"][0]["verdict"] == "not bound by"


@pytest.mark.parametrize(
    ("arguments", "id_", "values"),
    [
        ([], "experiment-of-what", {}),
        (["cpu-pin"], "experiment-of-what", {}),
        (["cpu-pni", "true"], "lever-unknown", {"hint": "; did you mean cpu-pin?"}),
        (["cpu-quota=2", "true"], "not-a-share", {"name": "cpu-quota", "text": "2"}),
        (["cpu-pin=all", "true"], "level-unknown", {"name": "cpu-pin", "text": "all"}),
        (["cpu-pin", "cpu-pin=one", "true"], "lever-given-twice", {"twice": "cpu-pin"}),
        (["--cache", "hot", "true"], "not-a-choice", {"called": "--cache", "given": "hot"}),
        (
            ["--work-directory", "/nowhere", "true"],
            "work-directory-not-directory",
            {"where": "/nowhere"},
        ),
        (["-m", "9", "-M", "4", "true"], "min-runs-above-max-runs", {"min_runs": 9, "max_runs": 4}),
        (["--metric", "(", "cpu-pin", "true"], "metric-not-a-pattern", {"pattern": "("}),
        (["--from", "nowhere.csv"], "path-error", {"path": "nowhere.csv"}),
        (["--from", "t.csv", "true"], "from-with-command", {}),
        (
            ["--recording", "nowhere.iowhy", "true"],
            "recording-not-found",
            {"path": "nowhere.iowhy"},
        ),
        (
            ["--export-json", "nowhere/r.json", "cpu-pin", "true"],
            "no-directory",
            {"path": "nowhere/r.json"},
        ),
        (
            ["cpu-pin", "no-such-command-at-all"],
            "no-such-lever",
            {"first": "no-such-command-at-all"},
        ),
        (
            ["-w", "0", "cpu-pin", "--", "sh", "-c", "exit 4"],
            "failed-command",
            {"why": "exit status 4"},
        ),
        (
            ["-w", "0", "--timeout", "0.1", "cpu-pin", "--", "sleep", "9"],
            "failed-command",
            {"why": "did not end within 0.1 s (--timeout)"},
        ),
        (
            ["-w", "0", "--prepare", "exit 5", "cpu-pin", "true"],
            "helper-failed",
            {"flag": "--prepare", "line": "exit 5", "status": 5},
        ),
    ],
)
def test_bad_input_is_one_clear_error(run, arguments, id_, values):
    asks(run(*arguments).exception, id_, **values)
