"""The agent while it runs: it follows what is counted, starts recordings, keeps within its bounds, and says what it does."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from iowhy.agent import retention, systemd
from iowhy.agent.black_box import BlackBox, folder_of, left_in_memory, move
from iowhy.agent.capture import END, Captures, Judged
from iowhy.agent.counted import Interval, read
from iowhy.agent.devices import Devices
from iowhy.agent.events import Lines, signals
from iowhy.agent.otlp import Push
from iowhy.agent.settings import S, Settings
from iowhy.agent.totals import Totals
from iowhy.agent.triggers import Budget, Fired, Watch
from iowhy.agent.uploads import Uploads
from iowhy.agent.wall_clock import WallClock
from iowhy.errors import Problem
from iowhy.messages import printable
from iowhy.recordings.folder_lock import alone_in, holder
from iowhy.sources.lifeline import Recorder
from iowhy.sources.live import RECORDER, program
from iowhy.sources.statements.followed import Followed
from iowhy.users import is_own

LOCK = ".agent"
BY_HAND = Fired("by-hand", "asked for by hand")
#: Why a trigger that holds starts nothing.
REFUSED = {
    "recording": "a recording is under way",
    "cool_down": "its last recording was a short time ago (cool-down)",
    "budget": "it has used up its recordings of this hour (per-hour)",
    "disk": "its start cannot be saved",
}
#: Settings that only a new start takes, and their keys.
AT_START = {
    "directory": "directory",
    "every_ns": "every",
    "rotate_ns": "rotate",
    "calls": "calls",
    "metrics": "metrics",
    "otlp": "otlp",
    "statements": "statements",
    "black_box_ns": "black-box",
    "black_box_bytes": "black-box-size",
}
#: Until the counting process that was told to end is ended.
PATIENCE_S = 20
#: For what is still to be uploaded when the agent ends.
UPLOADED_WITHIN_S = 10


def say(text: str) -> None:
    """One line of the log."""
    print(printable(text), flush=True)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Only one agent works in a folder. The file holds its process's number. Raises Problem; so where somebody else may write
    in the folder: the agent makes, moves and takes away by paths below it, with its own rights."""
    own(directory)
    with alone_in(directory, LOCK, "another agent works here", number=True):
        yield


def own(directory: Path) -> None:
    """Makes the folder if it is missing. Raises Problem where others may write in it."""
    with suppress(OSError):  # said by who takes the lock
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not is_own(directory.stat()):
            raise Problem("folder-not-private", path=directory)


def running(directory: Path) -> int:
    """The process of the agent that works in a folder. Raises Problem if none does."""
    found = holder(directory, LOCK)
    if found is None:
        raise Problem("no-agent-works-here", path=directory)
    return found


def stopped(settings: Settings) -> int | None:
    """For how many seconds the agent of these settings has not counted, though it runs; None: it counts. Raises Problem if none runs."""
    running(settings.directory)
    quiet_s = time.time() - (settings.directory / LOCK).stat().st_mtime
    return round(quiet_s) if quiet_s > settings.every_ns / S * 3 + PATIENCE_S else None


class Service:
    """One agent. `totals` is what metrics show."""

    def __init__(self, settings: Settings, again: Callable[[], Settings] | None = None) -> None:
        """`again` reads the settings as they are now."""
        self.settings, self.again = settings, again
        self.totals = Totals()
        self.clock = WallClock()
        self.watch = Watch(settings.triggers, Devices(settings.directory))
        self.budget = Budget(settings.directory, settings.cool_down_ns, settings.per_hour)
        self.captures = Captures(
            settings, self.budget, self._judged, partial(self._sent, "verdict", "the webhook")
        )
        if settings.black_box_ns is not None:
            self.captures.box = BlackBox(
                settings.directory, settings.black_box_ns, settings.black_box_bytes, say
            )
        self.uploads = Uploads(settings.directory, settings.upload, say)
        self.push = (
            None
            if settings.otlp is None
            else Push(settings.otlp, self.totals, partial(self._sent, "metrics", "OTLP"))
        )
        self.followed: Followed | None = None
        self._know_triggers()
        self._suppressed: set[tuple[str, str]] = set()
        self._unseen: dict[str, str | None] = {}
        self._not_taken: frozenset[str] = frozenset()
        self._unmoved: list[Path] = []
        self._known: dict[Path, retention.Kept] = {}
        self._failed: str | None = None
        self._said: set[str] = set()
        self._ends = False
        self._inherited: tuple[int, ...] = ()

    def _know_triggers(self) -> None:
        """A counter that comes into being with its first event would seem not to have risen."""
        started = self.budget.state.started
        for name in (*self.settings.triggers, BY_HAND.name):
            self.totals.triggers.setdefault(name, started.get(name, 0))
            for reason in REFUSED:
                self.totals.suppressed.setdefault((name, reason), 0)

    def run(self) -> None:
        """Until SIGTERM or SIGINT. Raises Problem when the counting ends without them."""
        with retention.writing(self.settings.directory, PATIENCE_S) as held:
            if held is None:
                say(
                    f"{self.settings.directory}: what an earlier agent started still writes; left alone"
                )
            else:
                self._out_of_memory()
                self._recover("kept what an earlier agent left")
            if self.settings.statements is not None:
                self.followed = Followed(self.settings.statements, self.totals.ran)
            self._prune()
            self.captures.inherited = self._inherited = () if held is None else (held,)
            with self._box():
                self._follow()
            if not self.captures.under_way():
                self._recover("kept")
        if self.followed is not None:
            self.followed.end()
        self._prune()
        if self.push is not None:
            self.push.end()
        self.uploads.end(UPLOADED_WITHIN_S)

    def _follow(self) -> None:
        every_s = self.settings.every_ns / S
        systemd.notify(f"EXTEND_TIMEOUT_USEC={round((every_s + PATIENCE_S) * 1e6)}")
        folder = self.settings.directory / retention.OPEN
        with signals() as asked, self.counting(folder) as counting:
            assert counting.stdout is not None
            lines = Lines(counting.stdout, asked)
            watchdog_s = systemd.watchdog_s()
            late = time.monotonic() + every_s * 2 + PATIENCE_S
            while not self._ends:
                line = lines.next(None if watchdog_s is None else watchdog_s / 3)
                for number in asked.take():
                    self._signal(number)
                if line == "" and not self._ends:
                    raise Problem("aggregate-ended", recorder=RECORDER, status=counting.wait())
                if line:
                    late = time.monotonic() + every_s * 2 + PATIENCE_S
                    self._interval(read(line))
                # Where no interval comes any more, the watchdog is right.
                if time.monotonic() < late:
                    systemd.notify("WATCHDOG=1")
                    with suppress(OSError):
                        os.utime(self.settings.directory / LOCK)
            systemd.notify("STOPPING=1")
            self.watch.devices.keep()
            self.captures.end()
            if self.captures.under_way():
                say("a recording did not end in time: the next agent keeps it")

    def _out_of_memory(self) -> None:
        """What a trigger of an earlier agent had taken, which was killed since."""
        folder = folder_of(self.settings.directory)
        for path in left_in_memory(folder):
            try:
                move(path, retention.begin(self.settings.directory, path.name.split(".")[0]))
            except OSError as error:
                say(f"{path}: lost: {error}")
        if self.captures.box is None:
            with suppress(OSError):
                folder.rmdir()

    @contextmanager
    def _box(self) -> Iterator[None]:
        """While it runs, what comes before a trigger is recorded."""
        box = self.captures.box
        if box is None:
            yield
            return
        box.inherited = self._inherited
        box.start()
        try:
            yield
        finally:
            box.end()

    def _recover(self, what: str) -> None:
        for path in retention.recover(self.settings.directory):
            say(f"{what}: {path}")

    @contextmanager
    def counting(self, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        """The process that counts into a folder; afterwards it has ended."""
        settings = self.settings
        argv: list[str | Path] = [program(RECORDER), "aggregate", "-o", folder]
        argv += ["--every", str(settings.every_ns / 1e9), "--rotate", str(settings.rotate_ns / 1e9)]
        argv += ["--calls"] if settings.calls else []
        with Recorder(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=self._inherited,
        ) as counting:
            try:
                yield counting
            finally:
                counting.send_signal(END)
                try:
                    counting.communicate(timeout=PATIENCE_S)
                except subprocess.TimeoutExpired:
                    counting.kill()

    def _signal(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._ends = True
        elif number == signal.SIGUSR1:
            self._start(BY_HAND)
        elif number == signal.SIGHUP and self.again is not None:
            systemd.reloading()
            self._read_again(self.again)
            systemd.notify("READY=1")

    def _read_again(self, again: Callable[[], Settings]) -> None:
        """Takes what has changed in the file; what is counted goes on. A file with a mistake changes nothing."""
        try:
            new = again()
            self.uploads.change(new.upload)
        except Problem as problem:
            say(f"not applied, the old settings stay: {problem}")
            return
        kept = {name: getattr(self.settings, name) for name in AT_START}
        later = [name for name in AT_START if getattr(new, name) != kept[name]]
        self.settings = self.captures.settings = replace(new, **kept)
        self.watch.change(new.triggers)
        self.budget.cool_down_ns, self.budget.per_hour = new.cool_down_ns, new.per_hour
        self._know_triggers()
        say(f"settings reloaded; triggers: {', '.join(new.triggers) or 'none'}")
        if later:
            named = ", ".join(AT_START[name] for name in later)
            say(f"needs a restart of the agent: {named}")

    def _interval(self, interval: Interval) -> None:
        self.totals.add(interval)
        systemd.notify("READY=1")
        if interval.lost:
            self._say_once(
                "lost",
                f"{interval.lost} events were not counted (the kernel's table of counts was full or busy); iowhy_lost_events_total counts them from here on",
            )
        if interval.failed is not None and interval.failed != self._failed:
            say(f"not saved: {interval.failed}")
        self._failed = interval.failed
        self._say_unseen(interval)
        for fired in self.budget.fairest(self.watch.look(interval)):
            self._start(fired)
        self._keep([*self._unmoved, *map(Path, interval.closed)])
        self._prune()
        if self.push is not None:
            self.push.push()

    def _say_once(self, what: str, text: str) -> None:
        """What may be so in each interval is said when it is so first."""
        if what not in self._said:
            self._said.add(what)
            say(text)

    def _say_unseen(self, interval: Interval) -> None:
        """What a trigger waits for and this machine does not say is said once: nobody else would notice."""
        unseen = {name: one.unseen(interval) for name, one in self.watch.triggers.items()}
        for name, what in unseen.items():
            if what is not None and what != self._unseen.get(name):
                say(f"trigger {name}: {what}")
        self._unseen = unseen

    def _keep(self, closed: Sequence[Path]) -> None:
        """Moves what is whole to where it belongs; what cannot be moved now (a full disk) is tried again."""
        self._unmoved = []
        for path in closed:
            try:
                say(f"kept: {retention.close(self.settings.directory, path)}")
            except OSError as error:
                self._unmoved.append(path)
                self._say_once(str(path), f"{path} stays there for now: {error.strerror}")

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
            say(f"trigger {fired.name}: {fired.why}; not recorded: {REFUSED[refused]}")

    def _judged(self, judged: Judged) -> None:
        key = (judged.trigger, judged.cause or "none")
        self.totals.verdicts[key] = self.totals.verdicts.get(key, 0) + 1
        where = "" if judged.recording is None else f"; kept in {judged.recording}"
        said = judged.answer or f"no verdict: {judged.failed}"
        say(f"trigger {judged.trigger}: {said}{where}")

    def _sent(self, what: str, to: str, failed: str | None) -> None:
        """Counts what was sent; that it does not arrive is said at the begin of an outage."""
        key = (what, "done" if failed is None else "failed")
        self.totals.sent[key] = self.totals.sent.get(key, 0) + 1
        if failed is not None and what not in self._not_taken:
            say(f"{to} did not accept {what}: {failed}")
        self._not_taken = self._not_taken - {what} if failed is None else self._not_taken | {what}

    def _prune(self) -> None:
        settings = self.settings
        jumped_s = self.clock.jumped_s()
        if jumped_s is not None:
            way = "forward" if jumped_s > 0 else "back"
            say(
                f"the clock was set {way} by {abs(jumped_s):.0f} s; the age of recordings is unaffected"
            )
        gone = retention.prune(
            settings.directory,
            settings.keep_bytes,
            settings.keep_ns,
            self.clock.now_s(),
            self.uploads.is_waiting,
            self.clock.today(),
            self._known,
        )
        for path in gone:
            say(f"removed to stay within bounds: {path}")
        kept = retention.kept(settings.directory, self._known)
        self.uploads.know(kept, gone)
        self._note_kept(sum(one.bytes for one in kept))

    def _note_kept(self, bytes_: int) -> None:
        """In the totals, for who asks."""
        self.totals.kept_bytes = bytes_ + retention.open_bytes(self.settings.directory)
        for result, count in self.uploads.counts.items():
            self.totals.sent["recording", result] = count
        self.totals.to_upload = self.uploads.waiting
