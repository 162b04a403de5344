"""Record this machine: find the recorder, run it, hand over to the recording it made."""

import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.free_name import free_name
from iowhy.invocation import scripts
from iowhy.messages import say
from iowhy.sources import ending, orphans
from iowhy.sources.lifeline import Recorder
from iowhy.sources.request import Request
from iowhy.users import invoking_user

if TYPE_CHECKING:  # only where another machine is recorded
    from iowhy.sources.ssh import Host

RECORDER = "iowhy-record"

_OWNER = "IOWHY_OWNER"
"""Informs a recorder that runs as root whose the recording shall be, as UID:GID:GROUPS: it hands it over itself."""


def program(name: str) -> Path:
    """The path of one of the project's own programs (iowhy-record, iowhy-disk, iowhy-work).

    $IOWHY_RECORD names the recorder, and the folder of the others, when they are not installed
    next to this Python. Raises Problem when it is nowhere.
    """
    chosen = os.environ.get("IOWHY_RECORD")
    if chosen:
        path = Path(chosen).with_name(name)
        if not os.access(path, os.X_OK):
            raise Problem("recorder-not-a-program", chosen=chosen, path=path)
        return path
    beside = scripts() / name
    if os.access(beside, os.X_OK):
        return beside
    import shutil

    found = shutil.which(name)
    if found is None:
        raise Problem("program-missing", name=name)
    return Path(found)


def name_for(argv: Sequence[str], folder: Path) -> Path:
    """A name for a recording that is not taken: fio.iowhy, fio-2.iowhy, …"""
    stem = re.sub(r"[^A-Za-z0-9._+-]", "_", Path(argv[0]).name) if argv else "machine"
    return free_name(folder, stem)


def record(
    request: Request,
    out: Path,
    *,
    on: "Host | None" = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Has the recorder write the recording `out`. Returns the exit status: of a command its own (128 + signal when one killed it).

    Its standard streams are this process's. `on`: another machine, where it runs in its user's home. Raises Problem
    when the recorder cannot be started or the machine not be reached; SystemExit when there is no recording.
    """
    if on is not None:
        return on.record(program(RECORDER), request, out)
    command = [str(program(RECORDER)), *request.words(out)]
    if request.outlives_us:
        orphans.adopt()
    with ending.recorder_hears() as hearing:
        recorder = Recorder(
            command,
            outlives_us=request.outlives_us,
            cwd=cwd,
            env=owned(os.environ if env is None else env) | request.environment,
            stdout=sys.stderr if request.stdout_to_stderr else None,
            restore_signals=True,
            preexec_fn=hearing.restore,
        )
        hearing.hand_to(recorder.pid)
        if request.outlives_us:
            recorder.returncode = _outlived(recorder.pid, hearing)
        returned = recorder.wait()
    status = returned if returned >= 0 else 128 - returned
    if not (out / "manifest.json").exists():
        # The recorder has said on stderr what is wrong. How a command ended is its own, also where its recording was taken away.
        raise SystemExit(status if request.argv else status or 1)
    return status


def owned(environment: Mapping[str, str]) -> dict[str, str]:
    """A recorder's environment: through sudo it names the user, to whom the recorder gives what it makes."""
    found = dict(environment)
    owner = invoking_user()
    if owner is not None:
        found[_OWNER] = f"{owner.uid}:{owner.gid}:{','.join(map(str, owner.groups))}"
    return found


def _outlived(recorder: int, hearing: ending.Hearing) -> int:
    """How the recorder ended; where a signal killed it, how its command did."""
    returned = orphans.wait_for(recorder)
    command = orphans.eldest() if returned < 0 else None
    if command is None:
        if returned < 0:
            by = signal.Signals(-returned).name
            say(f"the recorder was ended by {by}" + "; is the memory full?" * (by == "SIGABRT"))
        return returned
    hearing.hand_to(command)
    say("the recorder was killed; the command runs on, unrecorded")
    return orphans.wait_for(command)
