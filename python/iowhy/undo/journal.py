"""A journal's text: where journals are, what a line holds, and how actions are undone from it.

A journal is a file of JSON lines: a header that names its process, then one line per action
(written and fsynced before the action is done) and one per action undone. It is removed when
nothing is left to undo. A last line without its newline was cut while it was written, so its action
was never begun: it counts as absent. Any other line that this program would not have written is a
:class:`~iowhy.errors.Problem`, and nothing of that journal is undone.
"""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.undo import process
from iowhy.undo.kinds import KINDS
from iowhy.undo.kinds.entry import Failed, Refused
from iowhy.users import is_own

FORMAT = 1


def state_directory() -> Path:
    """The private directory of journals, made if need be.

    ``$IOWHY_STATE``; else for root /var/lib/iowhy (it outlives a restart, so that copies are removed
    then) or /run/iowhy where that cannot be written; else ``$XDG_STATE_HOME/iowhy``.
    """
    named = os.environ.get("IOWHY_STATE")
    if named:
        candidates = [Path(named)]
    elif os.geteuid() == 0:
        candidates = [Path("/var/lib/iowhy"), Path("/run/iowhy")]
    else:
        home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
        candidates = [Path(home) / "iowhy"]
    why = ""
    for path in candidates:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = path.lstat()
        except OSError as error:
            why = f"{path}: {error.strerror}"
            continue
        if not stat.S_ISDIR(found.st_mode) or not is_own(found):
            raise Problem("state-not-private", path=path)
        if os.access(path, os.W_OK):
            return path.resolve()
        why = f"{path}: not writable"
    raise Problem("no-undo-place", why=why)


class Journal(Struct, frozen=True):
    """A journal as read: its header and the entries that are still to be undone, oldest first."""

    path: Path
    header: dict[str, Any]
    pending: dict[int, dict[str, Any]]

    def alive(self) -> bool:
        pid = self.header["pid"]
        same_boot = self.header["boot"] == process.boot_id()
        same = process.start_ticks(pid) == int(self.header["start_ticks"])
        return same_boot and same and not process.is_zombie(pid)


def parse(path: Path, text: str) -> Journal | None:
    """Reads a journal; None when it was cut before its header was whole."""
    lines = text.split("\n")
    lines.pop()  # empty after a whole last line, else the line that was cut
    header: dict[str, Any] | None = None
    pending: dict[int, dict[str, Any]] = {}
    highest = 0
    for number, line in enumerate(lines, 1):

        def bad(why: str, number: int = number) -> Problem:
            return Problem("undo-journal-unreadable", path=path, number=number, why=why)

        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise bad("not JSON") from None
        if not isinstance(row, dict):
            raise bad("not a JSON object")
        if header is None:
            whole = all(type(row.get(key)) is int for key in ("iowhy_undo", "pid", "start_ticks"))
            if not whole or not isinstance(row.get("boot"), str):
                raise bad("not the header of an undo journal")
            if row["iowhy_undo"] != FORMAT:
                raise bad(f"format {row['iowhy_undo']} of another version of iowhy")
            header = row
            continue
        if "undone" in row:
            if pending.pop(row["undone"] if type(row["undone"]) is int else -1, None) is None:
                raise bad("undoes an action that is not there")
            continue
        index, kind = row.get("n"), row.get("kind")
        if type(index) is not int or index <= highest:
            raise bad("an action without a rising number `n`")
        if not isinstance(kind, str) or kind not in KINDS:
            raise bad(f"unknown kind of action {kind!r}")
        try:
            KINDS[kind].check(row)
        except Refused as error:
            raise bad(str(error)) from None
        highest = index
        pending[index] = row
    return None if header is None else Journal(path, header, pending)


def undo_all(
    pending: dict[int, dict[str, Any]], note: Callable[[dict[str, Any]], None]
) -> list[str]:
    """Undoes in reverse, going on after a failure; returns what could not be undone."""
    problems = []
    for action in sorted(pending, reverse=True):
        row = pending[action]
        try:
            KINDS[row["kind"]].undo(row)
        except (Failed, OSError) as error:
            problems.append(str(error))
            continue
        del pending[action]
        note({"undone": action})
    return problems


def left_over(path: Path, problems: list[str]) -> str:
    return (
        f"could not undo everything: {'; '.join(problems)}. The next start tries again "
        f"(journal {path})."
    )
