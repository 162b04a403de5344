"""`iowhy` in a forked child with bounds on its memory and time: quick, as everything is imported once."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: What queries may take (IOWHY_MEMORY), and what a call may have in memory in all; DuckDB keeps to the first for
#: what it spills, and its own code, numpy's and Arrow's come to some hundred MiB.
QUERY_MEMORY = "256MiB"
MEMORY_BYTES = 1 << 30
CPU_S = 30
#: On a busy machine a call may take long without being at fault; one that waits for something never ends.
WALL_S = 120


@dataclass(frozen=True)
class Ended:
    """How a call ended: its status (negative: the signal), what it printed, the most memory that it had."""

    status: int
    out: str
    err: str
    memory_bytes: int

    def why_wrong(self, allowed: frozenset[int]) -> str | None:
        """What is wrong with the way it ended; None when it is an answer or one clear error."""
        last = self.err.strip().splitlines()[-1][:300] if self.err.strip() else ""
        if "Traceback" in self.err:
            return f"traceback: {last}"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}: {last}"
        if self.status not in allowed:
            return f"status {self.status}: {last}"
        if self.memory_bytes > MEMORY_BYTES:
            return f"{self.memory_bytes >> 20} MiB of memory"
        if "\x1b" in self.out + self.err:
            return "an escape sequence is printed"
        said = self.err.strip().splitlines()
        if self.status == 2 and not (said and said[-1].startswith("iowhy: ") and len(said) <= 3):
            return f"no one clear error: {self.err[:300]!r}"
        return None


def prepare() -> None:
    """Imports what calls need, without starting a thread: a fork has only the one that forked."""
    import duckdb  # noqa: F401

    import iowhy.commands.overview
    import iowhy.comparisons.layers
    import iowhy.recordings.check
    import iowhy.reports.engine
    import iowhy.views.comparison_page
    import iowhy.views.rows_table
    import iowhy.views.verdict_page  # noqa: F401


def call(words: Sequence[str], before: Callable[[], None] = lambda: None) -> Ended:
    """`iowhy` with these words; `before` is called in its process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            _become(words, out.fileno(), err.fileno(), before)
        status, usage = _wait(pid)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(4 << 20).decode("utf-8", "replace"))
        return Ended(status, texts[0], texts[1], usage.ru_maxrss * 1024)


def _wait(pid: int) -> tuple[int, resource.struct_rusage]:
    end = time.monotonic() + WALL_S
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            _, _, usage = os.wait4(pid, 0)
            return -signal.SIGALRM, usage
        time.sleep(0.005)


def _become(words: Sequence[str], out: int, err: int, before: Callable[[], None]) -> None:
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["IOWHY_MEMORY"] = QUERY_MEMORY
        null = os.open(os.devnull, os.O_RDONLY)
        for ours, theirs in ((null, 0), (out, 1), (err, 2)):
            os.dup2(ours, theirs)
        sys.argv = ["iowhy", *words]
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        from iowhy.cli.main import main

        before()
        main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
