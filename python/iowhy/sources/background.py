"""A recorder that runs on by itself: who looks at what it records may come and go."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.sources.live import RECORDER, owned, program
from iowhy.sources.printed import printed_beside
from iowhy.users import invoking_user

#: How often the recorder closes its files, so that they can be read.
CLOSE_EVERY_S = 1.0
_PATIENCE_S = 60.0  # loading the programs takes a second; on a machine that is busy, some
_STEP_S = 0.02


class Background(Struct, frozen=True):
    """A recorder in a session of its own, its recording, and the file that it and its command print to."""

    out: Path
    printed: Path
    recorder: "subprocess.Popen[bytes]"
    helper: "subprocess.Popen[bytes] | None"

    def status(self) -> int | None:
        """How it ended (128 + signal when one killed it), None while it runs."""
        returned = self.recorder.poll()
        return returned if returned is None or returned >= 0 else 128 - returned

    def end(self) -> None:
        """Asks it to end, as Ctrl-C does: its command is asked first."""
        if self.helper is None:
            with suppress(ProcessLookupError):
                self.recorder.send_signal(signal.SIGINT)
        elif self.helper.stdin is not None:
            with suppress(BrokenPipeError):
                self.helper.stdin.write(b"end\n")
                self.helper.stdin.flush()

    def wait(self) -> int:
        """Until it has ended; its status."""
        self.recorder.wait()
        status = self.status()
        assert status is not None
        return status


def begin(options: Sequence[str], out: Path) -> Background:
    """Starts the recorder with its options, the kind of recording first; comes back once the recording is there.

    A closed terminal does not reach it. Raises Problem with its words where it ends before.
    """
    printed = printed_beside(out)
    command = [
        str(program(RECORDER)),
        options[0],
        "-o",
        str(out),
        "--close-every",
        str(CLOSE_EVERY_S),
    ]
    owner = invoking_user()
    try:
        with printed.open("xb") as file:
            if owner is not None:
                os.fchown(file.fileno(), owner.uid, owner.gid)
            recorder = subprocess.Popen(
                [*command, *options[1:]],
                env=owned(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
    except FileExistsError:
        raise Problem(
            f"{printed}: exists already; what the command prints would go there"
        ) from None
    began = Background(out, printed, recorder, _helper(recorder.pid) if owner else None)
    until = time.monotonic() + _PATIENCE_S
    while not (out / "manifest.json").exists():
        if recorder.poll() is not None:
            raise Problem(_words(printed))
        if time.monotonic() > until:
            began.end()
            raise Problem("the recorder did not begin within a minute")
        time.sleep(_STEP_S)
    return began


def _helper(recorder: int) -> "subprocess.Popen[bytes]":
    """Who stays root and may end root's recorder, when we have become the user behind sudo."""
    return subprocess.Popen(
        ["/bin/sh", "-c", f"read end && kill -INT {recorder}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _words(printed: Path) -> str:
    """What the recorder said last, without its name; the file goes."""
    text = printed.read_text(errors="replace")[-4096:].strip()
    printed.unlink(missing_ok=True)
    return text.rpartition("iowhy: ")[2] or "the recorder ended before it had recorded anything"
