"""Runs `iowhy-logs`, which takes large logs apart, and reads the frames that it writes.

A frame is its kind (a letter), its length (u32) and its bytes (logs/src/frames.rs): S strings, T totals of calls,
R a rejected line, P bytes done, E the summary (JSON), which is the last one; the others hold rows (ROWS).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.live import program
from iowhy.sources.tracing.workspace import Workspace

PROGRAM = "iowhy-logs"
BLOCK_ROWS = 65_536
#: A number that is not known (frames.rs, UNKNOWN), and a descriptor that is none.
UNKNOWN = -(2**63)
NO_FD = -(2**31)


def _record(numbers: str, small: str) -> Any:
    """Numbers of 64 bits, then `tid` and `fd` of 32 and the rest as unsigned (strings, flags)."""
    signed = {"tid", "fd"}
    return np.dtype(
        [(name, "<i8") for name in numbers.split()]
        + [(name, "<i4" if name in signed else "<u4") for name in small.split()]
    )


#: The rows of each kind: of strace's calls (C); of a trace's calls (c), threads' times (t) and waits (w).
ROWS = {
    b"C": _record("ts_ns dur_ns ret offset bytes", "tid fd name path"),
    b"c": _record(
        "ts_ns dur_ns ret a0 a1 a2 a3 a4 a5 cpu_ns runnable_ns blocked_ns sleeping_ns", "tid name"
    ),
    b"t": _record("ts_ns user kernel runnable_ns blocked_ns sleeping_ns", "tid none"),
    b"w": _record("ts_ns dur_ns", "tid call stack caller io none"),
}
#: Rows that go into a table of the work space: its name, the rows, and which columns are strings.
TABLES = {
    b"b": (
        "block_events",
        _record("n ts_ns dev bytes sector error", "tid comm kind rwbs"),
        {"comm", "kind", "rwbs"},
    ),
    b"p": ("pages", _record("n ts_ns dev ino first count", "tid what"), {"what"}),
    b"f": (
        "filesystem",
        _record("n ts_ns dev ino v0 v1 v2 v3 v4 v5 v6", "tid name comm word raw none"),
        {"name", "comm", "word"},
    ),
    b"T": (
        "totals",
        _record("second calls errors total_ns max_ns cpu_ns", "tid name"),
        {"name"},
    ),
}


@dataclass
class Split:
    """A log taken apart. Rows of TABLES are in the work space, those of ROWS in files, in the log's order.

    `strings` by their number: 0 is none.
    """

    strings: list[str] = field(default_factory=lambda: [""])
    summary: dict[str, Any] = field(default_factory=dict)
    files: dict[bytes, IO[bytes]] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Split:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the files back."""
        self._stack.close()

    def write(self, kind: bytes, data: bytes) -> None:
        """Keep rows."""
        if kind not in self.files:
            self.files[kind] = self._stack.enter_context(
                tempfile.TemporaryFile(prefix="iowhy-rows-")  # noqa: SIM115
            )
        self.files[kind].write(data)

    def blocks(self, kind: bytes) -> Iterator[Any]:
        """The rows of a kind, some ten thousand at a time, as numpy records."""
        file = self.files.get(kind)
        if file is None:
            return
        file.seek(0)
        while data := file.read(BLOCK_ROWS * ROWS[kind].itemsize):
            yield np.frombuffer(data, ROWS[kind])


def from_path(space: Workspace, form: str, path: Path, parsed: Parsed, progress: Progress) -> Split:
    """Take a file apart."""
    total = path.stat().st_size
    return _ordered(
        space, [form, str(path)], None, str(path), parsed, lambda done: progress(done, total)
    )


def from_lines(
    space: Workspace, form: str, lines: Sequence[str], first: int, source: str, parsed: Parsed
) -> Split:
    """Take a paste's lines apart, the first of which has number `first`."""
    with tempfile.TemporaryFile(prefix="iowhy-paste-") as file:
        file.write("\n".join(lines).encode("utf-8", errors="replace"))
        return from_file(space, form, file, source, parsed, lambda _done, _total: None, first)


def from_file(
    space: Workspace,
    form: str,
    file: IO[bytes],
    source: str,
    parsed: Parsed,
    progress: Progress,
    first: int = 1,
) -> Split:
    """Take an open file apart."""
    file.flush()
    total = file.seek(0, 2)
    return _ordered(
        space, [form, "-"], file, source, parsed, lambda done: progress(done, total), first
    )


def _ordered(
    space: Workspace,
    arguments: list[str],
    stdin: IO[bytes] | None,
    source: str,
    parsed: Parsed,
    done: Callable[[int], None],
    first: int = 1,
) -> Split:
    split = _run(space, arguments, stdin, source, parsed, done, first)
    if split.summary.get("disordered"):
        # The buffers of several CPUs, one after the other: read again in the order of time.
        split.close()
        parsed.rejects.clear()
        split = _run(space, [*arguments, "--sort"], stdin, source, parsed, done, first)
    rejected = int(split.summary["rejected"])
    parsed.rejects_dropped += max(0, rejected - len(parsed.rejects))
    parsed.lines_understood += int(split.summary["lines"]) - rejected
    return split


def _run(
    space: Workspace,
    arguments: list[str],
    stdin: IO[bytes] | None,
    source: str,
    parsed: Parsed,
    done: Callable[[int], None],
    first: int,
) -> Split:
    for table, rows, texts in TABLES.values():
        columns = ", ".join(
            f"{name} {'VARCHAR' if name in texts else 'BIGINT'}" for name in rows.names
        )
        space.run(f"CREATE OR REPLACE TABLE {table} ({columns})")
    split = Split()
    words = pa.array([""], pa.string())
    if stdin is not None:
        stdin.seek(0)
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [program(PROGRAM), *arguments],
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        )
        assert process.stdout is not None
        try:
            for kind, data in _frames(process.stdout):
                if kind == b"S":
                    split.strings += _strings(data)
                elif kind in ROWS:
                    split.write(kind, data)
                elif kind in TABLES:
                    if len(words) < len(split.strings):
                        new = pa.array(split.strings[len(words) :], pa.string())
                        words = pa.concat_arrays([words, new])
                    _insert(space, kind, data, words)
                elif kind == b"R":
                    number = int.from_bytes(data[:8], "little") + first - 1
                    parsed.reject(number, data[8:].decode("utf-8", errors="replace"))
                elif kind == b"P":
                    done(int.from_bytes(data, "little"))
                elif kind == b"E":
                    split.summary = json.loads(data)
        except OSError as error:
            raise Problem(
                f"{tempfile.gettempdir()}: no room for the rows of the log ({error.strerror}); "
                "point TMPDIR at a larger disk"
            ) from None
        finally:
            # Where reading stopped early nobody reads the rest: the program ends on its closed pipe.
            process.stdout.close()
            process.wait()
        if not split.summary:
            complaints.seek(0)
            told = complaints.read(2000).decode("utf-8", errors="replace").strip()
            raise Problem(f"{source}: cannot be taken apart: {told or 'iowhy-logs was stopped'}")
    return split


def _frames(pipe: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    while len(head := pipe.read(5)) == 5:
        length = int.from_bytes(head[1:], "little")
        data = pipe.read(length)
        if len(data) < length:
            return
        yield head[:1], data


def _strings(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        yield data[at + 4 : end].decode("utf-8", errors="replace")
        at = end


def _insert(space: Workspace, kind: bytes, data: bytes, words: pa.Array) -> None:
    table, record, texts = TABLES[kind]
    rows = np.frombuffer(data, record)
    columns = {}
    for name in record.names:
        values = np.ascontiguousarray(rows[name])
        if name in texts:
            columns[name] = words.take(pa.array(values))
        elif record[name].itemsize == 8:
            columns[name] = pa.array(values, mask=values == UNKNOWN)
        else:
            columns[name] = pa.array(values.astype(np.int64))
    space.connection.register("incoming", pa.table(columns))
    space.run(f"INSERT INTO {table} SELECT * FROM incoming")
    space.connection.unregister("incoming")
