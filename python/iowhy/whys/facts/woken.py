"""How long calls that had to wait were ready once the wait had ended, and waited for a CPU."""

from msgspec import Struct

from iowhy.relations import Relations


class Woken(Struct, frozen=True):
    """The calls of one name that waited for storage, or uninterruptibly for anything else, and for longer than they computed."""

    name: str
    runnable_ns: int


def wake_ups(relations: Relations) -> tuple[Woken, ...]:
    """By the single calls; of page faults it is not known."""
    if not relations.has("syscalls"):
        return ()
    found = relations.read(
        Woken,
        # Who serves a file (FUSE) is waited for interruptibly.
        """SELECT name, CAST(sum(runnable_ns) AS BIGINT) AS runnable_ns FROM (
          SELECT name, runnable_ns FROM syscalls WHERE runnable_ns > 0 AND blocked_ns > coalesce(cpu_ns, 0)
          UNION ALL
          SELECT syscall, woken_ns FROM storage_sleep_sums WHERE woken_ns > 0
        ) AS w GROUP BY name ORDER BY name""",
    )
    return tuple(found)
