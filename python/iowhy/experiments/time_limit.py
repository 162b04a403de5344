"""How long an experiment takes: said before it begins, and bounded."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from msgspec import Struct, field

from iowhy import units
from iowhy.errors import Problem
from iowhy.whys.proof_time import LEAST_BLOCKS, RUNS_BEFORE, USUAL_S, bound


class OutOfTime(Exception):
    """The bound was reached in the middle of a run, or of what a lever does before it."""


@contextmanager
def out_of_time_named(clock: "Clock") -> Iterator[None]:
    """Raises Problem if the bound was reached before there was anything to judge."""
    try:
        yield
    except OutOfTime:
        raise Problem(
            "out-of-time", within_ns=round((clock.within_s or 0) * 1e9), longer=clock.longer
        ) from None


class Clock(Struct):
    """Since it was made; without a bound it only says how long."""

    within_s: float | None
    blocks: int = LEAST_BLOCKS
    began_s: float = field(default_factory=time.monotonic)
    _said: bool = False

    @property
    def until_s(self) -> float | None:
        """When it ends, on the clock of time.monotonic."""
        return None if self.within_s is None else self.began_s + self.within_s

    @property
    def longer(self) -> str:
        """A bound of more than twice as much, as it is typed."""
        return bound(2 * (self.within_s or USUAL_S))

    def levels(self, run_s: float) -> int:
        """How many levels there is time for."""
        if self.until_s is None:
            return sys.maxsize
        return int((self.until_s - time.monotonic()) / (run_s * self.blocks)) - 1

    @contextmanager
    def rings(self) -> Iterator[None]:
        """Raises OutOfTime once if what goes on does not end in time: a lever that copies much, a run that hangs."""
        if self.until_s is None or threading.current_thread() is not threading.main_thread():
            yield
            return

        def ring(_number: int, _frame: FrameType | None) -> None:
            raise OutOfTime

        before = signal.signal(signal.SIGALRM, ring)
        left_s = self.until_s - time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, max(1e-3, left_s))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def announce(self, run_s: float, levels: int, note: Callable[[str], None]) -> None:
        """Says once how long it will take. Raises Problem if even the fewest runs take longer than they may."""
        spent_s = time.monotonic() - self.began_s
        before_s = 0.0 if self._said or spent_s > run_s else RUNS_BEFORE * run_s
        runs = self.blocks * (1 + levels)
        need_s = spent_s + before_s + runs * run_s
        if self.within_s is not None and need_s > self.within_s:
            raise Problem(
                "trials-take-longer",
                need_ns=round(need_s * 1e9),
                runs=runs,
                run_ns=round(run_s * 1e9),
                within_ns=round(self.within_s * 1e9),
                enough=bound(need_s),
            )
        if self._said:
            return
        self._said = True
        last = (
            ""
            if self.within_s is None
            else f", at most {units.duration(self.within_s * 1e9)} (--within)"
        )
        each = units.duration(run_s * 1e9)
        note(f"about {units.duration(need_s * 1e9)}: at least {runs} runs of {each}{last}")
