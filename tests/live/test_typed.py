"""What pages say to type is typed as it stands, in a shell: all that records, experiments or stages.

What only reads is typed in tests/docs/test_commands_run.py; the few that no test types, with the reasons, are in
tests/docs/typed.py. Lines that differ in names alone are typed once. Four are typed at a time: asserted is how each ends.
"""

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from readers_machine import Machine, readers_machine
from tests.docs import typed
from tests.docs.typed import Typed

pytestmark = pytest.mark.usefixtures("live")

LINES = typed.once(
    one for one in typed.typed() if not typed.reading(one) and not typed.elsewhere(one)
)
PATIENCE_S = 180.0
#: Without one of these, what is watched is watched until Ctrl-C.
_ENDS = {"--", "--duration", "list"}
_WATCHED = {"-a", "-p", "--container", "--pod", "--cgroup"}


@dataclass(frozen=True)
class Ended:
    """How a line ended, and where it was typed."""

    status: int
    printed: str
    folder: Path


@pytest.fixture(scope="module")
def ended(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    why_no_recording: str | None,
) -> Iterator[dict[Typed, Future[Ended]]]:
    if why_no_recording is not None:
        yield {}
        return
    asked = [item for item in request.session.items if item.path == Path(__file__)]
    lines = [item.callspec.params["one"] for item in asked if "ended" in item.fixturenames]
    folder = tmp_path_factory.mktemp("typed")
    with readers_machine(folder) as machine, ThreadPoolExecutor(4) as four:
        yield {
            one: four.submit(type_in, one, machine, folder / f"{number}")
            for number, one in enumerate(lines)
        }


def type_in(one: Typed, machine: Machine, at: Path) -> Ended:
    """Types a line, and ends it as its page says where it would go on."""
    folder = machine.fresh(at, list(one.words[1:]))
    line = machine.typed(one.line)
    if one.words[0] == "top":
        return _on_a_terminal(line, machine, folder)
    with (folder / "printed").open("w+") as printed:
        shell = subprocess.Popen(
            ["bash", "-c", line], cwd=folder, env=machine.env, stdin=subprocess.DEVNULL,
            stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        if _WATCHED & set(one.words) and not _ENDS & set(one.words):
            _until_it_records(folder, shell)
            with suppress(ProcessLookupError):  # it could not record, and has said why
                os.killpg(shell.pid, signal.SIGINT)
        status = shell.wait(PATIENCE_S)
        printed.seek(0)
        return Ended(status, printed.read(), folder)


def _until_it_records(folder: Path, shell: subprocess.Popen[bytes]) -> None:
    """Until the recorder has said in the manifest that it watches."""
    end = time.monotonic() + PATIENCE_S
    while shell.poll() is None and time.monotonic() < end:
        for manifest in folder.glob("*.iowhy/manifest.json"):
            if json.loads(manifest.read_text())["command"]["start_ns"]:
                time.sleep(0.5)
                return
        time.sleep(0.05)


def _on_a_terminal(line: str, machine: Machine, folder: Path) -> Ended:
    """Leaves the view once it shows its tables."""
    ours, theirs = pty.openpty()
    env = {**machine.env, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    shell = subprocess.Popen(
        ["bash", "-c", line], cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen, left = b"", False
    while True:
        try:
            some = os.read(ours, 65_536)
        except OSError:  # the other side is closed (EIO)
            break
        seen += some
        if not left and b"Devices" in seen:
            os.write(ours, b"q")
            left = True
    os.close(ours)
    return Ended(shell.wait(PATIENCE_S), seen.decode(errors="replace"), folder)


def _marks(one: Typed) -> list[pytest.MarkDecorator]:
    # It takes the pages of others out of the cache.
    return [pytest.mark.alone] if "cold-machine" in one.words else []


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.call, marks=_marks(one)) for one in LINES]
)
def test_what_a_page_says_to_type_works(one: Typed, ended: dict[Typed, Future[Ended]]) -> None:
    done = ended[one].result()
    # ./load makes more calls of sync than the pages allow it; their own answer is 3.
    breaks = "--expect" in one.words and "./load" in one.words
    assert done.status == (3 if breaks else 0), done.printed
    assert "Traceback" not in done.printed
    # With -q and nothing but what holds, nothing is kept.
    only_held = "-q" in one.words and "-o" not in one.words and "--baseline" in one.words
    if one.words[0] == "run" and not breaks and not only_held:
        assert list(done.folder.glob("*.iowhy/manifest.json")), done.printed


def test_there_are_many() -> None:
    assert len(LINES) > 30
