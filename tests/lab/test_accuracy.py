"""docs/accuracy.md is made from what verify prints."""

import json
from pathlib import Path

import pytest

from iowhy.lab import accuracy, verify
from iowhy.lab.scenarios import scenarios
from tests.problems import wrong

from .test_verify import HDD, scenario, trial


def test_right_and_wrong_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = scenario()
    checks = [
        verify.check(one, HDD, trial("sync-storm", 0.9), trial("healthy", 0.0, 1.0)),
        verify.check(one, HDD, trial("cpu-serial", 0.9), trial("healthy", 0.0, 1.0)),
    ]
    cells = verify.confusion(checks)
    run = {
        "scenarios": [check.document() for check in checks],
        "confusion": [
            dict(zip(("expected", "found", "count", "right"), c, strict=True)) for c in cells
        ],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    accuracy.main([str(path), str(path)])
    page = capsys.readouterr().out
    assert "**2 of 4** scenario runs came out right" in page
    assert "| sync-storm | cpu-serial | 2 | **no** |" in page
    assert "| healthy | healthy | 4 | yes |" in page
    assert "90% | 90% | 90% | – | healthy 0%" in page
    # Two of four first causes are right; both gains are. A wrong cause of a broken run is none of a healthy one.
    assert "| ext4 | 4 | 2 (50%) | 4 (100%) | 4 (100%) | 0 |" in page
    assert "Of the 4 with a fix" in page and "the fix saved in 4, within 10 in 4" in page


def test_a_cause_told_of_a_healthy_run_counts() -> None:
    control = scenario(("healthy",), None)
    checks = [
        verify.check(scenario(), HDD, trial("sync-storm", 0.9), trial("cpu-serial", 0.5, 1.0)),
        verify.check(control, HDD, trial("sync-storm", 0.5), None),
        verify.check(control, HDD, trial("healthy", 0.0), None),
    ]
    page = accuracy.page([{"scenarios": [one.document() for one in checks], "confusion": []}])
    line = next(line for line in page.splitlines() if line.startswith("| ext4 | 3 "))
    assert line.endswith("| 2 |"), line


def test_what_was_not_run_is_neither_right_nor_wrong() -> None:
    check = verify.Check(scenario(), HDD, None, None, (), (), "oracle is not installed")
    page = accuracy.page([{"scenarios": [check.document()], "confusion": []}])
    assert "**0 of 0** scenario runs" in page
    assert "| not run: oracle is not installed |" in page


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    for text in ("", "[]", "{}"):
        path = tmp_path / "x.json"
        path.write_text(text)
        with wrong("not-lab-results", path=path):
            accuracy.main([str(path)])


def test_the_documentation_names_every_scenario() -> None:
    page = (Path(__file__).parents[2] / "docs/lab.md").read_text()
    missing = [one.name for one in scenarios() if f"`{one.name}`" not in page]
    assert missing == []
