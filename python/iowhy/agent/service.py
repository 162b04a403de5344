"""The agent while it runs: it follows what is counted, starts recordings, keeps within its bounds, and says what it does."""

import fcntl
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from iowhy.agent import keeping
from iowhy.agent.capture import Captures, Judged
from iowhy.agent.counted import Interval, read
from iowhy.agent.settings import Settings
from iowhy.agent.totals import Totals
from iowhy.agent.triggers import Budget, Fired, Watch
from iowhy.errors import Problem
from iowhy.messages import printable
from iowhy.sources.live import PARENT, RECORDER, program

LOCK = ".agent"
BY_HAND = Fired("by-hand", "asked for by hand")
#: Until the counting process that was told to end is ended.
PATIENCE_S = 20


def say(text: str) -> None:
    """One line of the log."""
    print(printable(text), flush=True)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Only one agent works in a folder. The file holds its process's number. Raises Problem."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise Problem(f"{directory}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Problem(f"{directory}: another agent works here") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def running(directory: Path) -> int:
    """The process of the agent that works in a folder. Raises Problem where none does."""
    try:
        with (directory / LOCK).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return int(file.read())
    except (OSError, ValueError):
        pass
    raise Problem(f"{directory}: no agent works here; `iowhy agent run` starts one")


def notify(text: str) -> None:
    """Tells systemd, where it asked to be told (sd_notify(3))."""
    to = os.environ.get("NOTIFY_SOCKET")
    if not to:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.connect("\0" + to[1:] if to.startswith("@") else to)
        notifier.sendall(text.encode())


class Service:
    """One agent. `totals` is what metrics show."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.totals = Totals()
        self.watch = Watch(settings.triggers)
        self.budget = Budget(settings.directory, settings.cool_down_ns, settings.per_hour)
        self.totals.triggers.update(self.budget.state.started)
        self.captures = Captures(settings, self.budget, self._judged)
        self._suppressed: set[tuple[str, str]] = set()
        self._ends = False

    def run(self) -> None:
        """Until SIGTERM or SIGINT. Raises Problem when the counting ends by itself."""
        for path in keeping.recover(self.settings.directory):
            say(f"kept what an earlier agent left: {path}")
        self._prune()
        with _signals() as asked, self._counting() as counting:
            assert counting.stdout is not None
            lines = _Lines(counting.stdout, asked)
            while not self._ends:
                line = lines.next()
                for number in asked.take():
                    self._signal(number)
                if line == "" and not self._ends:
                    raise Problem(f"{RECORDER} aggregate ended by itself, status {counting.wait()}")
                if line:
                    self._interval(read(line))
            self.captures.end()
        self._prune()

    @contextmanager
    def _counting(self) -> Iterator[subprocess.Popen[bytes]]:
        settings = self.settings
        argv: list[str | Path] = [program(RECORDER), "aggregate", "-o", settings.directory]
        argv += ["--every", str(settings.every_ns / 1e9), "--rotate", str(settings.rotate_ns / 1e9)]
        argv += ["--calls"] if settings.calls else []
        with subprocess.Popen(
            argv,
            env=os.environ | {PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as counting:
            try:
                yield counting
            finally:
                counting.send_signal(signal.SIGINT)
                try:
                    counting.communicate(timeout=PATIENCE_S)
                except subprocess.TimeoutExpired:
                    counting.kill()

    def _signal(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._ends = True
        elif number == signal.SIGUSR1:
            self._start(BY_HAND)

    def _interval(self, interval: Interval) -> None:
        first = not self.totals.histograms and self.totals.waiting is None
        self.totals.add(interval)
        notify("READY=1\nWATCHDOG=1" if first else "WATCHDOG=1")
        if interval.lost:
            say(f"{interval.lost} events found no room: too many control groups and devices")
        for fired in self.watch.look(interval):
            self._start(fired)
        for path in interval.closed:
            say(f"kept {path}")
        self._prune()

    def _start(self, fired: Fired) -> None:
        refused = self.captures.ask(fired)
        if refused is None:
            self.totals.triggers[fired.name] = self.budget.state.started[fired.name]
            self._suppressed = {key for key in self._suppressed if key[0] != fired.name}
            say(f"trigger {fired.name}: {fired.why}; recording")
            return
        key = (fired.name, refused)
        self.totals.suppressed[key] = self.totals.suppressed.get(key, 0) + 1
        # A condition holds for many intervals: that it starts nothing is said once.
        if key not in self._suppressed:
            self._suppressed.add(key)
            say(f"trigger {fired.name}: {fired.why}; not recorded: {_REFUSED[refused]}")

    def _judged(self, judged: Judged) -> None:
        key = (judged.trigger, judged.cause or "none")
        self.totals.verdicts[key] = self.totals.verdicts.get(key, 0) + 1
        where = "" if judged.recording is None else f"; kept in {judged.recording}"
        said = judged.answer or f"no verdict: {judged.failed}"
        say(f"trigger {judged.trigger}: {said}{where}")

    def _prune(self) -> None:
        settings = self.settings
        for path in keeping.prune(
            settings.directory, settings.keep_bytes, settings.keep_ns, time.time()
        ):
            say(f"taken away to keep within bounds: {path}")
        kept = sum(one.bytes for one in keeping.kept(settings.directory))
        self.totals.kept_bytes = kept + keeping.open_bytes(settings.directory)


_REFUSED = {
    "recording": "a recording is under way",
    "cool_down": "the last recording was a short time ago (cool-down)",
    "budget": "there were as many in this hour as there may be (per-hour)",
    "disk": "it cannot be written down that it began",
}


class _Asked:
    """Signals that came."""

    def __init__(self, wake: int) -> None:
        self.wake = wake
        self._came: list[int] = []

    def came(self, number: int, _frame: object) -> None:
        self._came.append(number)

    def take(self) -> list[int]:
        came, self._came = self._came, []
        return came


@contextmanager
def _signals() -> Iterator[_Asked]:
    """Signals wake whoever waits for a line, and are taken there."""
    wake, write = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write, False)
    asked = _Asked(wake)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = {number: signal.signal(number, asked.came) for number in numbers}
    woken = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield asked
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(write)


class _Lines:
    """Lines of a process, or a signal, whichever comes first."""

    def __init__(self, stream: IO[bytes], asked: _Asked) -> None:
        self._fd = stream.fileno()
        self._wake = asked.wake
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._fd, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)

    def next(self) -> str | None:
        """The next line; None: a signal came; empty: there is none any more."""
        while b"\n" not in self._rest:
            ready = {key.fd for key, _ in self._selector.select()}
            if self._wake in ready:
                with suppress(BlockingIOError):
                    os.read(self._wake, 4096)
                return None
            more = os.read(self._fd, 1 << 16)
            if not more:
                return ""
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()
