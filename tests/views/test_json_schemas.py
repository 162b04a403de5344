"""What --json prints is what docs/schema/ says, key by key."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from iowhy.lab import verify
from iowhy.reports import reports
from iowhy.sentences import worded
from iowhy.whys.remedy import Fix
from tests.command_line import invoke
from tests.expect.test_expectations import syncing
from tests.json_schema import broken
from tests.lab.test_verify import HDD, scenario, trial
from tests.whys.made import Story

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schema"
PASTES = ROOT / "tests" / "sources" / "fixtures"


def violations(name: str, *words: object) -> list[str]:
    """How the output of a command differs from a schema."""
    done = invoke([*map(str, words), "--json"])
    assert done.exception is None, done.exception
    return broken_in(name, done.stdout)


def broken_in(name: str, text: str) -> list[str]:
    """How a JSON text differs from a schema."""
    return list(broken(json.loads((FOLDER / f"{name}.json").read_text()), json.loads(text)))


@pytest.fixture(scope="module")
def rec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return syncing(400).write(tmp_path_factory.mktemp("schema") / "made.iowhy").path


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema")
    return Story(seconds=0.5).thread(user=0.97).write(folder / "other.iowhy").path


def test_verdicts(rec: Path, other: Path) -> None:
    asked = [
        "--expect",
        "sync_calls <= 1",
        "--expect",
        "cause not-io < 99 %",
        "--expect",
        "extents < 2",
    ]
    assert violations("verdict", "why", rec, *asked) == []
    assert violations("verdict", "why", other) == []


def test_rows(rec: Path) -> None:
    # What a report says is its own test's: here every kind of column.
    for name in ("syscalls", "events", "budget", "file-patterns", "waits"):
        assert name in reports() and violations("rows", "report", name, rec) == []
    assert violations("rows", "sql", rec, "SELECT 1 AS one, NULL AS two") == []


def test_comparisons_and_checks(rec: Path, other: Path) -> None:
    assert violations("comparison", "compare", rec, other) == []
    assert violations("comparison", "compare", other, rec, rec) == []
    assert violations("comparison-steps", "compare", "--baseline", other, rec, rec) == []
    saved = rec.parent / "saved.json"
    done = invoke(["compare", "--json", "--export-json", str(saved), str(rec), str(other)])
    assert saved.read_text() == done.stdout and broken_in("comparison", done.stdout) == []
    assert violations("check", "check", rec) == []


def test_trials_of_commands_and_levers(tmp_path: Path) -> None:
    done = invoke(["compare", "--json", "-r", "3", "-w", "0", "--", "true", "--vs", "sleep 0"])
    assert broken_in("experiment", done.stdout) == []
    assert violations("levers", "experiment", "--list") == []
    words = [
        "-r",
        "3",
        "-w",
        "0",
        "--metric",
        "n: ([0-9]+)",
        "cpu-pin=shared",
        "--",
        "echo",
        "n: 5",
    ]
    done = invoke(["experiment", "--json", "--work-directory", str(tmp_path), *words])
    assert broken_in("experiment", done.stdout) == []


def test_the_lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert violations("lab-list", "lab", "list") == []
    finding = structs.replace(
        trial("sync-storm", 0.9, 10.0).verdict.findings[0],
        fixes=(Fix(worded("x", "sync less"), 0.9),),
    )
    wrong = trial("not-io", 0.9, 10.0)
    right = structs.replace(wrong, verdict=structs.replace(wrong.verdict, findings=(finding,)))
    fixed = trial("healthy", 0.0, 1.0)
    checks = [
        verify.check(scenario(remedy="sync"), HDD, right, fixed),
        verify.check(scenario(), HDD, wrong, fixed),
        *verify.verify([scenario(tools=("no-such-program",))], parent=tmp_path),
    ]
    monkeypatch.setattr("iowhy.lab.stage.check_rights", lambda: None)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: iter(checks))
    done = invoke(["lab", "verify", "--json"])
    assert broken_in("lab-verify", done.stdout.splitlines()[-1]) == []
    monkeypatch.setattr("iowhy.cli.lab.recover", lambda: ["took an emulated disk down"])
    assert violations("undone", "lab", "clean") == []


@pytest.mark.parametrize("paste", ["iostat-12-x.txt", "top-4.txt", "pagecache-large.iostat.txt"])
def test_diagnoses(tmp_path: Path, paste: str) -> None:
    words = ["diagnose", "-o", tmp_path / "out.iowhy", PASTES / paste]
    assert violations("diagnosis", *words) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"version": 1}, "$.version: 1 is not 4"),
        ({"answer": 3}, "$.answer: 3 is none of ['string']"),
        ({"elapsed_s": True}, "$.elapsed_s: True is none of"),
        ({"nwe": 1}, "$: nwe is not described"),
    ],
)
def test_the_check_can_fail(rec: Path, value: dict[str, object], says: str) -> None:
    good = json.loads(invoke(["why", str(rec), "--json"]).stdout)
    schema = json.loads((FOLDER / "verdict.json").read_text())
    assert [one for one in broken(schema, good | value) if one.startswith(says)]
