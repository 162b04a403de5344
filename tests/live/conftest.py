"""Live tests record this machine: they need root and eBPF tracepoints.

Where these are missing, a live test is skipped by name on a developer's machine and fails in CI, so
that a machine without sensors never passes for one whose numbers are right. A test that other processes
spoiled runs again (`disturbances.py`).
"""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

import disturbances
from iowhy.experiments import groups
from iowhy.sources.live import RECORDER, program

# Through sudo too, tests are root's own: a recorder that is called without iowhy would run commands as the user behind it.
os.environ.pop("SUDO_UID", None)

#: The property of a report under which it says that its test ran again, and what had disturbed it.
AGAIN = "ran again"


def pytest_configure(config: pytest.Config) -> None:
    kinds = ", ".join(disturbances.KINDS)
    config.addinivalue_line(
        "markers", f"disturbed_by(*kinds): the only work of others that can make it fail ({kinds})"
    )
    config.addinivalue_line(
        "markers",
        "alone: sets or counts what is of the whole machine, or needs a free CPU: no test runs beside it (`make test`)",
    )


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a test, at most thrice where the work of others made it fail."""
    marker = item.get_closest_marker("disturbed_by")
    kinds = marker.args if marker is not None else disturbances.KINDS
    assert set(kinds) <= set(disturbances.KINDS), (item.nodeid, kinds)
    again: list[tuple[str, object]] = []
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, disturbances.TRIES + 1):
        before = disturbances.read()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        found = disturbances.between(before, disturbances.read())
        failed = next((one for one in reports if one.when == "call" and one.failed), None)
        if failed is None:
            break
        disturbed = [f"{kind}: {found[kind]}" for kind in kinds if kind in found]
        if failed.longrepr is not None and "disturbances.Disturbed" in failed.longreprtext:
            disturbed.append(str(failed.longreprtext.splitlines()[-1]))
        noted = "; ".join(disturbed) or "nothing that this test is sensitive to"
        failed.sections.append((f"what disturbed try {attempt}", noted))
        if not disturbed or attempt == disturbances.TRIES:
            break
        again.append((AGAIN, f"{item.nodeid}, try {attempt}: {noted}"))
    reports[-1].user_properties += again
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [one for several in terminalreporter.stats.values() for one in several]
    properties = [two for one in reports for two in getattr(one, "user_properties", ())]
    again = [line for name, line in properties if name == AGAIN]
    if again:
        terminalreporter.section("disturbed by others, and run again")
        for line in again:
            terminalreporter.line(line)


def cannot_run(request: pytest.FixtureRequest, why: str) -> None:
    """Says by name what cannot run here, and fails for it in CI."""
    text = f"{request.node.nodeid} cannot run here: {why}"
    if os.environ.get("CI") == "true":
        pytest.fail(text)
    pytest.skip(text)


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
def why_no_recording() -> str | None:
    """None where this machine can be recorded, else why not."""
    return _why_not()


@pytest.fixture
def live(why_no_recording: str | None, request: pytest.FixtureRequest) -> None:
    """Use in every live test."""
    if why_no_recording is not None:
        cannot_run(request, why_no_recording)


@pytest.fixture
def before_others(live: None) -> Iterator[None]:  # noqa: ARG001 - where it cannot run, it is said first
    """This process and all that it starts get the CPUs before others do, where groups of tasks can be made."""
    found = groups.find("cpu")
    if isinstance(found, str):
        yield
        return
    group = found.parent / f"iowhy-live-test-{os.getpid()}"
    # The most that there is (cgroup-v1's cpu.shares, cgroup-v2.rst); others have 1,024, or 100.
    knob, value = ("cpu.shares", "262144") if found.version == 1 else ("cpu.weight", "10000")
    group.mkdir()
    try:
        if (group / knob).exists():
            (group / knob).write_text(value)
            (group / "cgroup.procs").write_text("0")
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (found.parent / "cgroup.procs").write_text(pid)
        group.rmdir()
