"""Pages that Android's `systrace` and Chrome's tracing save (HTML), and `atrace -z` files.

The ftrace text is in the page: as text in <script class="trace-data">, as a string assigned to linuxPerfData
(first versions), or as base64 of a compressed JSON in <script id="viewer-data">. `atrace -z` prints
"TRACE:" and zlib data. Whatever is compressed is unpacked up to a limit: a page may be anybody's.
"""

import base64
import binascii
import json
import mmap
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.formats import ftrace
from iowhy.sources.names import Names

NAME = "systrace"

UNPACKED_MAX_BYTES = 1024**3
#: JSON has to be whole in memory.
JSON_MAX_BYTES = 256 * 1024**2
_STEP = 1 << 20

_SCRIPT = re.compile(
    rb"<script\b[^>]{0,200}\b(class=\"trace-data\"|id=\"viewer-data\")[^>]{0,200}>"
)
_STRING = re.compile(rb"linuxPerfData\s*=\s*\"")
_PACKED = re.compile(rb"TRACE:\r?\n(?=\x78[\x01\x5e\x9c\xda])")


def sniff_head(head: bytes) -> float | None:
    """A page that says so, any other page with less certainty, and compressed atrace output."""
    start = head.lstrip()[:200].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        known = (
            b"Android System Trace",
            b"trace-data",
            b"viewer-data",
            b"linuxPerfData",
            b"trace-viewer",
        )
        return 0.95 if any(word in head for word in known) else 0.5
    return 0.9 if _PACKED.search(head[:4096]) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """The ftrace text of the page, read as such."""
    with tempfile.TemporaryFile(prefix="iowhy-systrace-") as found:
        try:
            with (
                path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as page,
            ):
                _extract(page, found, path)
        except (OSError, ValueError) as error:
            raise Problem("cannot-read", path=path, error=error) from None
        size = found.tell()
        if not size:
            raise Problem("page-without-trace", path=path)
        # Line numbers are those of the trace inside the page.
        return ftrace.from_file(found, str(path), NAME, names, progress)


def _extract(page: mmap.mmap, found: IO[bytes], path: Path) -> None:
    for match in _SCRIPT.finditer(page):
        end = page.find(b"</script>", match.end())
        end = len(page) if end < 0 else end
        if match[1] == b'class="trace-data"':
            _text(page, match.end(), end, found, path)
        else:
            _viewer(page, match.end(), end, found, path)
    for match in _STRING.finditer(page):
        _string(page, match.end(), found)
    if not found.tell() and (packed := _PACKED.search(page[:4096])):
        for part in _inflate(_pieces(page, packed.end(), len(page)), path, UNPACKED_MAX_BYTES):
            found.write(part)


def _pieces(page: mmap.mmap, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, _STEP):
        yield page[at : min(at + _STEP, end)]


def _text(page: mmap.mmap, start: int, end: int, found: IO[bytes], path: Path) -> None:
    """Plain ftrace text; other tools' data (JSON of the browser, processes) is in scripts alike."""
    head = page[start : min(start + 4096, end)].lstrip()
    if head.startswith((b"{", b"[")):
        return
    if packed := _PACKED.match(head):
        skip = page.find(head[: packed.end()], start) + packed.end()
        for part in _inflate(_pieces(page, skip, end), path, UNPACKED_MAX_BYTES):
            found.write(part)
        return
    for part in _pieces(page, start, end):
        found.write(part)
    found.write(b"\n")


def _string(page: mmap.mmap, start: int, found: IO[bytes]) -> None:
    """A JavaScript string over many lines: each ends in `\\n\\`."""
    end = page.find(b'";', start)
    end = len(page) if end < 0 else end
    rest = b""
    for part in _pieces(page, start, end):
        part = rest + part
        cut = part.rfind(b"\n") + 1 or len(part)
        part, rest = part[:cut], part[cut:]
        found.write(_unquoted(part))
    found.write(_unquoted(rest) + b"\n")


def _unquoted(part: bytes) -> bytes:
    return part.replace(b"\\n\\\n", b"\n").replace(b"\\n", b"\n").replace(b'\\"', b'"')


def _viewer(page: mmap.mmap, start: int, end: int, found: IO[bytes], path: Path) -> None:
    """base64 of a gzip or zlib stream of JSON, whose systemTraceEvents is ftrace text."""

    def decoded() -> Iterator[bytes]:
        rest = b""
        for part in _pieces(page, start, end):
            part = rest + b"".join(part.split())
            cut = len(part) // 4 * 4
            part, rest = part[:cut], part[cut:]
            try:
                yield base64.b64decode(part, validate=True)
            except binascii.Error:
                raise Problem("page-trace-not-base64", path=path) from None

    whole = bytearray()
    for part in _inflate(decoded(), path, JSON_MAX_BYTES):
        whole += part
    try:
        loaded = json.loads(whole)
    except (ValueError, RecursionError):
        raise Problem("page-trace-not-json", path=path) from None
    text = loaded.get("systemTraceEvents") if isinstance(loaded, dict) else None
    if isinstance(text, str):
        found.write(text.encode("utf-8", errors="replace") + b"\n")


def _inflate(parts: Iterator[bytes], path: Path, limit: int) -> Iterator[bytes]:
    """Unpacked zlib or gzip data, in steps; Problem beyond `limit` bytes."""
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    done = 0
    try:
        for part in parts:
            while part and not inflate.eof:
                out = inflate.decompress(part, _STEP)
                part = inflate.unconsumed_tail
                done += len(out)
                if done > limit:
                    raise Problem("page-trace-too-large", path=path, limit=limit >> 20)
                yield out
    except zlib.error:
        raise Problem("page-trace-not-unpackable", path=path) from None
