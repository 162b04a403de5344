"""Temporary files that hold what does not fit into a program's memory: written, read back, and deleted."""

from msgspec import Struct

from iowhy.relations import Relations

#: Of what is written to a file, what its program reads back: a log that is cut off, or a download, is read once elsewhere or never.
READ_BACK = 0.5
#: No program has so little memory.
BYTES_MIN = 16 * 1024 * 1024


class Waiting(Struct, frozen=True):
    """A call, and of its time in uninterruptible sleep the part (0..1) that is on these files."""

    call: str
    part: float


class Spiller(Struct, frozen=True):
    """The statement that spilled most: bytes of one run, and what a session of its server may take for one sort or hash."""

    statement: str
    server: str
    each_bytes: int
    memory_bytes: int | None


class Spilled(Struct, frozen=True):
    """`files` with `written_bytes`, of which `read_bytes` were read back; `most_bytes`: written by one process of `processes`.

    `path`: the one that most was written to, None if it has no name. `waits`: where calls wait for them; `kernel_part`: of the
    CPU time of calls on files (0..1). `named_part`: of what was written, to files that are temporary by their names (0..1).
    """

    files: int
    written_bytes: int
    read_bytes: int
    most_bytes: int
    processes: int
    path: str | None = None
    waits: tuple[Waiting, ...] = ()
    kernel_part: float = 0.0
    named_part: float = 0.0
    by: Spiller | None = None


# What is temporary by its name spills while it is there, or where another process reads it back, too.
_FILES = f"""
WITH moved AS (
  SELECT c.dev, c.ino, p.program, bool_or(k.kind = 'sync') AS synced,
    coalesce(sum(CASE WHEN k.kind = 'write' THEN c.done_bytes END), 0) AS written,
    coalesce(sum(CASE WHEN k.kind = 'read' THEN c.done_bytes END), 0) AS read
  FROM calls_by_file AS c JOIN call_kinds AS k ON k.name = c.name LEFT JOIN named_processes AS p ON p.tgid = c.tgid
  WHERE c.ino IS NOT NULL AND c.file_kind = 'file' GROUP BY c.dev, c.ino, p.program
)
SELECT m.dev, m.ino, max(f.path) AS path, sum(m.written)::BIGINT AS written, sum(m.read)::BIGINT AS read, count(t.ino) > 0 AS named
FROM moved AS m LEFT JOIN named_files AS f ON f.dev = m.dev AND f.ino = m.ino
LEFT JOIN temporary_files AS t ON t.dev = m.dev AND t.ino = m.ino
GROUP BY m.dev, m.ino
HAVING sum(m.written) > 0 AND NOT bool_or(m.synced) AND (
  (bool_or(coalesce(f.deleted, false)) AND bool_or(m.written > 0 AND m.read >= {READ_BACK} * m.written))
  OR count(t.ino) > 0
)
"""

_SUMS = f"""
WITH spilled AS ({_FILES}), by_process AS (
  SELECT c.tgid, sum(c.done_bytes) AS bytes
  FROM calls_by_file AS c JOIN spilled AS s ON s.dev = c.dev AND s.ino = c.ino JOIN call_kinds AS k ON k.name = c.name
  WHERE k.kind = 'write' GROUP BY c.tgid HAVING sum(c.done_bytes) > 0
)
SELECT count(*) AS files, coalesce(sum(written), 0)::BIGINT AS written_bytes, coalesce(sum(read), 0)::BIGINT AS read_bytes,
  arg_max(path, written) AS path, coalesce((SELECT max(bytes) FROM by_process), 0)::BIGINT AS most_bytes,
  (SELECT count(*) FROM by_process) AS processes,
  coalesce(sum(written) FILTER (WHERE named) / nullif(sum(written), 0), 0)::DOUBLE AS named_part
FROM spilled
"""

_WAITS = f"""
WITH spilled AS ({_FILES})
SELECT c.name AS call, sum(CASE WHEN s.ino IS NOT NULL THEN c.blocked_ns END)::DOUBLE / sum(c.blocked_ns) AS part
FROM calls_by_file AS c LEFT JOIN spilled AS s ON s.dev = c.dev AND s.ino = c.ino
GROUP BY c.name HAVING sum(CASE WHEN s.ino IS NOT NULL THEN c.blocked_ns END) > 0 ORDER BY c.name
"""

_CPU = f"""
WITH spilled AS ({_FILES})
SELECT coalesce(sum(CASE WHEN s.ino IS NOT NULL THEN c.cpu_ns END)::DOUBLE / nullif(sum(c.cpu_ns), 0), 0)
FROM calls_by_file AS c LEFT JOIN spilled AS s ON s.dev = c.dev AND s.ino = c.ino
JOIN call_kinds AS k ON k.name = c.name AND k.kind IS NOT NULL AND k.kind <> 'idle'
WHERE c.file_kind IN ('file', 'directory', 'device')
"""


_BY = """
SELECT n.text AS statement, n.server, (m.spilled_bytes / greatest(t.runs, 1))::BIGINT AS each_bytes, n.memory_bytes
FROM statement_moves AS m JOIN statement_totals AS t ON t.statement_id = m.statement_id
JOIN statement_texts AS n ON n.statement_id = m.statement_id
WHERE m.spilled_bytes > 0 ORDER BY m.spilled_bytes DESC, n.text LIMIT 1
"""


def spilled(relations: Relations, least_bytes: int) -> Spilled | None:
    """From calls and files; None if no more than `least_bytes` were written to such files."""
    if not relations.has("syscalls") or not relations.has("files"):
        return None
    # Most programs have none: what they wait for is only asked of those that have.
    found = relations.one(Spilled, _SUMS)
    if found.written_bytes < least_bytes or not found.read_bytes:
        return None
    return relations.one(
        Spilled,
        _SUMS,
        waits=tuple(relations.read(Waiting, _WAITS)),
        kernel_part=relations.value(float, _CPU) or 0.0,
        by=next(iter(relations.read(Spiller, _BY)), None) if relations.has("statements") else None,
    )
