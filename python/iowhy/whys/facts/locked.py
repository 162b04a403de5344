"""Which statement of a database waits for a lock of its server, and which one holds that."""

from msgspec import Struct

from iowhy.relations import Relations

#: Of a statement, what a sentence has of it.
_SHOWN = 60


class Locked(Struct, frozen=True):
    """The statement that waits longest, of which `waited_ns` for the session `holder_tid`, whose statement is `holder`, if known.

    `all_ns`: of all statements together.
    """

    statement: str
    lock: str
    waited_ns: int
    holder_tid: int | None
    holder: str | None
    all_ns: int


def locked(relations: Relations) -> Locked | None:
    """From the readings of a server's views; None where no statement waits for a lock, or none was read."""
    if not relations.has("statement_readings"):
        return None
    found = relations.read(
        Locked,
        """SELECT coalesce(s.text, l.statement_id) AS statement, l."lock", l.waited_ns, l.holder_tid, h.text AS holder,
          CAST(sum(l.waited_ns) OVER () AS BIGINT) AS all_ns
        FROM statement_locks AS l LEFT JOIN statement_texts AS s ON s.statement_id = l.statement_id
        LEFT JOIN statement_texts AS h ON h.statement_id = l.holder_id
        ORDER BY l.waited_ns DESC, l.statement_id LIMIT 1""",
    )
    return found[0] if found else None


def cut(statement: str) -> str:
    """A statement as sentences have it."""
    return statement if len(statement) <= _SHOWN else f"{statement[: _SHOWN - 1]}…"
