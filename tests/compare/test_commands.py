"""Commands compared by running them; what is asserted does not hang on how long they take."""

import json

import pytest

from tests.command_line import invoke
from tests.numbers_told import tells
from tests.problems import asks


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    return lambda *arguments: invoke(["compare", *arguments])


def test_a_metric_is_compared_in_its_own_direction(run, tmp_path):
    order = tmp_path / "order"
    first = f"echo a >> {order}; echo qps: 100"
    second = f"echo b >> {order}; echo qps: 50"
    words = ["-r", "3", "-w", "0", "--seed", "3", "--metric", "qps: ([0-9]+)", "--unit", "1/s"]
    done = run(*words, "--fail-on-regression", "5%", "--", first, "--vs", second)
    assert done.exit_code == 1, done.output
    output = " ".join(done.output.split())
    assert tells(output, "2.00", "2.00", "2.00")
    # What was measured stands beside the ratio.
    assert "100 1/s" in output and "50 1/s" in output
    runs = order.read_text().split()
    # A disturbed run is run again: at least so many.
    assert runs.count("a") >= 3 and runs.count("b") >= 3


def test_prepare_and_conclude_run_around_each_run_and_setup_once(run, tmp_path):
    notes = tmp_path / "notes"
    done = run(
        *("-r", "3", "-w", "1", "--json"),
        *("-s", f"echo setup >> {notes}", "-c", f"echo cleanup >> {notes}"),
        *("-P", f"echo p >> {notes}", "-C", f"echo c >> {notes}"),
        *("--", f"echo run >> {notes}", "--vs", f"echo run >> {notes}"),
    )
    assert done.exit_code == 0, done.output
    lines = notes.read_text().split()
    assert lines[0] == "setup" and lines[-1] == "cleanup"
    # One warm-up and three runs of each, and perhaps a disturbed one again.
    around = lines[1:-1]
    assert len(around) >= 24 and around == ["p", "run", "c"] * (len(around) // 3)
    assert len(json.loads(done.stdout)["results"][0]["times"]) == 3


def test_a_command_that_fails_or_hangs_is_told(run):
    failed = run("-r", "3", "-w", "0", "--", "true", "--vs", "exit 3")
    asks(failed.exception, "failed-command", why="exit status 3")
    hung = run("-r", "3", "-w", "0", "--timeout", "0.2", "--", "sleep 60", "--vs", "true")
    asks(hung.exception, "failed-command", why="did not end within 0.2 s (--timeout)")
