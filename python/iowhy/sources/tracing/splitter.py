"""Runs `iowhy-logs`, which takes large logs apart, and reads the frames that it writes.

A frame is its kind (a letter), its length (u32) and its bytes (logs/src/frames.rs): S strings, C calls,
T totals, R a rejected line, P bytes done, E the summary (JSON), which is the last one.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
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
BLOCK_CALLS = 65_536
#: A number that is not known (frames.rs, UNKNOWN), and a descriptor that is none.
UNKNOWN = -(2**63)
NO_FD = -(2**31)

CALL = np.dtype(
    [(name, "<i8") for name in ("ts_ns", "dur_ns", "ret", "offset", "bytes")]
    + [("tid", "<i4"), ("fd", "<i4"), ("name", "<u4"), ("path", "<u4")]
)
_TOTAL = np.dtype(
    [(name, "<i8") for name in ("second", "calls", "errors", "total_ns", "max_ns")]
    + [("tid", "<i4"), ("name", "<u4")]
)


@dataclass
class Split:
    """A log taken apart. Its totals are the table `totals` of the work space.

    `strings` by their number; `calls` is a file of records, in the order of the log.
    """

    calls: IO[bytes]
    strings: list[str] = field(default_factory=lambda: [""])
    summary: dict[str, Any] = field(default_factory=dict)

    def blocks(self) -> Iterator[Any]:
        """The calls, some ten thousand at a time, as numpy records."""
        self.calls.seek(0)
        while data := self.calls.read(BLOCK_CALLS * CALL.itemsize):
            yield np.frombuffer(data, CALL)


def from_path(space: Workspace, form: str, path: Path, parsed: Parsed, progress: Progress) -> Split:
    """Take a file apart."""
    total = path.stat().st_size
    return _run(
        space, [form, str(path)], None, str(path), parsed, lambda done: progress(done, total)
    )


def from_lines(
    space: Workspace, form: str, lines: Sequence[str], first: int, source: str, parsed: Parsed
) -> Split:
    """Take a paste's lines apart, the first of which has number `first`."""
    with tempfile.TemporaryFile(prefix="iowhy-paste-") as file:
        file.write("\n".join(lines).encode("utf-8", errors="replace"))
        file.seek(0)
        return _run(space, [form, "-"], file, source, parsed, lambda _done: None, first)


def _run(
    space: Workspace,
    arguments: list[str],
    stdin: IO[bytes] | None,
    source: str,
    parsed: Parsed,
    done: Any,
    first: int = 1,
) -> Split:
    space.run(
        "CREATE TABLE totals (second BIGINT, calls BIGINT, errors BIGINT, total_ns BIGINT, "
        "max_ns BIGINT, tid BIGINT, name BIGINT)"
    )
    # Closed by whoever reads the calls.
    split = Split(tempfile.TemporaryFile(prefix="iowhy-calls-"))  # noqa: SIM115
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
                elif kind == b"C":
                    split.calls.write(data)
                elif kind == b"T":
                    _insert(space, "totals", np.frombuffer(data, _TOTAL))
                elif kind == b"R":
                    number = int.from_bytes(data[:8], "little") + first - 1
                    parsed.reject(number, data[8:].decode("utf-8", errors="replace"))
                elif kind == b"P":
                    done(int.from_bytes(data, "little"))
                elif kind == b"E":
                    split.summary = json.loads(data)
        except OSError as error:
            raise Problem(
                f"{tempfile.gettempdir()}: no room for the calls of the log ({error.strerror}); "
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
    rejected = int(split.summary["rejected"])
    parsed.rejects_dropped += max(0, rejected - len(parsed.rejects))
    parsed.lines_understood += int(split.summary["lines"]) - rejected
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


def _insert(space: Workspace, table: str, rows: Any) -> None:
    columns = {
        name: pa.array(np.ascontiguousarray(rows[name]).astype(np.int64))
        for name in rows.dtype.names
    }
    space.connection.register("incoming", pa.table(columns))
    space.run(f"INSERT INTO {table} SELECT * FROM incoming")
    space.connection.unregister("incoming")
