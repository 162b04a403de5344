"""Calls that storage refused or could not do: no room, a broken device, a filesystem that takes no writes."""

from msgspec import Struct

from iowhy.relations import Relations

#: Whatever becomes of the run, somebody did not get what was asked for: ENOSPC, EDQUOT, and a damaged filesystem (EUCLEAN).
_ALWAYS = (-28, -122, -117)
#: Programs ask for it to see whether they may, or try again with less: EIO, ENFILE, EMFILE, EFBIG, EROFS, ETIMEDOUT (of a
#: server), ESTALE.
_WHERE_IT_FAILED = (-5, -23, -24, -27, -30, -110, -116)
#: Files that the kernel makes up: no storage refuses anything there.
_MADE_UP = (
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
)
#: Of calls on data there is no trying: what is written, read or made durable is not.
_OF_DATA = (-5, -116)


class Failed(Struct, frozen=True):
    """Calls that ended in one error (`error`, a positive errno). `name` and `path` are those of the last; the path is None
    where the call named no file, or it is not known. `of_filesystem` is where the filesystem of that file is mounted."""

    error: int
    calls: int
    name: str
    path: str | None
    of_filesystem: str | None
    ago_ns: int


def failed(relations: Relations, *, ended_badly: bool) -> tuple[Failed, ...]:
    """From syscalls and async_operations, the last one first. `ended_badly`: what else may have ended the command counts, too."""
    if not (relations.has("syscalls") or relations.has("async_operations")):
        return ()
    counts = (
        f"e.ret IN {_ALWAYS} OR e.kind IN ('read', 'write', 'copy', 'sync') AND e.ret IN {_OF_DATA}"
    )
    if ended_badly:
        counts += f" OR e.ret IN {_WHERE_IT_FAILED}"
    found = relations.read(
        Failed,
        f"""
        SELECT -e.ret AS error, count(*) AS calls, max_by(e.name, e.end_ns) AS name,
          max_by(struct_pack(p := f.path), e.end_ns).p AS path,
          max_by(struct_pack(p := m.mount), e.end_ns).p AS of_filesystem,
          any_value(r.end_ns) - max(e.end_ns) AS ago_ns
        FROM (
          SELECT s.name, k.kind, s.dev, s.ino, s.ret, s.ts_ns + coalesce(s.dur_ns, 0) AS end_ns
          FROM file_operations AS s JOIN call_kinds AS k ON k.name = s.name WHERE s.ret IN {_ANY}
        ) AS e
        CROSS JOIN recording AS r
        LEFT JOIN named_files AS f ON f.dev = e.dev AND f.ino = e.ino
        LEFT JOIN (
          SELECT dev, min(mount) AS mount, min(kind) AS kind FROM filesystems GROUP BY dev
        ) AS m ON m.dev = e.dev
        WHERE ({counts}) AND e.kind IN ('read', 'write', 'copy', 'sync', 'change', 'lookup')
          AND coalesce(f.kind, 'file') IN ('file', 'directory', 'device', 'unknown')
          AND coalesce(m.kind, '') NOT IN {_MADE_UP}
        GROUP BY e.ret ORDER BY max(e.end_ns) DESC
        """,
    )
    return tuple(found)


_ANY = tuple(sorted({*_ALWAYS, *_WHERE_IT_FAILED, *_OF_DATA}))
