"""What operations of io_uring and libaio are like, where no call shows it."""

from msgspec import Struct

from iowhy.relations import Relations


class _Written(Struct, frozen=True):
    share: float | None


def written_share(relations: Relations) -> float:
    """Of the time in which operations of io_uring and libaio make data durable, that of writes (O_DSYNC)."""
    found = relations.one(
        _Written,
        """SELECT CAST(sum(CASE WHEN by_write THEN dur_ns ELSE 0 END) AS DOUBLE) / sum(dur_ns) AS share
        FROM sync_calls WHERE asynchronous""",
    )
    return found.share or 0.0


class _Direct(Struct, frozen=True):
    direct: bool | None


def direct_operations(relations: Relations) -> bool:
    """Whether most operations of io_uring and libaio that read or write are direct."""
    return bool(
        relations.one(
            _Direct,
            """SELECT avg(CASE WHEN list_contains(flags, 'direct') THEN 1.0 ELSE 0.0 END) > 0.5 AS direct
            FROM async_operations WHERE kind IN ('read', 'write')""",
        ).direct
    )
