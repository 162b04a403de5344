"""System calls printed by `perf trace`.

Layout: perf-trace(1): milliseconds since the start (with -T, since boot), duration, thread, call. Arguments that
are 0 are left out. A call that others interrupt is printed twice, the second time as `... [continued]`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from iowhy.errors import Problem
from iowhy.sources.format import REJECTS_KEPT, Block, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing.calls import errno_table, shapes_table
from iowhy.sources.tracing.events import interval
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "perf-trace"
TOOL = "perf trace"
HINT = r"\( *([\d.]+ ms)? *\): "

#: time, duration, comm, tid, continued call, call, its text.
EVENT = (
    r"^\s*(\?|\d+\.\d+) \(\s*([\d.]+)?(?: ms)?\s*\):\s+(?:(\S.{0,15})/(-?\d+) |(\d+) )?\s*"
    r"(?:\.\.\. \[continued\]: (\w+)\(\)\)?|(\w+)\()(.*?)\s*$"
)
_FIELDS = "['at', 'dur', 'comm', 'tid', 'tid2', 'again', 'name', 'rest']"
#: What is taken apart at once; of a longer line the pieces.
CHUNK_BYTES, LINE_BYTES = 4 << 20, 64 << 10
_BOOT_MS = 60_000  # relative times begin near 0, those since boot (-T) hardly in its first minute


def read(block: Block) -> Parsed:
    """Calls in a paste."""
    with Workspace(on_disk=False) as space:
        chunk = _chunk(block.lines, block.first_line)
        return _parse(space, iter([chunk]), block.names, block.command or ())


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Calls in a file of any size."""
    try:
        with space_for(path) as space, path.open("rb") as file:
            return _parse(space, _chunks(file, path.stat().st_size, progress), names, ())
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror or error) from None


def _chunk(lines: Sequence[str], first: int) -> dict[str, Any]:
    return {"n": np.arange(first, first + len(lines)), "line": np.array(lines, object)}


def _chunks(file: BinaryIO, total: int, progress: Progress) -> Iterator[dict[str, Any]]:
    """Lines and their numbers."""
    first, held, lines = 1, 0, []
    while line := file.readline(LINE_BYTES):
        lines.append(line.decode("utf-8", errors="replace").replace("\0", "").rstrip("\r\n"))
        held += len(line)
        if held >= CHUNK_BYTES:
            progress(file.tell(), total)
            yield _chunk(lines, first)
            first, held, lines = first + len(lines), 0, []
    if lines:
        yield _chunk(lines, first)


def _argument(names: str) -> str:
    return f"regexp_extract(e.rest, '(?:^|, )(?:{names}): (-?\\d+)', 1)"


def _parse(
    space: Workspace, chunks: Iterator[dict[str, Any]], names: Names, command: Sequence[str]
) -> Parsed:
    parsed = Parsed(TOOL, units="milliseconds")
    total, bad = _split(space, chunks), space.count("rejects")
    for n, line in space.rows(f"SELECT n, line FROM rejects ORDER BY n LIMIT {REJECTS_KEPT}"):
        parsed.reject(int(str(n)), str(line))
    parsed.rejects_dropped += max(0, bad - REJECTS_KEPT)
    parsed.lines_understood += total - bad
    if not space.count("calls"):
        parsed.lines_understood = 0
        return parsed
    _pair(space)
    absolute = any(word == "-T" for word in command) or bool(
        space.rows(f"SELECT min(ts_ns) > {_BOOT_MS}::BIGINT * 1000000 FROM whole")[0][0]
    )
    parsed.clock = "boot" if absolute else "own"
    _emit(parsed, space, names)
    unfinished = cast(int, space.rows("SELECT count(*) FROM calls WHERE ts_ns IS NULL")[0][0])
    if unfinished:
        parsed.note(f"{unfinished:,} calls began before the trace: left out")
    parsed.note("perf trace does not part a call's time on a CPU from its waiting")
    return parsed


def _split(space: Workspace, chunks: Iterator[dict[str, Any]]) -> int:
    """Lines into the tables `calls` and `rejects`; how many lines there are."""
    space.put("errnos", errno_table())
    space.put("shapes", shapes_table())
    space.run("""CREATE TABLE calls (n BIGINT, ts_ns BIGINT, dur_ns BIGINT, comm VARCHAR, tid BIGINT,
        name VARCHAR, again BOOLEAN, open BOOLEAN, fd BIGINT, path VARCHAR, bytes BIGINT,
        "offset" BIGINT, ret BIGINT, error VARCHAR)""")
    space.run("CREATE TABLE rejects (n BIGINT, line VARCHAR)")
    total = 0
    for chunk in chunks:
        total += len(chunk["n"])
        space.put("chunk", chunk)
        space.run(
            f"""CREATE OR REPLACE TEMP TABLE split AS SELECT n, line,
                regexp_extract(line, '{EVENT}', {_FIELDS}) AS e FROM chunk"""
        )
        space.run(
            f"""INSERT INTO calls SELECT n, round(TRY_CAST(e.at AS DOUBLE) * 1e6), round(TRY_CAST(e.dur AS DOUBLE) * 1e6),
                e.comm, TRY_CAST(coalesce(nullif(e.tid, ''), nullif(e.tid2, ''), '0') AS BIGINT),
                coalesce(nullif(e.name, ''), e.again), e.again <> '', regexp_matches(e.rest, '\\.\\.\\.$'),
                TRY_CAST(fd AS BIGINT), nullif(regexp_extract(e.rest, 'fd: \\d+<(/[^>]*)>', 1), ''),
                TRY_CAST({_argument("count|len|nbytes|size")} AS BIGINT),
                TRY_CAST({_argument("pos|offset|loff")} AS BIGINT),
                CASE WHEN starts_with(ret, '0x') THEN 0 ELSE TRY_CAST(ret AS BIGINT) END,
                regexp_extract(e.rest, '= -1 (E[A-Z0-9]+)', 1)
                FROM (SELECT *, {_argument("fd|out_fd")} AS fd,
                    regexp_extract(e.rest, '.*= (-?\\d+|0x[0-9a-f]+)', 1) AS ret FROM split)
                WHERE e.name <> '' OR e.again <> ''"""
        )
        space.run(
            """INSERT INTO rejects SELECT n, left(line, 200) FROM split WHERE e.name = '' AND e.again = ''
                AND trim(line, ' \n\t') <> ''"""
        )
    return total


def _pair(space: Workspace) -> None:
    """Calls printed twice as one, into `whole`: the second print has the result, the first the arguments."""
    space.run(
        """CREATE TABLE whole AS
        SELECT c.n, c.ts_ns, c.dur_ns, c.comm, c.tid, c.name,
            coalesce(c.fd, f.fd) AS fd, coalesce(c.path, f.path) AS path,
            coalesce(c.bytes, f.bytes) AS bytes, coalesce(c."offset", f."offset") AS "offset",
            CASE WHEN c.error <> '' THEN -coalesce(errno, 1) ELSE c.ret END AS ret
        FROM (SELECT * FROM calls WHERE NOT open AND dur_ns IS NOT NULL AND ts_ns IS NOT NULL) c
        LEFT JOIN (SELECT tid, name, ts_ns, max(fd) AS fd, max(path) AS path, max(bytes) AS bytes,
            max("offset") AS "offset" FROM calls WHERE open GROUP BY ALL) f
            ON c.again AND f.tid = c.tid AND f.name = c.name AND f.ts_ns = c.ts_ns
        LEFT JOIN errnos USING (error)"""
    )


def _emit(parsed: Parsed, space: Workspace, names: Names) -> None:
    """Tables of the recording from `whole`."""
    found = [
        str(row[0])
        for row in space.rows(
            "SELECT path FROM whole WHERE path IS NOT NULL GROUP BY path ORDER BY min(n)"
        )
    ]
    pairs = [names.file(path) for path in found]
    space.put(
        "paths",
        {
            "path": np.array(found or [""], object),
            "dev": np.array([pair[0] for pair in pairs] or [0], np.int64),
            "ino": np.array([pair[1] for pair in pairs] or [0], np.int64),
        },
    )
    parsed.tables["syscalls"] = space.table(
        "syscalls",
        """SELECT ts_ns, dur_ns, tid AS tgid, tid, w.name,
            CASE WHEN fd_at IS NOT NULL THEN coalesce(fd, 0) END AS fd, dev, ino, "offset",
            CASE WHEN length_at IS NOT NULL THEN coalesce(bytes, 0) END AS bytes, ret
        FROM whole w JOIN shapes s ON s.name = w.name LEFT JOIN paths p ON p.path = w.path""",
    )
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval("ts_ns", *(f"(SELECT {end}(ts_ns) FROM whole)" for end in ("min", "max")))}, tid AS tgid,
            tid, name, count(*) AS calls, count(*) FILTER (ret < 0 AND ret >= -4095) AS errors,
            sum(dur_ns) AS total_ns, max(dur_ns) AS max_ns
        FROM whole GROUP BY ALL""",
    )
    parsed.tables["threads"] = space.table(
        "threads",
        """SELECT tid, tid AS tgid, arg_max(comm, n) AS comm, min(ts_ns) AS start_ns FROM whole
        WHERE comm <> '' GROUP BY tid""",
    )
