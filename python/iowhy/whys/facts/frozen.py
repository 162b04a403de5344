"""Filesystems that take no writes until they are thawed: which, since when, until when, and who may have frozen them."""

from msgspec import Struct

from iowhy.relations import Relations

#: The reason of such a wait (tables/reasons.toml).
REASON = "frozen"
#: What freezes filesystems (FIFREEZE of ioctl(2), suspended volumes), by the names of their threads.
FREEZERS = (
    "fsfreeze", "xfs_freeze", "qemu-ga", "vmtoolsd", "hv_vss_daemon", "dmsetup", "lvcreate",
    "lvconvert", "lvchange", "lvresize", "lvextend", "fsadm", "snapper", "salt-minion",
)  # fmt: skip


class Frozen(Struct, frozen=True):
    """One freeze as its waiters show it; `since_ns` and `until_ns` from the start, when the first began to wait and the last could go on.

    `until_ns` is None if it was still frozen at the end. `waits`, by `threads` in `call`, most of them of `comm`. `mount` is None where no wait has a file.
    """

    mount: str | None
    call: str | None
    comm: str | None
    waits: int
    threads: int
    since_ns: int
    until_ns: int | None


# A call that opens a file has none while it waits; what it opened in the end is on that filesystem.
_FROZEN = f"""
WITH held AS (
  SELECT w.ts_ns, w.dur_ns, w.tid, w.syscall, coalesce(w.dev, max(s.dev)) AS dev
  FROM waits AS w LEFT JOIN syscalls AS s ON s.tid = w.tid AND s.ts_ns <= w.ts_ns AND w.ts_ns < s.ts_ns + s.dur_ns
  WHERE w.reason = '{REASON}'
  GROUP BY w.ts_ns, w.dur_ns, w.tid, w.syscall, w.dev
), mounts AS (SELECT dev, min(mount) AS mount FROM filesystems GROUP BY dev)
SELECT m.mount, max_by(h.syscall, h.dur_ns) AS call, max_by(t.comm, h.dur_ns) AS comm, count(*) AS waits, count(DISTINCT h.tid) AS threads,
  min(h.ts_ns) - any_value(r.start_ns) AS since_ns,
  CASE WHEN max(h.ts_ns + h.dur_ns) < any_value(r.end_ns) THEN max(h.ts_ns + h.dur_ns) - any_value(r.start_ns) END AS until_ns
FROM held AS h CROSS JOIN recording AS r LEFT JOIN mounts AS m ON m.dev = h.dev
LEFT JOIN (SELECT tid, max(comm) AS comm FROM threads GROUP BY tid) AS t ON t.tid = h.tid
GROUP BY m.mount ORDER BY sum(h.dur_ns) DESC, m.mount LIMIT 1
"""


def frozen(relations: Relations) -> Frozen | None:
    """The filesystem whose freeze was waited for longest, from waits; None if nothing waited so."""
    return relations.first(Frozen, _FROZEN) if relations.has("waits") else None


def freezers(relations: Relations) -> list[str]:
    """Processes inside and outside the recording whose work is to freeze filesystems: `fsfreeze (123)`."""
    names = ", ".join(f"'{name[:15]}'" for name in FREEZERS)
    return relations.values(
        str,
        f"""SELECT comm || ' (' || pid || ')' FROM (
          SELECT comm, tgid AS pid FROM threads UNION SELECT comm, tgid FROM neighbours) AS p
        WHERE comm IN ({names}) ORDER BY pid LIMIT 3""",
    )
