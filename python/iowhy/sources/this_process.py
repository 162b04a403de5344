"""Record this very process while a block of it runs: for tests, notebooks and programs that ask about themselves."""

import os
import secrets
import select
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from iowhy.errors import Problem
from iowhy.sources.aside import aside, block
from iowhy.sources.lifeline import Recorder
from iowhy.sources.live import RECORDER, program
from iowhy.sources.request import Request

_READY = "IOWHY_READY"
"""Names the descriptor that the recorder writes a byte to once everything is recorded."""

_PATIENCE_MS = 60_000  # loading the programs takes a second; on a machine that is busy, some


@contextmanager
def recorded(out: Path, *, mode: str = "auto") -> Iterator[None]:
    """Records this process, its threads and all that it started or starts in the block, into a new recording `out`.

    The block alone: neither what starts the recorder nor what ends it is in there, nor in a recording that is made then.
    Without the rights for eBPF from /proc alone, as `iowhy run`. Raises Problem where nothing can be recorded.
    """
    with aside(), tempfile.TemporaryFile() as said:
        number = 1 + secrets.randbits(61)
        recorder = _begun(out, mode, said, number)
        try:
            with block(number):
                yield
        finally:
            with suppress(ProcessLookupError):
                recorder.send_signal(signal.SIGTERM)
            recorder.wait()
        if not (out / "manifest.json").exists():
            raise Problem("recorder-ended", said=_words(said))


def _begun(out: Path, mode: str, said: IO[bytes], number: int) -> Recorder:
    """The recorder, once it waits for the block to begin."""
    request = Request(
        pids=(os.getpid(),),
        descendants=True,
        block=f"{threading.get_native_id()}:{number}",
        mode=mode,
    )
    ready, write = os.pipe()
    try:
        recorder = Recorder(
            [str(program(RECORDER)), *request.words(out)],
            env={**os.environ, _READY: str(write)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=(write,),
        )
    except BaseException:
        os.close(ready)
        raise
    finally:
        os.close(write)
    try:
        waiting = select.poll()
        waiting.register(ready, select.POLLIN)
        came = waiting.poll(_PATIENCE_MS)
        if came and came[0][1] & select.POLLIN:
            return recorder
        recorder.terminate()
        recorder.wait()
        if not came:
            raise Problem("recorder-did-not-begin")
        raise Problem("recorder-ended", said=_words(said))
    finally:
        os.close(ready)


def _words(said: IO[bytes]) -> str:
    """What the recorder said, without its name."""
    said.seek(0)
    text = said.read(4096).decode("utf-8", "replace").strip()
    return text.removeprefix("iowhy: ") or "the recorder ended before it had recorded anything"
