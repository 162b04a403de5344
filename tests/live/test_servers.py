"""Real servers, as the distribution has them, started by their scenarios on an emulated disk: their cause is found, as are they."""

from pathlib import Path

import pytest

from conftest import cannot_run
from disturbances import Disturbed
from iowhy.lab import shell, trial
from iowhy.lab.scenarios import scenario
from iowhy.lab.stage import Choice

pytestmark = pytest.mark.usefixtures("live", "before_others")


@pytest.mark.parametrize(
    ("name", "scale", "program"),
    [
        ("redis-always", 0.3, "appendfsync everysec"),
        ("postgres-clients", 0.2, "synchronous_commit = off"),
        ("nginx-cold", 0.3, "into memory before"),
    ],
)
def test_a_server_is_slow_for_its_reason(
    name: str,
    scale: float,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    one = scenario(name)
    lacking = shell.missing(one.tools)
    if lacking is not None:
        cannot_run(request, lacking)
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    choice = Choice(fs="ext4", device="hdd", scale=scale)
    # Not below pytest's directory: its name is too long for a socket, and only root can reach it.
    found = trial.run(one, one.broken, choice)
    assert found.top is not None, found.verdict.answer
    why = [link.statement for link in found.top.chain]
    if found.found == "cache-cold" and not any("loop" in statement for statement in why):
        raise Disturbed(f"the machine's own disk had to be read: {why}")
    assert found.found in one.broken.right_on("hdd"), (found.verdict.answer, why)
    assert any(program in text for text in found.top.remedies), found.top
