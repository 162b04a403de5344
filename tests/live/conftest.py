"""Live tests record this machine: they need root and eBPF tracepoints.

Where these are missing, a live test is skipped by name on a developer's machine and fails in CI, so
that a machine without sensors never passes for one whose numbers are right.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from iowhy.sources.live import RECORDER, program


def _why_not() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    try:
        probed = subprocess.run(
            [program(RECORDER), "probe"], capture_output=True, text=True, timeout=60, check=False
        )
        sensors = {s["name"]: s for s in json.loads(probed.stdout)["sensors"]}
    except Exception as error:
        return f"the recorder cannot be asked what it can do here: {error}"
    syscalls = sensors.get("syscalls", {})
    return None if syscalls.get("ran") else f"no eBPF tracepoints: {syscalls.get('why')}"


@pytest.fixture(scope="session")
def can_record() -> str | None:
    """None where this machine can be recorded, else why not."""
    return _why_not()


@pytest.fixture
def live(can_record: str | None, request: pytest.FixtureRequest) -> None:
    """Use in every live test: says by name what cannot run, and fails for it in CI."""
    if can_record is None:
        return
    told = f"{request.node.nodeid} cannot run here: {can_record}"
    if os.environ.get("CI") == "true":
        pytest.fail(told)
    pytest.skip(told)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """An empty directory on a real disk (tests that count requests need one)."""
    return tmp_path
