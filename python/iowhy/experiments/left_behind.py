"""What a command's first run leaves behind: a second one may fail for it (`git clone`, `mkdir`)."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.experiments.command import words

#: New entries of the directory that are named one by one.
FEW = 3


class Before(Struct, frozen=True):
    """A directory before a command runs there: its entries, and what the command's words name, or not yet."""

    directory: Path
    entries: frozenset[str]
    there: tuple[str, ...]
    missing: tuple[str, ...]


def look(command: Sequence[str], directory: Path) -> Before:
    """What is there before the command runs."""
    paths = {path: os.path.lexists(directory / path) for path in _paths(command)}
    return Before(
        directory,
        _entries(directory),
        there=tuple(path for path, exists in paths.items() if exists),
        missing=tuple(path for path, exists in paths.items() if not exists),
    )


def left(before: Before) -> tuple[str, ...]:
    """What the command made: of its own words those that name something now, else the directory's few new entries.

    Nothing where it took something away: what it made may be all that is left of that (`mv`, `gzip`).
    """
    now = _entries(before.directory)
    exists = {
        path: os.path.lexists(before.directory / path) for path in (*before.there, *before.missing)
    }
    if before.entries - now or not all(exists[path] for path in before.there):
        return ()
    named = tuple(path for path in before.missing if exists[path])
    new = sorted(now - before.entries)
    return named or (tuple(new) if len(new) <= FEW else ())


def advice(made: Sequence[str]) -> str:
    """What to do about a command that ended well once and failed when it was run again."""
    if not made:
        return (
            "its first run ended well and left something behind that is in the way, or used something up: "
            "--prepare takes a shell command that puts that back before each run"
        )
    what = " ".join(shlex.quote(path if not path.startswith("-") else f"./{path}") for path in made)
    return (
        f"its first run ended well and left {what} behind, which may be in the way of the next: "
        f"add --prepare {shlex.quote(f'rm -rf {what}')}"
    )


def _paths(command: Sequence[str]) -> Iterator[str]:
    """The words of a command that may name a file: also what is behind `of=` or `--output=`."""
    for word in words(command)[1:]:
        path = word.partition("=")[2] if word.startswith("-") or "=" in word else word
        if path and "\0" not in path:
            yield path


def _entries(directory: Path) -> frozenset[str]:
    try:
        return frozenset(one.name for one in directory.iterdir())
    except OSError:
        return frozenset()
