"""An entry of the journal, what refuses one, and what all kinds of action check and wait with."""

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

Entry = Mapping[str, Any]

SYSTEM_DIRECTORIES = frozenset(
    [
        "/",
        "/dev",
        "/dev/pts",
        "/dev/shm",
        "/proc",
        "/sys",
        "/sys/fs/cgroup",
        "/run",
        "/tmp",
        "/home",
        "/root",
        "/usr",
        "/var",
        "/etc",
        "/boot",
        "/opt",
        "/srv",
        "/mnt",
        "/media",
    ]
)
"""Never unmounted and never removed, whatever a journal says."""

PATIENCE_S = 5.0


class Refused(Exception):
    """The entry is not one that this program would have written."""


class Failed(Exception):
    """The action could not be undone now."""


class Kind(Struct, frozen=True):
    """One kind of action; ``survives_boot`` says whether its effect outlives a restart."""

    check: Callable[[Entry], None]
    undo: Callable[[Entry], None]
    survives_boot: bool = False


def path_of(entry: Entry, key: str, below: tuple[str, ...] = ()) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or "\0" in value or len(value) > 4096:
        raise Refused(f"`{key}` is not a path")
    if os.path.normpath(value) != value or not value.startswith("/") or value.startswith("//"):
        raise Refused(f"`{key}` is not an absolute plain path: {value!r}")
    if below and not value.startswith(tuple(top + "/" for top in below)):
        raise Refused(f"`{key}` is not below {' or '.join(below)}: {value!r}")
    return value


def whole_number(entry: Entry, key: str, least: int) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Refused(f"`{key}` is not a whole number of at least {least}")
    return value


def text_of(entry: Entry, key: str, pattern: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
        raise Refused(f"`{key}` is not of the form {pattern}")
    return value


def until(done: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    end = time.monotonic() + patience_s
    pause = 0.002
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.1)
    return True
