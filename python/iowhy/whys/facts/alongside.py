"""Calls that are made for each call that moves data, and move none: to ask whether there is some, or in vain."""

from iowhy.relations import Relations
from iowhy.tables import calls
from iowhy.whys import classes

#: Of the calls that move data, as many as this of one name are made for them.
OFTEN = 0.2
_READY = frozenset(
    {"select", "pselect6", "poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2", "fcntl", "ioctl", "lseek"}
)  # fmt: skip
_ON_FILES = frozenset(name for name, call in calls().items() if call.record is not None)


def made_for(relations: Relations, moving: int) -> tuple[int, float]:
    """How many there are for so many that move data, and their part (0..1) of all calls that are not on files."""
    if not relations.has("syscall_totals"):
        return 0, 0.0
    ((made, part),) = relations.rows(
        f"""
        WITH named AS (
          SELECT name, sum(calls) AS calls, sum(errors) AS errors FROM syscall_totals
          WHERE name NOT IN {classes.quoted(_ON_FILES)} GROUP BY name
        ), marked AS (
          SELECT calls, calls >= {OFTEN * moving} AND (name IN {classes.quoted(_READY)} OR 2 * errors >= calls) AS vain FROM named
        )
        SELECT coalesce(sum(calls) FILTER (WHERE vain), 0)::BIGINT, coalesce(sum(calls) FILTER (WHERE vain) / nullif(sum(calls), 0), 0) FROM marked
        """
    )
    return made, part
