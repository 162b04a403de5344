"""What asynchronous operations (io_uring, libaio) moved, which no call names."""

from msgspec import Struct

from iowhy.relations import Relations


class Moved(Struct, frozen=True):
    """Bytes of the operations of one kind, read or write, on what is stored; None where nothing is known of them."""

    kind: str
    asked_bytes: int | None
    done_bytes: int | None


def moved(relations: Relations, stored: str) -> list[Moved]:
    """From async_operations; `stored` is the SQL condition for files that are stored."""
    return relations.read(
        Moved,
        f"""SELECT kind, sum(asked_bytes) AS asked_bytes, sum(moved_bytes) AS done_bytes FROM async_totals
        WHERE kind IN ('read', 'write') AND {stored} GROUP BY kind ORDER BY kind""",
    )
