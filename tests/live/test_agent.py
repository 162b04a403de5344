"""The agent as it runs: a trigger's recording, metrics, what it keeps, and what is left when it is killed."""

import re
from pathlib import Path

import pytest

from iowhy.agent import keeping
from iowhy.recording import open_recording
from running_agent import agent, command, within

pytestmark = pytest.mark.usefixtures("live")


def test_a_trigger_records_fully_and_is_judged_and_the_next_one_is_bounded(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    with agent(root) as (running, log):
        within(
            60,
            lambda: "recordings in" in log.read_text() and list(root.glob(".open/*/agent_counts")),
        )
        done = command("agent", "trigger", root)
        assert done.returncode == 0, done.stderr
        assert "asked for a recording" in done.stdout
        within(120, lambda: re.search(r"trigger [a-z-]+: .*kept in", log.read_text()))
        assert command("agent", "trigger", root).returncode == 0
        within(
            30, lambda: "not recorded: the last recording was a short time ago" in log.read_text()
        )
        second = command("agent", "run", "-c", root.with_suffix(".toml"))
        assert second.returncode == 2 and "another agent works here" in second.stderr
    assert running.returncode == 0, log.read_text()
    (made,) = root.glob("date=*/host=*/*-trigger-*.iowhy")
    full = open_recording(made)
    assert full.manifest.complete and full.manifest.tables["threads"].kept > 0
    (kept,) = root.glob("date=*/host=*/*-agent.iowhy")
    assert open_recording(kept).manifest.complete
    assert not any((root / keeping.OPEN).iterdir())
    asked = command("agent", "trigger", root)
    assert asked.returncode == 2 and "no agent works here" in asked.stderr
