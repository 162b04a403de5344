"""A trial around its command: what it printed, and how the recorder's end is told from ours."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from iowhy.lab import trial
from iowhy.lab.scenario import Plan
from iowhy.lab.scenarios import scenario
from iowhy.lab.stage import Choice
from iowhy.sources import live
from iowhy.sources.request import Request
from tests.problems import wrong


def test_a_signal_to_us_is_not_a_failure_of_the_recorder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ends(status: int) -> None:
        def record(*_: Any, **__: Any) -> int:
            raise SystemExit(status)

        monkeypatch.setattr(live, "record", record)
        trial.record_plan(Plan(("true",)), tmp_path / "x.iowhy", "0" * 32)

    with pytest.raises(SystemExit):
        ends(143)
    with wrong("recorder-made-no-recording", code=1):
        ends(1)


def test_what_the_command_prints_is_caught_and_ours_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def record(asked: Request, *_: Any, env: dict[str, str], **__: Any) -> int:
        assert (
            env["IOWHY_MARK"] == "a" * 32
            and env["MORE"] == "1"
            and env["PATH"] == os.environ["PATH"]
        )
        return subprocess.run(asked.argv, check=False).returncode

    monkeypatch.setattr(live, "record", record)
    plan = Plan(("sh", "-c", "echo one; echo '{\"bytes\": 7}'; exit 3"), env={"MORE": "1"})
    status, text, _ = trial.record_plan(plan, tmp_path / "x.iowhy", "a" * 32)
    assert (status, trial._figures(plan, text)) == (3, {"bytes": 7})
    os.write(1, b"ours\n")
    assert capfd.readouterr().out == "ours\n"


@pytest.mark.parametrize(("reads", "tries"), [([0], 1), ([5, 0], 2), ([5, 5, 5], 3)])
def test_what_was_to_be_warm_and_is_read_again_is_tried_again(
    reads: list[int], tries: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left, last = list(reads), []

    def once(*_: Any, **given: bool) -> int | None:
        last.append(given["last"])
        found = left.pop(0)
        return None if found and not given["last"] else found

    monkeypatch.setattr(trial, "_once", once)
    one = scenario("cold-pass")
    assert trial.run(one, one.broken, Choice("ext4", "hdd"), parent=tmp_path) == reads[-1]
    assert len(last) == tries and last.count(True) == (tries == trial.TRIES)


@pytest.mark.parametrize("text", ["", "plain words", "[1, 2]", '{"a": '])
def test_a_program_without_figures_has_none(text: str) -> None:
    assert trial._figures(Plan(("true",)), text) == {}


def test_statistics_are_those_of_the_command() -> None:
    before = {"reads": 5, "paced": True, "busy_ns": 10}
    after = {"reads": 9, "paced": True, "busy_ns": 30}
    assert trial._difference(before, after) == {"reads": 4, "busy_ns": 20}
    assert trial._difference(None, after) == {}


def test_a_recording_is_not_overwritten_nor_is_anything_done_for_it(tmp_path: Path) -> None:
    one = scenario("cpu-only")
    with wrong("folder-exists", path=tmp_path):
        trial.run(one, one.broken, Choice("ext4", "memory"), parent=tmp_path, keep=tmp_path)
    assert list(tmp_path.iterdir()) == []
