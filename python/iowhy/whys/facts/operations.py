"""What operations of io_uring and libaio are like, where no call shows it."""

from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.budget import Budget
from iowhy.whys.facts.metadata import NAME_CALLS


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


def synchronous_writes(budget: Budget, relations: Relations) -> bool:
    """Whether most of the waiting for sync is in writes, or for operations of io_uring or libaio that write.

    Calls on names are no evidence of either: a mount with `sync` makes both wait.
    """
    sync = {classes.SYNC}
    all_of_it = budget.elapsed(classes.SYNC) - budget.calls(NAME_CALLS, sync)
    by_write = budget.calls(classes.DATA_WRITES, sync)
    collected = all_of_it - by_write - budget.calls(classes.SYNC_CALLS, sync)
    if 2 * by_write <= all_of_it < 2 * (by_write + collected):
        by_write += collected * written_share(relations)
    return 2 * by_write > all_of_it
