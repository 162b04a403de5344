"""The full recording that a trigger starts: made, judged on the spot, moved to where it belongs, and said to who asked."""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from signal import SIGTERM
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from iowhy.agent import host, retention
from iowhy.agent.black_box import TAKEN, BlackBox, Running, move
from iowhy.agent.deadline import Connections
from iowhy.agent.settings import S, Settings
from iowhy.agent.triggers import Budget, Event, Fired, boot_ns
from iowhy.recordings.manifest import MANIFEST
from iowhy.sources.lifeline import Recorder
from iowhy.sources.live import RECORDER, program

#: A full recording takes at most this part of what is kept.
PART = 4
JUDGED_WITHIN_S = 300
JUDGE = (sys.executable, "-m", "iowhy.agent.trigger_answer")
POSTED_WITHIN_S = 10
#: A webhook that does not take a verdict is asked again after each of these.
AGAIN_S = (2, 8)
#: What a recorder is told to end by. SIGINT it may ignore, as its agent did when that was started: what a shell starts in the background does.
END = SIGTERM
#: Until a recorder that was told to end is ended.
PATIENCE_S = 20


class Judged(Struct, frozen=True):
    """What became of a trigger's recording. `answer` says what triggered and then the verdict of who suffered it, `cause` is its first finding
    and `share` what that takes of the time; None: none was found. `of` is the service or disk that the trigger held of. `failed` says why there is no recording, or no verdict."""

    trigger: str
    why: str
    recording: Path | None
    answer: str | None = None
    cause: str | None = None
    share: float | None = None
    failed: str | None = None
    of: str | None = None

    def as_json(self) -> dict[str, object]:
        """What a webhook gets."""
        return {
            "trigger": self.trigger,
            "why": self.why,
            "of": self.of,
            "host": host.name(),
            "recording": None if self.recording is None else str(self.recording),
            "answer": self.answer,
            "cause": self.cause,
            "share": self.share,
            "failed": self.failed,
        }


class Captures:
    """One full recording at a time; `judged` is called with each, in its own thread, and `posted` with why a webhook did not get it, or
    None."""

    def __init__(
        self,
        settings: Settings,
        budget: Budget,
        judged: Callable[[Judged], None],
        posted: Callable[[str | None], None],
    ) -> None:
        self.settings, self.budget, self.judged, self.posted = settings, budget, judged, posted
        #: What came before a trigger; None: nothing of that is recorded.
        self.box: BlackBox | None = None
        self._thread: threading.Thread | None = None
        self._recorder: subprocess.Popen[bytes] | None = None
        self._judge: subprocess.Popen[bytes] | None = None
        self._ends = False
        #: Open files that the recorder holds as long as it lives (retention.writing).
        self.inherited: tuple[int, ...] = ()

    def under_way(self) -> bool:
        """Whether a recording is being made or judged."""
        return self._thread is not None and self._thread.is_alive()

    def ask(self, fired: Fired) -> str | None:
        """Starts a recording; or says why not: `recording` (one is under way), `cool_down`, `budget` or `disk`."""
        if self.under_way():
            return "recording"
        now = boot_ns()
        refused = self.budget.refusal(fired, now)
        if refused is not None:
            return refused
        try:
            self.budget.start(fired, now)
        except OSError:
            return "disk"
        self._thread = threading.Thread(target=self._capture, args=[fired], daemon=True)
        self._thread.start()
        return None

    def end(self) -> None:
        """Ends what is under way, and waits for it; it is kept, and judged later by who wants."""
        self._ends = True
        if self._recorder is not None:
            with suppress(ProcessLookupError):
                self._recorder.send_signal(END)
        if self._judge is not None:
            self._judge.terminate()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _capture(self, fired: Fired) -> None:
        try:
            judged = self._recorded(fired)
        except OSError as error:
            judged = Judged(fired.name, fired.why, None, failed=str(error))
        judged = replace(judged, of=fired.of or None)
        self.budget.end(fired, boot_ns())
        self.judged(judged)
        if self.settings.webhook is not None:
            self.posted(post(self.settings.webhook, judged))

    def _recorded(self, fired: Fired) -> Judged:
        settings = self.settings
        path = retention.begin(settings.directory, f"{TAKEN}{fired.name}")
        taken = None if self.box is None else self.box.take(fired.name)
        why = self._from_now(path) if taken is None else self._from_before(taken, path, fired)
        if not (path / MANIFEST).exists():
            return Judged(fired.name, fired.why, None, failed=why or "nothing was recorded")
        if self._ends or why is not None:
            kept = retention.close(settings.directory, path)
            return Judged(fired.name, fired.why, kept, failed=why or "the agent ends")
        before_s = 0 if taken is None else taken[1]
        event = Event.of(fired, settings.every_ns, before_s)
        found, failed = self._verdict(path, "null" if event is None else event.as_json())
        findings = found.get("findings") or [{}]
        return Judged(
            fired.name,
            fired.why,
            retention.close(settings.directory, path),
            found.get("answer"),
            findings[0].get("cause"),
            findings[0].get("share"),
            failed,
        )

    def _from_now(self, path: Path) -> str | None:
        """Records from here on; gives why that did not work."""
        settings = self.settings
        argv: list[str | Path] = [
            program(RECORDER),
            "machine",
            "-o",
            path,
            "--duration",
            str(settings.record_ns / 1e9),
        ]
        argv += ["--max-size", str(settings.keep_bytes // PART)]
        with Recorder(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=self.inherited,
        ) as self._recorder:
            _, errors = self._recorder.communicate()
        if self._recorder.returncode == 0:
            return None
        said = errors.decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"the recorder ended with status {self._recorder.returncode}"

    def _from_before(self, taken: tuple[Running, float], path: Path, fired: Fired) -> str | None:
        """Goes on with what is recorded already, and moves it out of memory; gives why that did not work."""
        running, before_s = taken
        self._recorder = running.process
        if not self._ends:
            with suppress(subprocess.TimeoutExpired):
                self._recorder.wait(self.settings.record_ns / S)
        if self._recorder.poll() is None:
            self._recorder.send_signal(END)
        status = self._recorder.wait()
        note = (
            f"trigger {fired.name}, {before_s:.1f} s after the begin of the recording: {fired.why}"
        )
        move(running.path, path, note)
        return None if status == 0 else f"the recorder ended with status {status}"

    def _verdict(self, path: Path, event: str) -> tuple[dict[str, Any], str | None]:
        """What the recording says of the event, or why there is no verdict: in its own process, so that what it takes of memory is given back."""
        with subprocess.Popen(
            [*JUDGE, event, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
        ) as self._judge:
            try:
                said, errors = self._judge.communicate(timeout=JUDGED_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._judge.kill()
                return {}, f"no verdict within {JUDGED_WITHIN_S} s"
        try:
            found: dict[str, Any] = json.loads(said)
        except ValueError:
            ends = "the agent ends" if self._ends else None
            return {}, ends or errors.decode(errors="replace").strip() or "no verdict"
        return found, None


class _Opened(urllib.request.HTTPHandler):
    """Over connections that have a deadline."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._kind = connections.watched(HTTPConnection)

    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._kind, request)


class _OpenedSafely(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._kind = connections.watched(HTTPSConnection)

    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._kind, request)


def post(address: str, judged: Judged) -> str | None:
    """Sends what became of a trigger to a webhook; gives why it did not get there, at the last try."""
    request = urllib.request.Request(
        address,
        json.dumps(judged.as_json()).encode(),
        {"Content-Type": "application/json"},
        method="POST",
    )
    connections = Connections()
    opener = urllib.request.build_opener(_Opened(connections), _OpenedSafely(connections))
    for wait_s in (*AGAIN_S, None):
        try:
            with (
                connections.within(POSTED_WITHIN_S),
                opener.open(request, timeout=POSTED_WITHIN_S),
            ):
                if not connections.late:
                    return None
            why = f"no whole answer within {POSTED_WITHIN_S} s"
        except (OSError, HTTPException) as error:
            why = str(error)
        if wait_s is not None:
            time.sleep(wait_s)
    return why
