"""What came before a trigger: full recordings in memory (tmpfs), all the time, of which the oldest is kept when one fires.

Each is an ordinary recording of the machine, so that a trigger's is one from its first instant to its last, with all that a recording has to know from
its start. The next begins while the last still runs: the older of two goes when the newer is as old as what is asked for. So at any time
the last `length` is in one, with up to three times that before it; two run for a third of the time. No more than a third of the bound is one's: where
it fills sooner, the next begins sooner, and less time before a trigger is kept, which is said.
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

from msgspec import Struct

from iowhy.agent.retention import SUFFIX
from iowhy.agent.settings import S
from iowhy.errors import Problem
from iowhy.recordings.allocated import allocated_bytes
from iowhy.recordings.manifest import MANIFEST
from iowhy.sources.lifeline import Recorder
from iowhy.sources.live import RECORDER, program
from iowhy.written_files import write_whole

MEMORY = Path("/dev/shm")
TAKEN = "trigger-"
#: A recording's length, in lengths that are asked for: the next begins one before its end.
LENGTHS = 4
#: Recordings at a time: two in the ring, and one of a trigger.
AT_ONCE = 3
#: How often a recorder closes its files, and how often it is looked whether the next must begin.
CLOSED_EVERY_S, LOOK_EVERY_S = 2, 0.25
#: After a recorder that ended at once.
AGAIN_S = 30.0


class Running(Struct):
    """A recorder and its recording; `began_s` on the monotonic clock, None until its manifest says so: on a busy machine a recorder takes
    seconds to begin."""

    process: subprocess.Popen[bytes]
    path: Path
    began_s: float | None = None

    def age_s(self) -> float:
        """What is in it of the time before now."""
        if self.began_s is None:
            with suppress(OSError, ValueError, KeyError):
                start_ns = json.loads((self.path / MANIFEST).read_bytes())["command"]["start_ns"]
                self.began_s = None if start_ns is None else start_ns / S
        return 0.0 if self.began_s is None else time.monotonic() - self.began_s


class BlackBox:
    """The ring, followed in its own thread."""

    def __init__(
        self, directory: Path, length_ns: int, most_bytes: int, say: Callable[[str], None]
    ) -> None:
        """Raises Problem if memory has no room for files."""
        self.length_s, self.each_bytes, self.say = length_ns / S, most_bytes // AT_ONCE, say
        self.folder = _folder(directory)
        self.inherited: tuple[int, ...] = ()
        self._ring: list[Running] = []
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._not_before_s = 0.0
        self._said: str | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins to record."""
        with self._lock:
            self._begin()
        self._thread.start()

    def end(self) -> None:
        """Ends, and forgets what no trigger took."""
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            while self._ring:
                self._forget()
            with suppress(OSError):  # a trigger's recording may still lie there
                self.folder.rmdir()

    def take(self, name: str) -> tuple[Running, float] | None:
        """The oldest that runs, which goes on, and for how long it has (s); it is the caller's now. None: none has begun, as the last was full a
        moment ago; that is said, as is what is before a trigger if it is less than was asked for."""
        with self._lock:
            while self._ring and self._ring[0].process.poll() is not None:
                self._forget()
            if not self._ring or not self._ring[0].age_s():
                self.say(
                    "nothing before this trigger is recorded: the next recording in memory has not begun"
                )
                return None
            taken = self._ring.pop(0)
            path = _free(self.folder, f"{TAKEN}{name}")
            # A recorder reaches its files by the directory, not by its name.
            taken.path.rename(path)
            taken.path.with_suffix(".said").rename(path.with_suffix(".said"))
            if not self._ring:
                self._begin()
        before_s = taken.age_s()
        if before_s < self.length_s:
            self.say(f"only {before_s:.1f} s before this trigger are recorded")
        return Running(taken.process, path, taken.began_s), before_s

    def _run(self) -> None:
        while not self._ends.wait(LOOK_EVERY_S):
            with self._lock:
                self._look(time.monotonic())

    def _look(self, now_s: float) -> None:
        if len(self._ring) > 1 and self._ring[1].age_s() >= self.length_s:
            self._forget()
        if not self._ring:
            self._begin()
            return
        newest = self._ring[-1]
        if newest.process.poll() is not None:
            self._note_end(newest, now_s)
        elif not self._must_hand_over(newest):
            return
        if len(self._ring) > 1:
            self._forget()
        self._begin()

    def _must_hand_over(self, newest: Running) -> bool:
        old = newest.age_s() >= (LENGTHS - 1) * self.length_s
        # Half of what it may have: the next is to be as old as it can before this one ends.
        return old or _bytes(newest.path) * 2 >= self.each_bytes

    def _note_end(self, ended: Running, now_s: float) -> None:
        """It ended: at its bound, or because it cannot record."""
        if ended.process.returncode == 0:
            return
        self._not_before_s = now_s + AGAIN_S
        said = ended.path.with_suffix(".said")
        lines = said.read_text(errors="replace").splitlines() if said.exists() else []
        why = lines[-1] if lines else f"status {ended.process.returncode}"
        if why != self._said:
            self._said = why
            self.say(f"nothing is recorded before a trigger for {AGAIN_S:.0f} s: {why}")

    def _begin(self) -> None:
        if time.monotonic() < self._not_before_s:
            return
        path = _free(self.folder, "ring")
        argv: list[str | Path] = [program(RECORDER), "machine", "-o", path]
        argv += ["--max-size", str(self.each_bytes), "--close-every", str(CLOSED_EVERY_S)]
        try:
            with path.with_suffix(".said").open("wb") as said:
                process = Recorder(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=self.inherited,
                )
        except OSError as error:
            self._not_before_s = time.monotonic() + AGAIN_S
            self.say(f"nothing is recorded before a trigger for {AGAIN_S:.0f} s: {error}")
            return
        self._ring.append(Running(process, path))

    def _forget(self) -> None:
        """The oldest: nobody needs its last rows."""
        one = self._ring.pop(0)
        one.process.kill()
        one.process.wait()
        _remove(one.path)


def move(path: Path, to: Path, note: str | None = None) -> None:
    """A recording out of memory, its manifest last: without it nobody takes the rest for one. Raises OSError where it does not fit; then it is
    nowhere any more."""
    try:
        if note is not None:
            _note(path / MANIFEST, note)
        shutil.copytree(path, to, ignore=shutil.ignore_patterns(MANIFEST))
        shutil.copyfile(path / MANIFEST, to / MANIFEST)
    except shutil.Error as error:
        shutil.rmtree(to, ignore_errors=True)
        raise OSError(str(error.args[0][0][2])) from None
    except OSError:
        shutil.rmtree(to, ignore_errors=True)
        raise
    finally:
        _remove(path)


def _note(manifest: Path, note: str) -> None:
    found = json.loads(manifest.read_bytes())
    found["notes"] = [*found.get("notes", []), note]
    write_whole(manifest, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())


def left_in_memory(folder: Path) -> list[Path]:
    """Takes away what an earlier agent had in memory; gives the recordings of its triggers, which are nobody's now."""
    if not _is_ours(folder):
        return []
    taken = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(TAKEN) and (path / MANIFEST).exists():
            taken.append(path)
        else:
            _remove(path)
    return taken


def folder_of(directory: Path) -> Path:
    """Where the agent that keeps its recordings in `directory` lays files in memory."""
    name = hashlib.sha256(os.fsencode(directory.absolute())).hexdigest()[:12]
    return MEMORY / f"iowhy-{os.geteuid()}-{name}"


def _folder(directory: Path) -> Path:
    """In memory, this agent's and nobody else's; made if need be."""
    folder = folder_of(directory)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Problem("black-box", folder=folder, error=error.strerror) from None
    if not _is_ours(folder):
        raise Problem("black-box-of-another-user", folder=folder)
    return folder


def _is_ours(folder: Path) -> bool:
    """Whether it is there, and nobody else can have laid anything in it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return own and stat.S_ISDIR(found.st_mode)


def _free(folder: Path, what: str) -> Path:
    paths = (folder / f"{what}.{number}{SUFFIX}" for number in count(1))
    return next(
        path for path in paths if not path.exists() and not path.with_suffix(".said").exists()
    )


def _bytes(path: Path) -> int:
    with suppress(OSError):
        return allocated_bytes(path.rglob("*"))
    return 0


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    for file in (path, path.with_suffix(".said")):
        with suppress(OSError):
            file.unlink()
