"""Files that are opened for nearly each tiny call: with fewer calls, what that takes of a CPU is saved, too."""

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations

_OPEN = ("open", "openat", "openat2", "creat")
#: What is done for each time that a file is opened.
_ONCE = ("close", "fstat", "newfstatat", "statx", "lseek", "fcntl", "ioctl", "dup2", "dup3")
#: Opens for each tiny call on a file, from which it is opened for that.
EACH = 0.5
#: And of that file at least: fewer are not worth a word.
OFTEN = 1_000


class Reopened(Struct, frozen=True):
    """How often files were opened for the next tiny call, and the CPU time of that, of closing them and the like."""

    opens: int
    cpu_ns: float


def reopened(relations: Relations) -> Reopened | None:
    """None where no file is opened so often, or calls were not recorded."""
    if not (relations.has("syscalls") and relations.has("syscall_totals")):
        return None
    return relations.first(
        Reopened,
        f"""
        WITH tiny AS (SELECT dev, ino, sum(calls) AS calls FROM calls_by_file WHERE tiny GROUP BY dev, ino
        ), opened AS (
          SELECT dev, ino, sum(calls) AS calls, coalesce(sum(cpu_ns), 0) AS ns FROM calls_by_file
          WHERE name IN {_listed(_OPEN)} GROUP BY dev, ino
        ), often AS (
          SELECT sum(o.calls) AS opens, sum(o.ns) AS ns FROM opened AS o
          JOIN tiny AS t ON t.dev = o.dev AND t.ino = o.ino WHERE o.calls >= greatest({OFTEN}, {EACH} * t.calls)
        ), once AS (
          SELECT coalesce(sum(calls) FILTER (WHERE name IN {_listed(_OPEN)}), 0) AS opens,
            coalesce(sum(cpu_ns) FILTER (WHERE name IN {_listed(_ONCE)}), 0) AS ns FROM syscall_totals
        )
        SELECT CAST(f.opens AS BIGINT) AS opens, (f.ns + o.ns * least(1, f.opens / greatest(1, o.opens)))::DOUBLE AS cpu_ns
        FROM often AS f CROSS JOIN once AS o WHERE f.opens > 0
        """,
    )


def _listed(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(text_literal, names))})"
