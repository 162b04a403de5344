"""Runs `iowhy-logs`, which takes large logs apart, and opens the tables that it writes.

The program writes each table to a Parquet file, which says what its columns are (logs/src/output/rows.rs declares
them), and messages, JSON, one a line (logs/src/output/messages.rs): lines that were not understood, bytes that are done,
and at last a summary.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.stored_rows import parquet_of, path_of
from iowhy.sources.format import Parsed, Progress
from iowhy.sources.live import program
from iowhy.sources.tracing.workspace import Workspace

PROGRAM = "iowhy-logs"
STRINGS = "strings"


class Split(Struct):
    """A log taken apart: its tables are open files, which are gone with the last reference to them.

    Columns of type UINTEGER hold numbers of strings, which are once in their own table.
    """

    summary: dict[str, Any]
    files: dict[str, IO[bytes]]

    def sql(self, table: str) -> str:
        """The rows of a table as they are, in the order of the log."""
        return parquet_of(self.files[table])

    def attach(self, space: Workspace) -> None:
        """Make the strings a table of the work space: number, text."""
        source = f"read_parquet('{path_of(self.files[STRINGS])}', file_row_number = true)"
        space.run(
            f"CREATE OR REPLACE TABLE strings AS SELECT file_row_number AS number, text FROM {source}"
        )

    def load(self, space: Workspace, *tables: str) -> None:
        """Put tables into the work space, with strings for their numbers; `attach` comes first."""
        for table in tables:
            columns, joins = [], []
            for name, kind, *_ in space.rows(f"DESCRIBE SELECT * FROM {self.sql(table)}"):
                if kind == "UINTEGER":
                    joins.append(f'LEFT JOIN strings "s_{name}" ON "s_{name}".number = r."{name}"')
                    columns.append(f'"s_{name}".text AS "{name}"')
                else:
                    columns.append(f'r."{name}"')
            space.run(
                f"CREATE OR REPLACE TABLE {table} AS SELECT {', '.join(columns)} "
                f"FROM {self.sql(table)} r {' '.join(joins)}"
            )


class _Job(Struct):
    """What is taken apart: the program's format, the file or else the open file, and how to name it."""

    form: str
    path: Path | None
    file: IO[bytes] | None
    source: str
    parsed: Parsed
    done: Callable[[int], None]
    #: The number of the first line.
    first: int = 1


def from_path(form: str, path: Path, parsed: Parsed, progress: Progress) -> Split:
    """Take a file apart."""
    total = path.stat().st_size
    return _split(_Job(form, path, None, str(path), parsed, lambda done: progress(done, total)))


def from_lines(form: str, lines: Sequence[str], first: int, source: str, parsed: Parsed) -> Split:
    """Take a paste's lines apart, the first of which has number `first`."""
    with tempfile.TemporaryFile(prefix="iowhy-paste-") as file:
        file.write("\n".join(lines).encode("utf-8", errors="replace"))
        return from_file(form, file, source, parsed, lambda _done, _total: None, first)


def from_file(
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
    return _split(_Job(form, None, file, source, parsed, lambda done: progress(done, total), first))


def _split(job: _Job) -> Split:
    split = _run(job)
    if split is None:
        # The buffers of several CPUs, one after the other: read again in the order of time.
        job.parsed.rejects.clear()
        split = _run(job, "--sort")
        assert split is not None
    rejected = int(split.summary["rejected"])
    job.parsed.rejects_dropped += max(0, rejected - len(job.parsed.rejects))
    job.parsed.lines_understood += int(split.summary["lines"]) - rejected
    return split


def _run(job: _Job, *options: str) -> Split | None:
    """One pass over the log; None if it is not in the order of time, and no table was ended."""
    if job.file is not None:
        job.file.seek(0)
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-rows-") as directory,
        tempfile.TemporaryFile() as errors,
    ):
        command = [program(PROGRAM), job.form, job.path or "-", directory, *options]
        process = subprocess.Popen(
            command,
            stdin=job.file if job.file is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        try:
            summary = _follow(job, process.stdout)
        finally:
            # Where reading stopped early nobody reads the rest: the program ends on its closed pipe.
            process.stdout.close()
            process.wait()
        if summary is None:
            errors.seek(0)
            message = errors.read(2000).decode("utf-8", errors="replace").strip()
            raise Problem(
                "cannot-be-parsed", path=job.source, error=message or "iowhy-logs was stopped"
            )
        if summary.get("disordered"):
            return None
        # An open file outlives its name.
        return Split(
            summary, {path.stem: path.open("rb") for path in Path(directory).glob("*.parquet")}
        )


def _follow(job: _Job, messages: IO[bytes]) -> dict[str, Any] | None:
    """Take the program's messages up to its last one: the summary. None: it ended without one."""
    for line in messages:
        try:
            ((kind, value),) = json.loads(line).items()
        except ValueError:
            return None
        if kind == "rejected":
            job.parsed.reject(int(value["line"]) + job.first - 1, value["text"])
        elif kind == "done":
            job.done(int(value))
        elif kind == "damaged":
            raise Problem("log-damaged", path=job.source, value=value)
        elif kind == "summary":
            return dict(value)
    return None
