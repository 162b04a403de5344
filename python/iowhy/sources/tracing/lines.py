"""Lines of a text as arrays, in bounded chunks, without a loop over the lines.

Each chunk is two arrays (n: line number from 1, line: text), about CHUNK_BYTES long. Windows line
ends, NULs and bytes that are not UTF-8 are dealt with here, once per chunk.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from iowhy.errors import Problem
from iowhy.sources.format import Block, Parsed, Progress
from iowhy.sources.tracing.workspace import Workspace

CHUNK_BYTES = 16 * 1024 * 1024
#: What is longer is no line of a tracing tool; it is cut, so that it cannot fill the memory.
LINE_MAX_BYTES = 1024 * 1024
#: Chunks parsed at once: DuckDB lets go of Python's lock, so each takes a core.
WORKERS = 2

Chunk: TypeAlias = dict[str, Any]


def from_lines(lines: Sequence[str], first: int) -> Chunk:
    """The lines of a paste; `first` is the number of lines[0]."""
    return {"n": np.arange(first, first + len(lines)), "line": np.array(lines, object)}


def from_path(path: Path, progress: Progress) -> Iterator[Chunk]:
    """The lines of a file, chunk by chunk; `progress` gets the bytes done."""
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            yield from from_file(file, total, progress)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror or error}") from None


def from_file(file: BinaryIO, total: int, progress: Progress) -> Iterator[Chunk]:
    """The lines of an open file."""
    first = 1
    done = 0
    rest = b""
    cut = False
    while data := file.read(CHUNK_BYTES):
        done += len(data)
        if cut:  # inside a line that was too long: go on behind its end
            end = data.find(b"\n")
            if end < 0:
                progress(done, total)
                continue
            data, cut = data[end:], False
        data = rest + data
        end = data.rfind(b"\n") + 1
        data, rest = data[:end], data[end:]
        if len(rest) > LINE_MAX_BYTES:
            rest, cut = rest[:LINE_MAX_BYTES], True
        if data:
            yield _chunk(data, first)
            first += data.count(b"\n")
        progress(done, total)
    if rest:
        yield _chunk(rest + b"\n", first)


def _chunk(data: bytes, first: int) -> Chunk:
    """`data` ends with a newline."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\0" in data:
        data = data.translate(None, b"\0")
    return from_lines(data.decode("utf-8", errors="replace").split("\n")[:-1], first)


def each(chunks: Iterator[Chunk], space: Workspace, statements: Sequence[str]) -> int:
    """Run `statements` on every chunk, which they see as the table `chunk` (n, line).

    Chunks run side by side, in no order: the statements may only insert.
    Returns the number of lines.
    """
    total = 0

    def run(chunk: Chunk) -> int:
        cursor = space.connection.cursor()
        cursor.register("chunk", chunk)
        try:
            for statement in statements:
                cursor.execute(statement).fetchall()
        finally:
            cursor.unregister("chunk")
            cursor.close()
        return len(chunk["n"])

    with ThreadPoolExecutor(WORKERS) as pool:
        running: set[Future[int]] = set()
        for chunk in chunks:
            running.add(pool.submit(run, chunk))
            if len(running) > WORKERS:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                total += sum(future.result() for future in done)
        total += sum(future.result() for future in running)
    return total


def whole(block: Block) -> Iterator[Chunk]:
    """The lines of a paste's block as chunks for `each`."""
    step = 200_000
    for at in range(0, len(block.lines), step):
        yield from_lines(block.lines[at : at + step], block.first_line + at)


def reject(parsed: Parsed, space: Workspace, table: str, total: int) -> None:
    """Take over the lines that were not understood from `table` (n, line); the rest was."""
    bad = space.count(table)
    for n, line in space.rows(f"SELECT n, left(line, 200) FROM {table} ORDER BY n LIMIT 1000"):
        parsed.reject(int(str(n)), str(line).rstrip("\n"))
    parsed.rejects_dropped += max(0, bad - 1000)
    parsed.lines_understood += total - bad
