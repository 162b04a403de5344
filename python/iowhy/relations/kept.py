"""Answers to queries over a recording, kept in the user's cache from one call to the next.

A recording does not change once it is made, so what a query found in it holds. An answer is found again by
the recording (its manifest, the names, sizes and times of its files), by the definitions of all relations (likewise),
and by the query's own text; whatever of these differs, the query is run.

They lie in `$XDG_CACHE_HOME/iowhy` (XDG Base Directory Specification 0.8), one file per recording, and
nowhere else: a recording may come from anybody, and answers that it brought with it would have to be believed.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from pathlib import Path

from iowhy import __version__
from iowhy.cache_folder import cache_folder
from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.package_files import package_folder
from iowhy.recording import Recording
from iowhy.recording.manifest import MANIFEST
from iowhy.recording.plain_file import read_plain
from iowhy.recording.schema import tables
from iowhy.relations.rows import Row
from iowhy.written_files import write_whole

try:  # without OpenSSL, which takes longer to load than all that is digested here
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,no-redef,unused-ignore]
    except ImportError:
        from hashlib import sha256

#: Answers are a handful of rows; what is larger is not worth keeping.
MOST_ROWS = 1_000
MOST_FILE_BYTES = 4 << 20
#: Recordings whose answers are kept: the last ones.
MOST_FILES = 64

DEFINITIONS = ("iowhy.relations", "iowhy.tables", "iowhy.recording")
_DEFINING = (".sql", ".py", ".toml")


@dataclass
class KeptAnswers:
    """The answers of one recording by their query: names of the columns, and rows of plain values.

    `file` is where they lie, None where nothing can be kept.
    """

    recording: Recording
    file: Path | None
    answers: dict[str, tuple[list[str], list[Row]]] = field(default_factory=dict)
    changed: bool = False

    def find(self, sql: str) -> tuple[list[str], list[Row]] | None:
        """The answer to a query, None when it is to be run."""
        return self.answers.get(_digest(sql))

    def add(self, sql: str, columns: Sequence[str], rows: list[Row]) -> None:
        """Keep an answer, if it is small."""
        if self.file is not None and len(rows) <= MOST_ROWS:
            self.answers[_digest(sql)] = (list(columns), rows)
            self.changed = True

    def save(self) -> None:
        """Write what was added. What cannot be written, or is of a recording that has grown, is let go."""
        if self.file is None or not self.changed or self.file != _place(self.recording):
            return
        with suppress(OSError, TypeError, ValueError):
            text = json.dumps(self.answers)
            if len(text) <= MOST_FILE_BYTES:
                _write(self.file, text.encode())


def nothing_kept(recording: Recording) -> KeptAnswers:
    """For a recording that is not looked at again."""
    return KeptAnswers(recording, None)


def kept_answers(recording: Recording) -> KeptAnswers:
    """What is kept of a recording; nothing, and no place for it, where the user has no cache."""
    kept = KeptAnswers(recording, _place(recording))
    if kept.file is None:
        return kept
    with suppress(OSError, ValueError, TypeError, AttributeError, Problem):
        found = json.loads(read_plain(kept.file, MOST_FILE_BYTES))
        kept.answers = {
            digest: (columns, [tuple(row) for row in rows])
            for digest, (columns, rows) in found.items()
        }
    return kept


def _place(recording: Recording) -> Path | None:
    folder = cache_folder()
    found = None if folder is None else fingerprint(recording)
    return None if folder is None or found is None else folder / f"{found}.json"


def fingerprint(recording: Recording, packages: Sequence[str] | None = None) -> str | None:
    """By what an answer about a recording is found again: its manifest, the names, sizes and times of its files, and
    the definitions in `packages`, by themselves those of answers, as they are installed here. None where it cannot be read.
    """
    try:
        parts = [(recording.folder / MANIFEST).read_bytes()]
        for name in tables():
            for file in recording.files(name):
                now = file.stat()
                parts.append(f"{name}/{file.name} {now.st_size} {now.st_mtime_ns}\n".encode())
    except OSError:
        return None
    return _digest_of(_installed(), *parts) if packages is None else digest_of(packages, *parts)


def digest_of(packages: Sequence[str], *parts: bytes) -> str:
    """Of what a recording is, with the definitions in `packages`."""
    return _digest_of(_definitions(tuple(packages)), *parts)


def _digest_of(definitions: str, *parts: bytes) -> str:
    whole = sha256(definitions.encode())
    for part in parts:
        whole.update(part)
    return str(whole.hexdigest())[:40]


def _write(file: Path, text: bytes) -> None:
    """At once or not at all; the oldest goes for the new one."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(file, text)
    files = sorted(file.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)
    for old in files[:-MOST_FILES]:
        old.unlink(missing_ok=True)


@cache
def _installed() -> str:
    """What says what a query means, as it lies here: its files' names, sizes and times, as Python knows by them whether
    what it compiled is of now. To read them all takes as long as to draw a verdict.
    """
    root = Path(__file__).parents[1]
    if not root.is_dir():  # in an archive
        return _definitions(DEFINITIONS)
    found = [f"{__version__} {root}"]
    for package in DEFINITIONS:
        with os.scandir(root / package.removeprefix("iowhy.")) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(_DEFINING):
                    now = entry.stat()
                    found.append(f"{package} {entry.name} {now.st_size} {now.st_mtime_ns}")
    return "\n".join(found)


@cache
def _definitions(packages: tuple[str, ...]) -> str:
    """A digest of all that says what a query means."""
    whole = sha256(__version__.encode())
    for package in packages:
        for entry in sorted(package_folder(package).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(_DEFINING):
                whole.update(entry.name.encode())
                whole.update(entry.read_bytes())
    return str(whole.hexdigest())


def _digest(sql: str) -> str:
    return str(sha256(sql.encode()).hexdigest())[:40]
