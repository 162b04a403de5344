"""The verdicts of many recordings: each is judged once, by worker processes, and kept in the user's cache.

A verdict is found again by what its recording and the definitions are (definitions.py); whatever of these differs, it is
judged again. They are in one SQLite file, `$XDG_CACHE_HOME/iowhy/verdicts.sqlite`: a write is whole or not at all, several
calls may write, and a fleet that was judged halfway goes on where it was.

`iowhy fleet pack` puts those that are known into the index of a pack, with the definitions by which they were made: of the same definitions they are
taken from there, whoever asks, on whatever machine. So who makes a pack is believed in what its recordings say, as he is in their rows.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from functools import cache
from math import isfinite
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, cast

from iowhy.fleet.cache_folder import cache_folder
from iowhy.fleet.definitions import digest_of
from iowhy.fleet.members import LeftOut, opened
from iowhy.recordings.day_packs import Entry
from iowhy.recordings.object_store import written
from iowhy.recordings.query_limits import LEAST_MEMORY_BYTES, MEMORY_VARIABLE, memory_bytes

#: Verdicts that are kept: the last ones. One takes about a kilobyte.
MOST_KEPT = 200_000
#: A recording that takes longer to judge is left out.
MOST_SECONDS = 600.0
MOST_WORKERS = 8

VERDICT_DEFINITIONS = (
    "iowhy.relations",
    "iowhy.tables",
    "iowhy.recordings",
    "iowhy.whys",
    "iowhy.whys.causes",
    "iowhy.whys.facts",
    "iowhy.whys.programs",
    "iowhy.fleet",
)
_NUMBERS = ("share", "gain", "confidence", "seconds", "gain_seconds", "thread_seconds")
_MADE = "CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, verdict TEXT)"

Kept = Mapping[str, Any]
"""What is known of a recording, as JSON has it."""
Verdict = Kept
"""As `judging.judged` has it."""


def verdicts(
    paths: Sequence[Path], left_out: LeftOut, judge: bool = True
) -> Iterator[tuple[int, Verdict]]:
    """The verdict of each recording, by its place in `paths`; those that cannot be judged are left out. Without `judge` those that are known.

    The agent's counts are not judged: they are averages of hours, in which the seconds that its triggers recorded fully are contained.
    """
    store = opened_store()
    with closing(store) if store is not None else nullcontext():
        for every in opened(paths, left_out):
            together = [one for one in every if not one.recording.manifest.of_counts]
            left_out.counts += len(every) - len(together)
            packed = {one.number: carried(one.entry) for one in together if one.entry is not None}
            known = {number: verdict for number, verdict in packed.items() if verdict is not None}
            for number, verdict in known.items():
                yield number, _noted(paths[number], verdict, left_out)
            asked = [one for one in together if one.number not in known]
            keys = {one.number: one.fingerprint(VERDICT_DEFINITIONS) for one in asked}
            found = kept(store, [key for key in keys.values() if key])
            new = {one.number: one.place for one in asked if keys[one.number] not in found}
            for one in asked:
                if keys[one.number] in found:
                    verdict = found[keys[one.number]]
                    yield one.number, _noted(paths[one.number], verdict, left_out)
            for number, verdict in _judged(new if judge else {}):
                if "problem" in verdict:
                    why = verdict["problem"].replace(str(new[number]), written(paths[number]))
                    left_out.add(paths[number], why)
                    continue
                keep(store, keys[number], verdict)
                yield number, _noted(paths[number], verdict, left_out)


def _noted(path: Path, verdict: Verdict, left_out: LeftOut) -> Verdict:
    if not verdict["whole"]:
        left_out.not_whole.add(path)
    return verdict


def to_carry(paths: Sequence[Path], judge: bool) -> dict[Path, str]:
    """Verdicts as an index of a pack has them, of those recordings of which one is known, or can be made."""
    found = verdicts(paths, LeftOut(), judge)
    return {
        paths[number]: json.dumps({"definitions": _definitions(), **verdict})
        for number, verdict in found
    }


def carried(entry: Entry) -> Verdict | None:
    """What a pack has as the verdict of a recording; None if it has none by these definitions."""
    if entry.verdict is None:
        return None
    try:
        found = json.loads(entry.verdict)
        if found.pop("definitions") == _definitions() and _is_one(found):
            return cast(Verdict, found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return None


def _is_one(found: Verdict) -> bool:
    """Whether values are those of a verdict, as `judging.judged` has it."""
    texts = [found["answer"], *(one["cause"] for one in found["findings"])]
    numbers = [
        *(one[name] for name in _NUMBERS for one in found["findings"]),
        found["judged_s"],
    ]
    return (
        all(isinstance(text, str) for text in texts)
        and all(one is None or (isinstance(one, int | float) and isfinite(one)) for one in numbers)
        and isinstance(found["lost"], int)
        and isinstance(found["whole"], bool)
    )


@cache
def _definitions() -> str:
    return digest_of(VERDICT_DEFINITIONS)


def opened_store() -> sqlite3.Connection | None:
    """None where the user has no cache, or one that cannot be written."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = sqlite3.connect(folder / "verdicts.sqlite", timeout=60, isolation_level=None)
        store.execute(_MADE)
    except (OSError, sqlite3.Error):
        return None
    return store


def kept(store: sqlite3.Connection | None, keys: Sequence[str]) -> dict[str | None, Kept]:
    """What is stored under some keys."""
    found: dict[str | None, Kept] = {}
    if store is None or not keys:
        return found
    with suppress(sqlite3.Error, ValueError):
        marks = ", ".join("?" * len(keys))
        rows = store.execute(f"SELECT key, verdict FROM verdicts WHERE key IN ({marks})", keys)
        found = {key: json.loads(text) for key, text in rows.fetchall()}
    return found


def keep(store: sqlite3.Connection | None, key: str | None, verdict: Kept) -> None:
    """Stores what is known under its key."""
    if store is None or key is None:
        return
    with suppress(sqlite3.Error):
        store.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", [key, json.dumps(verdict)])
        store.execute(
            "DELETE FROM verdicts WHERE rowid <= (SELECT max(rowid) FROM verdicts) - ?", [MOST_KEPT]
        )


def _judged(paths: Mapping[int, Path]) -> Iterator[tuple[int, Verdict]]:
    """Judges recordings by as many processes as there are CPUs."""
    waiting: SimpleQueue[tuple[int, Path]] = SimpleQueue()
    done: SimpleQueue[tuple[int, Verdict]] = SimpleQueue()
    for one in paths.items():
        waiting.put(one)
    count = min(len(os.sched_getaffinity(0)), MOST_WORKERS, len(paths))
    stop = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(waiting, done, stop, count)) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in paths:
            yield done.get()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _work(
    waiting: "SimpleQueue[tuple[int, Path]]",
    done: "SimpleQueue[tuple[int, Verdict]]",
    stop: threading.Event,
    workers: int,
) -> None:
    """Has one process judge what waits; one that dies is started again."""
    process: subprocess.Popen[str] | None = None
    try:
        while not stop.is_set():
            try:
                number, path = waiting.get_nowait()
            except Empty:
                return
            if process is None:
                process = _started(workers)
            verdict = _asked(process, path)
            if verdict is None:
                verdict = {"problem": f"{path}: judging it ended its process ({_ended(process)})"}
                process = None
            done.put((number, verdict))
    finally:
        if process is not None:
            _ended(process)


def _started(workers: int) -> "subprocess.Popen[str]":
    memory = max(LEAST_MEMORY_BYTES, memory_bytes() // workers)
    home = str(Path(__file__).parents[2])
    paths = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", "iowhy.fleet.judging"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, MEMORY_VARIABLE: str(memory), "PYTHONPATH": paths},
    )


def _asked(process: "subprocess.Popen[str]", path: Path) -> Verdict | None:
    """The answer about one recording, None where the process ended without one."""
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(MOST_SECONDS, process.kill)
    timer.start()
    try:
        process.stdin.write(json.dumps(str(path.absolute())) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        found = json.loads(line) if line.endswith("\n") else None
    except (OSError, ValueError):
        found = None
    finally:
        timer.cancel()
    return found if isinstance(found, dict) else None


def _ended(process: "subprocess.Popen[str]") -> str:
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(2)
    process.kill()
    status = process.wait()
    return f"signal {-status}" if status < 0 else f"status {status}"
