"""What operations of io_uring and libaio are like, where no call shows it."""

from iowhy.relations import Relations


def written_share(relations: Relations) -> float:
    """Of the time in which operations of io_uring and libaio make data durable, that of writes (O_DSYNC)."""
    return (
        relations.value(
            float,
            """SELECT sum(CASE WHEN by_write THEN dur_ns ELSE 0 END) / sum(dur_ns)
            FROM sync_calls WHERE asynchronous""",
        )
        or 0.0
    )


def direct_operations(relations: Relations) -> bool:
    """Whether most operations of io_uring and libaio that read or write are direct."""
    return bool(
        relations.value(
            bool,
            """SELECT avg(CASE WHEN list_contains(flags, 'direct') THEN 1.0 ELSE 0.0 END) > 0.5
            FROM async_operations WHERE kind IN ('read', 'write')""",
        )
    )
