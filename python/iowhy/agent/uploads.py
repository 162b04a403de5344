"""What is kept goes to an object store as well: `s3://BUCKET/PREFIX/date=…/host=…/NAME.iowhy`, the oldest first.

The queue is what is in the agent's folder and is not known to be stored, so it needs no extra room, is there again after a restart, and
is bounded as that folder is. Written down is what *is* stored (`.uploaded.json`): what is lost of that costs one question to the store.
A recording's manifest is put last: without it nobody takes its files for a recording (iowhy/fleet/places.py).
"""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from iowhy.agent.retention import SUFFIX, Kept
from iowhy.errors import Problem
from iowhy.recordings import object_store
from iowhy.recordings.manifest import MANIFEST

STATE = ".uploaded.json"
#: Until the store is asked again after it failed: doubled with each failure, and of that at least the half (so that not all hosts ask at once).
FIRST_S, LONGEST_S = 1.0, 120.0
#: An outage is said at its begin, and so often again.
SAID_EVERY_S = 600
RESULTS = ("done", "failed", "dropped")


class Uploads:
    """Uploads in its own thread. `counts`: recordings that arrived (`done`) or went away before they had (`dropped`), and tries
    that failed; `waiting`: how many are still to be stored."""

    def __init__(self, directory: Path, to: Path | None, say: Callable[[str], None]) -> None:
        """`to`: the path of the prefix, None: nothing is uploaded. Raises Problem where it cannot be."""
        self.directory, self.say = directory, say
        self.counts = dict.fromkeys(RESULTS, 0)
        self.waiting = 0
        self._changed = threading.Condition()
        self._queue: list[Path] = []
        self._ends = False
        self._said_s: float | None = None
        self._thread: threading.Thread | None = None
        self.to: Path | None = None
        self._done: set[str] = set()
        self.change(to)

    def change(self, to: Path | None) -> None:
        """Another place from here on, where what is kept here goes as well. Raises Problem where nothing can be stored there."""
        if to is not None:
            object_store.reachable(to)
        with self._changed:
            if to != self.to:
                self.to = to
                self._done = set() if to is None else self._read(to)
                self._queue = []

    def is_waiting(self, path: Path) -> bool:
        """Whether this recording has still to be stored."""
        return self.to is not None and self._name(path) not in self._done

    def know(self, kept: Sequence[Kept], gone: Sequence[Path]) -> None:
        """What is kept now, and what has just been taken away."""
        with self._changed:
            if self.to is None:
                self.waiting = 0
                return
            for path in gone:
                if self.is_waiting(path):
                    self.counts["dropped"] += 1
                    self.say(f"it had not been uploaded: {path}")
                self._done.discard(self._name(path))
            there = {self._name(one.path) for one in kept}
            self._done &= there
            self._queue = [one.path for one in kept if self.is_waiting(one.path)]
            self.waiting = len(self._queue)
            if self._queue and self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self, patience_s: float) -> None:
        """Ends when all is stored or the store fails, at the latest after a time; what is left is uploaded by the next agent."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(patience_s)

    def _run(self) -> None:
        wait_s, tried = FIRST_S, set[Path]()
        while True:
            with self._changed:
                while not self._queue and not self._ends:
                    self._changed.wait()
                if not self._queue or self.to is None:
                    return
                # One that cannot be stored does not hold up the others.
                path = next((one for one in self._queue if one not in tried), self._queue[0])
                to = self.to
            try:
                where = self._upload(path, to)
            except (Problem, OSError) as problem:
                tried = {path} if path in tried else {*tried, path}
                self._failed(path, str(problem))
                with self._changed:
                    if self._ends:
                        return
                    self._changed.wait_for(lambda: self._ends, wait_s * random.uniform(0.5, 1))
                wait_s = min(wait_s * 2, LONGEST_S)
                continue
            wait_s, self._said_s = FIRST_S, None
            self._stored(path, to, where)

    def _failed(self, path: Path, why: str) -> None:
        """Notes a try that failed; what was removed before is not a failure."""
        with self._changed:
            if not path.exists():
                self._queue = [one for one in self._queue if one != path]
                return
            self.counts["failed"] += 1
        now = time.monotonic()
        if self._said_s is None or now - self._said_s > SAID_EVERY_S:
            self._said_s = now
            self.say(f"not uploaded, tried again: {why}")

    def _stored(self, path: Path, to: Path, where: Path) -> None:
        with self._changed:
            if to != self.to:
                return
            self.counts["done"] += 1
            self._done.add(self._name(path))
            self._queue = [one for one in self._queue if one != path]
            self.waiting = len(self._queue)
            self._write()
        self.say(f"uploaded: {object_store.written(where)}")

    def _upload(self, path: Path, to: Path) -> Path:
        """Gives where it is stored; a reader sees none of it, or all."""
        manifest = (path / MANIFEST).read_bytes()
        for place in _names(to / path.relative_to(self.directory)):
            there = object_store.stored_bytes(place / MANIFEST)
            if there == manifest:
                return place
            if there is None:
                break
        try:
            files = {
                place / one.relative_to(path): one
                for one in sorted(path.glob("*/*"))
                if one.is_file()
            }
            for key, file in files.items():
                object_store.put(key, file)
            # An upload that broke off may have been of another recording of that name.
            object_store.remove({one.path for one in object_store.below(place)} - files.keys())
            object_store.put(place / MANIFEST, (path / MANIFEST).read_bytes())
        except FileNotFoundError:
            # It was taken away here; nobody would ever take away what is there of it.
            with suppress(Problem):
                object_store.remove([one.path for one in object_store.below(place)])
            raise
        return place

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.directory))

    def _read(self, to: Path) -> set[str]:
        """What is known to be stored there; a damaged file counts as empty."""
        try:
            found = json.loads((self.directory / STATE).read_text("utf-8"))
            return {str(name) for name in found["done"]} if found["to"] == str(to) else set()
        except (OSError, ValueError, KeyError, TypeError):
            return set()

    def _write(self) -> None:
        """Where that cannot be (a full disk), the next agent asks the store."""
        text = json.dumps({"to": str(self.to), "done": sorted(self._done)})
        new = self.directory / f"{STATE}.tmp"
        with suppress(OSError):
            new.write_text(text, "utf-8")
            new.replace(self.directory / STATE)


def _names(place: Path) -> Iterator[Path]:
    """NAME.iowhy, and where another recording has that name (a clock that was set back): NAME-2.iowhy, …"""
    yield place
    stem = place.name.removesuffix(SUFFIX)
    yield from (place.with_name(f"{stem}-{number}{SUFFIX}") for number in count(2))
