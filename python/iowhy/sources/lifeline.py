"""What holds a recorder: a pipe that it reads, and whose other end only this process has.

However this process ends, the kernel closes that end; the recorder then closes its recording, and ends.
"""

import fcntl
import os
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

VARIABLE = "IOWHY_LIFELINE"
"""Names what the recorder reads: the number of an open file, or the path of a named pipe."""

_END, _KEEP = b"e", b"k"

#: The ends that are held here.
_held: set[int] = set()


def _let_go(end: int) -> None:
    if end in _held:
        _held.discard(end)
        os.close(end)


def _let_go_of_all() -> None:
    while _held:
        os.close(_held.pop())


# A child that is forked and starts no other program would hold them as well, perhaps for longer.
os.register_at_fork(after_in_child=_let_go_of_all)


def _pipe() -> tuple[int, int]:
    """A pipe that is neither of the standard streams, which may be closed."""
    ends = os.pipe()
    if min(ends) > 2:
        return ends
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    return above[0], above[1]


class Lifeline:
    """One pipe: `reader` is for the recorder, the other end is held until this object or this process goes."""

    def __init__(self) -> None:
        self.reader, end = _pipe()
        _held.add(end)
        self._end = end
        self.let_go = weakref.finalize(self, _let_go, end)

    def handed_over(self) -> None:
        """The recorder has its end, which is closed here."""
        os.close(self.reader)

    def end(self) -> None:
        """Ends the recording now, and its command as Ctrl-C does."""
        self._say(_END)

    def keep(self) -> None:
        """From now on the recording goes on when this process ends."""
        self._say(_KEEP)

    def _say(self, word: bytes) -> None:
        with suppress(BrokenPipeError):  # the recorder has ended
            os.write(self._end, word)


class Recorder(subprocess.Popen[bytes]):
    """A recorder, started with its words. `outlives_us`: it goes on when this process ends."""

    def __init__(
        self,
        words: Sequence[str | os.PathLike[str]],
        *,
        outlives_us: bool = False,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """options: those of Popen."""
        self.lifeline = Lifeline()
        if outlives_us:
            self.lifeline.keep()
        reader = self.lifeline.reader
        try:
            super().__init__(
                words,
                env={**(os.environ if env is None else env), VARIABLE: str(reader)},
                pass_fds=(*pass_fds, reader),
                **options,
            )
        finally:
            self.lifeline.handed_over()
