"""A recorder that runs on alone: who looks at what it records may come and go."""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from msgspec import Struct, structs

from iowhy.errors import Problem
from iowhy.sources.lifeline import Recorder
from iowhy.sources.live import RECORDER, owned, program
from iowhy.sources.printed import printed_beside
from iowhy.sources.request import Request
from iowhy.users import invoking_user

#: How often the recorder closes its files, so that they can be read.
CLOSE_EVERY_NS = 1_000_000_000
_PATIENCE_S = 60.0  # loading the programs takes a second; on a machine that is busy, some
_STEP_S = 0.02


class Background(Struct, frozen=True):
    """A recorder in its own session, its recording, and the file that its command prints to, if there is one."""

    out: Path
    printed: Path | None
    recorder: Recorder
    said: IO[bytes]

    def status(self) -> int | None:
        """How it ended (128 + signal when one killed it), None while it runs."""
        returned = self.recorder.poll()
        return returned if returned is None or returned >= 0 else 128 - returned

    def end(self) -> None:
        """Asks it to end, as Ctrl-C does: its command is asked first."""
        self.recorder.lifeline.end()

    def words(self) -> str:
        """What the recorder said last, without its name."""
        text = os.pread(self.said.fileno(), 1 << 20, 0)[-4096:].decode(errors="replace").strip()
        return text.rpartition("iowhy: ")[2]

    def leave(self) -> None:
        """It goes on when this process ends."""
        self.recorder.lifeline.keep()

    def wait(self) -> int:
        """Until it has ended; its status."""
        self.recorder.wait()
        status = self.status()
        assert status is not None
        return status


def begin(request: Request, out: Path) -> Background:
    """Starts the recorder; comes back once the recording is there. Raises Problem with its words where it ends before."""
    printed = printed_beside(out) if request.argv else None
    said = _file(printed)
    request = structs.replace(request, close_every_ns=CLOSE_EVERY_NS)
    recorder = Recorder(
        [str(program(RECORDER)), *request.words(out)],
        outlives_us=request.outlives_us,
        env=owned(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
    )
    began = Background(out, printed, recorder, said)
    until = time.monotonic() + _PATIENCE_S
    while not (out / "manifest.json").exists():
        if recorder.poll() is not None:
            if printed is not None:
                printed.unlink(missing_ok=True)
            words = began.words() or "the recorder ended before it had recorded anything"
            raise Problem("recorder-ended", said=words)
        if time.monotonic() > until:
            began.end()
            raise Problem("recorder-did-not-begin")
        time.sleep(_STEP_S)
    return began


def _file(printed: Path | None) -> IO[bytes]:
    """What is printed goes there; without a name nothing of it stays."""
    if printed is None:
        return tempfile.TemporaryFile()
    owner = invoking_user()
    try:
        file = printed.open("x+b")
    except FileExistsError:
        raise Problem("output-file-exists", path=printed) from None
    if owner is not None:
        os.fchown(file.fileno(), owner.uid, owner.gid)
    return file
