"""Take a file apart: what it is, and its parts, read whole or streamed."""

import os
import select
import shutil
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.messages import say
from iowhy.sources import not_text
from iowhy.sources.format import Format, Part, Progress
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import PASTE_MAX_BYTES, decode, split, too_large

#: Above this a file goes to a format that streams it, when one recognises its beginning.
STREAM_FROM_BYTES = 16 * 1024 * 1024
HEAD_BYTES = 64 * 1024
#: Milliseconds without a writer after which that is said.
WRITER_MS = 1000


class Unread(Struct, frozen=True):
    """A line that nothing understood."""

    file: str
    line: int
    text: str


def silent(done: int, total: int) -> None:
    """No progress shown."""
    del done, total


def named(name: str | None) -> Format | None:
    """The format that the user named with --as. Raises Problem when there is not one of that name."""
    if name is None:
        return None
    for form in formats():
        if form.name == name:
            return form
    near = get_close_matches(name, [form.name for form in formats()], 1)
    meant = f"; did you mean {near[0]}?" if near else ";"
    raise Problem("no-such-format", name=name, meant=meant)


def read(
    file: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    """The parts of a file ("-": standard input), the lines left over, and how many more were not kept.

    `only` is the one format to read it as. Raises Problem when it cannot be read.
    """
    if file == "-":
        return _spooled(sys.stdin.buffer, file, names, only, progress)
    if Path(file).is_fifo():  # bash's <(iostat -x 1 10)
        with _opened_fifo(file) as pipe:
            return _spooled(pipe, file, names, only, progress)
    return _read_path(Path(file), file, names, only, progress)


def _opened_fifo(file: str) -> BinaryIO:
    """A pipe, once somebody writes to it; a word on stderr when nobody does for a second."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise Problem("cannot-read", path=file, error=error.strerror) from None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(WRITER_MS):
        say(f"{file}: waiting for a program to write to it; Ctrl-C ends that")
        poll.poll()
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def _spooled(
    pipe: BinaryIO, shown: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    """Read what has no size yet by way of a temporary file."""
    with tempfile.NamedTemporaryFile(prefix="iowhy-diagnose-") as spool:
        try:
            shutil.copyfileobj(pipe, spool, 1 << 20)
            spool.flush()
        except OSError as error:
            raise Problem(
                "spool-failed", path=shown, name=spool.name, error=error.strerror
            ) from None
        return _read_path(Path(spool.name), shown, names, only, progress)


def _read_path(
    path: Path, shown: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    try:
        # A pipe or device would block or never end; only a regular file has a size to trust.
        if not path.is_file():
            if not path.exists():
                raise Problem("log-not-found", path=shown)
            if (path / "manifest.json").is_file():
                raise Problem("log-is-a-recording", path=shown, typed=quoted(str(shown)))
            raise Problem("not-a-regular-file", path=shown)
        length = path.stat().st_size
        with path.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise Problem("cannot-read", path=shown, error=error) from None
    if not head.strip():
        if shown == "-":
            raise Problem("standard-input-empty")
        raise Problem("log-empty", path=shown)
    if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        raise Problem("log-compressed", path=shown)
    form = only or _streaming(head, length)
    if (
        form is not None
        and form.stream is not None
        and (form.read is None or length > STREAM_FROM_BYTES)
    ):
        parsed = form.stream(path, names, progress)
        return [Part(shown, form.name, 1, parsed.lines_understood, parsed)], [], 0
    if only is not None and only.read is None:
        raise Problem("format-not-text", path=shown, name=only.name)
    unreadable = None if only is not None else not_text.problem(head, shown)
    if unreadable is not None:
        raise unreadable
    if length > PASTE_MAX_BYTES:
        raise too_large(shown, length)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Problem("cannot-read", path=shown, error=error.strerror or error) from None
    result = split(decode(data, shown), shown, names, only)
    lines = [Unread(shown, number, text) for number, text in result.unread]
    return result.parts, lines, result.unread_dropped


def _streaming(head: bytes, length: int) -> Format | None:
    """The format that recognises a whole file by its beginning, if that is how to read it."""
    best: tuple[float, Format] | None = None
    for form in formats():
        if form.sniff_head is None or (form.read is not None and length <= STREAM_FROM_BYTES):
            continue
        sure = form.sniff_head(head)
        if sure is not None and sure >= 0.5 and (best is None or sure > best[0]):
            best = (sure, form)
    return best[1] if best else None
