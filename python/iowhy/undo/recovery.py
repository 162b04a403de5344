"""What dead sessions left is undone by the next start."""

import contextlib
import fcntl
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.undo import process
from iowhy.undo.journal import left_over, parse, state_directory, undo_all
from iowhy.undo.kinds import KINDS
from iowhy.users import is_own

_PATIENCE_S = 5.0


def recover() -> list[str]:
    """Undoes what dead sessions left; returns one line per action undone.

    Raises Problem when a journal cannot be trusted or something could not be undone, after all
    other journals have been tried.
    """
    done: list[str] = []
    problems: list[str] = []
    for path in sorted(state_directory().glob("*.jsonl")):
        try:
            done += _replay(path)
        except Problem as problem:
            problems.append(str(problem))
    if problems:
        raise Problem("not-undone", problems="\n".join(problems))
    return done


def _replay(path: Path) -> list[str]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []  # another recovery was quicker
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror) from None
    try:
        if not _locked(handle, path):
            return []
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not is_own(found):
            raise Problem("undo-journal-of-another-user", path=path)
        if found.st_size > 16 << 20:
            raise Problem("undo-journal-too-large", path=path)
        data = os.pread(handle, found.st_size, 0)
        journal = parse(path, data.decode(errors="replace"))
        if journal is not None and journal.alive():
            return []
        done: list[str] = []
        if journal is not None:
            os.ftruncate(handle, data.rfind(b"\n") + 1)  # the cut line
            if journal.header["boot"] != process.boot_id():
                # Mounts, groups and processes ended with that boot: only what is on disk is left.
                for index in [
                    n for n, row in journal.pending.items() if not KINDS[row["kind"]].survives_boot
                ]:
                    del journal.pending[index]

            def note(row: dict[str, Any]) -> None:
                with contextlib.suppress(OSError):  # undoing twice does no harm
                    os.write(handle, (json.dumps(row) + "\n").encode())
                done.append(f"{path.name}: undid action {row['undone']}")

            problems = undo_all(journal.pending, note)
            if problems:
                raise Problem("not-undone", problems=left_over(path, problems))
        path.unlink(missing_ok=True)
        return done
    finally:
        os.close(handle)


def _locked(handle: int, path: Path) -> bool:
    """Takes the lock of a journal; False when a living session or another recovery has it.

    A child that the session was about to start may hold it for a moment beyond the session's death.
    """
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(handle, 4096, 0).decode(errors="replace").split("\n")[0] + "\n"
            journal = parse(path, text)
            if journal is None or journal.alive() or time.monotonic() > end:
                return False
            time.sleep(0.01)
        else:
            return True
