"""To which invocations of a program a remedy applies: what the recording shows of it must leave room for the remedy.

What a program did says it best (how many files it read, which calls it made, who worked below it). How it was typed is
taken if that is known: of a program that a build starts it is not, and then no word is against a remedy.
"""

import math
import shlex
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from msgspec import Struct

from iowhy.whys.evidence import direct_io
from iowhy.whys.facts import Facts
from iowhy.whys.facts.programs import bytes_moved, executables, files_moved, matched
from iowhy.whys.facts.requests import read_again
from iowhy.whys.thresholds import LISTED

#: What a compressor writes of data that it cannot make smaller, of what it reads, at most: headers of blocks.
INCOMPRESSIBLE = 1.01


class Conditions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a remedy says of the invocations that it is for (iowhy.whys.program describes each)."""

    words: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()
    files_read: int | None = None
    files_written_at_most: int | None = None
    bytes_at_most: int | None = None
    without_files: tuple[str, ...] = ()
    without_calls: tuple[str, ...] = ()
    without_done: tuple[str, ...] = ()
    single_threaded: bool = False
    processes_at_most: int | None = None
    shrinks: bool = False
    again: bool = False


def applies(facts: Facts, names: Iterable[str], remedy: Conditions) -> bool:
    """Whether a remedy can change anything for what was recorded; what is not known does not speak against it.

    `names` are what is typed to start the program.
    """
    return (
        _typed_so(facts.run.argv, names, remedy)
        and _moves_so(facts, remedy)
        and (remedy.bytes_at_most is None or (_bytes_each(facts) or 0) <= remedy.bytes_at_most)
        and not facts.calls.by_name.keys() & set(remedy.without_calls)
        and not any(_done(facts, name) for name in remedy.without_done)
        and not matched(facts.relations, remedy.without_files)
        and (not remedy.single_threaded or facts.threads.count == facts.threads.processes)
        and (facts.threads.processes or 0) <= (remedy.processes_at_most or math.inf)
        and (not remedy.worked or bool(executables(facts.relations, remedy.worked)))
        and (not remedy.shrinks or _shrinks(facts, remedy.worked or names))
        and (not remedy.again or _reads_again(facts))
    )


def _typed_so(argv: Sequence[str], names: Iterable[str], remedy: Conditions) -> bool:
    if not remedy.words and not remedy.unless:
        return True
    words = given(argv, names)
    if words is None:
        return True
    return not _any(words, remedy.unless) and (not remedy.words or _any(words, remedy.words))


def _moves_so(facts: Facts, remedy: Conditions) -> bool:
    if remedy.files_read is None and remedy.files_written_at_most is None:
        return True
    moved = files_moved(facts.relations)
    if moved is None:
        return True
    most = remedy.files_written_at_most
    return moved.read >= (remedy.files_read or 0) and (most is None or moved.written <= most)


def _done(facts: Facts, name: str) -> bool:
    """Whether such a call succeeded: who links first and copies where that is refused has called in vain."""
    group = facts.calls.by_name.get(name)
    return group is not None and group.errors < group.calls


def _shrinks(facts: Facts, names: Iterable[str]) -> bool:
    """Whether the processes of these names read more than they write, however they were typed (zcat, unxz); true if not known."""
    moved = bytes_moved(facts.relations, names)
    return moved is None or moved.written <= INCOMPRESSIBLE * moved.read


def _reads_again(facts: Facts) -> bool:
    """Whether it reads what had been in memory before: what a command reads for the first time is in no cache, however large.

    True if not known: what ran already may have read it before.
    """
    again = facts.cache.reread_share
    if direct_io(facts):
        again = max(again or 0.0, read_again(facts.relations))
    return facts.run.mode != "run" or again is None or again >= LISTED


def _bytes_each(facts: Facts) -> float | None:
    """Of the calls that read and write data; None if none did or their bytes are not known."""
    both = [one for one in (facts.calls.reads, facts.calls.writes) if one.done_bytes is not None]
    calls = sum(one.calls for one in both)
    return sum(one.done_bytes or 0 for one in both) / calls if calls else None


def given(argv: Sequence[str], names: Iterable[str]) -> list[str] | None:
    """The words that were typed behind the name of a program, also in a script for a shell; None if it is not named there."""
    named, found, behind = set(names), [], False
    seen = False
    for word in _words(argv):
        if word and set(word) <= set(";|&()<>\n"):
            behind = False
        elif PurePath(word).name in named:
            behind = seen = True
        elif behind:
            found.append(word)
    return found if seen else None


def _words(argv: Sequence[str]) -> Iterable[str]:
    """The words of a command, those of a script one by one."""
    for word in argv:
        if not any(blank in word for blank in " \t\n"):
            yield word
            continue
        lexer = shlex.shlex(word.replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            yield from lexer
        except ValueError:
            yield from word.split()


def _any(words: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)
