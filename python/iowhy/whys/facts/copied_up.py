"""Files that overlayfs copies up: before it changes one of a lower layer it makes a copy of it in the upper layer.

Containers change the files of their image so. By which call, the waits say, by their kernel stacks; what is copied, the pages that
are made dirty by who waits so: no call of its own writes them.
"""

from collections import Counter

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.tables import calls
from iowhy.whys import classes
from iowhy.whys.facts.filesystems import Filesystem, Filesystems
from iowhy.whys.facts.stacks import Through, passing, through

#: fs/overlayfs/copy_up.c, Linux 5.10 to 6.18. The last one gives a file whose attributes alone were copied before its data.
COPIES_UP = frozenset({
    "ovl_copy_up", "ovl_copy_up_flags", "ovl_copy_up_with_data", "ovl_copy_up_one", "ovl_do_copy_up",
    "ovl_copy_up_tmpfile", "ovl_copy_up_workdir", "ovl_copy_up_data", "ovl_copy_up_file",
    "ovl_copy_up_metadata", "ovl_copy_up_meta_inode_data", "ovl_maybe_copy_up",
})  # fmt: skip
#: Calls that want the data: to write to them, or to cut them off. All others change attributes or names.
OPENS = frozenset(one.name for one in calls().values() if one.effect == "open")
WANT_DATA = OPENS | {"truncate", "ftruncate"}


class CopiedUp(Struct, frozen=True):
    """`waits`: by call and reason, what of their waits is for copying, the longest first; `cpu_ns`: what these
    calls take of a CPU, as much of each as of its waits. `files` and `pages` that were copied, None where
    pages were not recorded by file and process. `path`: the name of the one that has most of them, None if it has none, with
    its `path_pages`. `written_bytes`: what the program itself writes to them. `overlay`: the only one that there is; None: one of several."""

    waits: tuple[Through, ...]
    cpu_ns: float = 0.0
    files: int | None = None
    pages: int | None = None
    path: str | None = None
    path_pages: int | None = None
    written_bytes: int | None = None
    overlay: Filesystem | None = None

    @property
    def calls(self) -> tuple[str, ...]:
        """Those that copy, the longest first."""
        return tuple(dict.fromkeys(one.call for one in self.waits))

    @property
    def for_data(self) -> float:
        """Of the time of the waits, the part in calls that want the data."""
        wanting = sum(one.shown_ns or 0.0 for one in self.waits if one.call in WANT_DATA)
        return wanting / sum(one.shown_ns or 0.0 for one in self.waits)


# Pages that are mapped are made dirty by no call either: a file with faults is none of these.
_FILES = f"""
WITH copying AS (SELECT DISTINCT tgid FROM waits WHERE stack_id IN {{stacks}}),
made AS (
    SELECT dev, ino, sum(dirtied_pages) AS pages
    FROM page_cache
    WHERE tgid IN (SELECT tgid FROM copying) AND dev IS NOT NULL
    GROUP BY dev, ino
    HAVING sum(dirtied_pages) > 0 AND sum(coalesce(major_faults, 0) + coalesce(minor_faults, 0)) = 0
), written AS (
    SELECT dev, ino, sum(done_bytes) AS bytes
    FROM calls_by_file WHERE name IN {classes.quoted(classes.DATA_WRITES)} GROUP BY dev, ino
), copied AS (
    SELECT m.dev, m.ino, coalesce(w.bytes, 0) AS bytes,
        m.pages - ceil(coalesce(w.bytes, 0) / {{page_bytes}})::BIGINT AS pages
    FROM made m LEFT JOIN written w ON w.dev = m.dev AND w.ino = m.ino
    WHERE m.pages > ceil(coalesce(w.bytes, 0) / {{page_bytes}})
)
SELECT nullif(count(*), 0) AS files, sum(c.pages)::BIGINT AS pages, sum(c.bytes)::BIGINT AS written_bytes,
    arg_max(f.path, c.pages) FILTER (WHERE f.path IS NOT NULL) AS path,
    max(c.pages) FILTER (WHERE f.path IS NOT NULL) AS path_pages
FROM copied c LEFT JOIN named_files f ON f.dev = c.dev AND f.ino = c.ino
"""


def copied_up(relations: Relations, filesystems: Filesystems, page_bytes: int) -> CopiedUp | None:
    """From waits and stacks, page_cache, syscalls, files, filesystems; None where no wait is for copying."""
    stacks = passing(relations, COPIES_UP)
    if not stacks:
        return None
    every = through(relations, COPIES_UP)
    waits = tuple(one for one in every if one.shown_ns)
    if not waits:
        return None
    overlays = [one for one in filesystems if one.kind == "overlay"]
    listed = "(" + ", ".join(map(str, stacks)) + ")"
    counted = relations.has("page_cache") and relations.has("syscalls")
    return relations.one(
        CopiedUp,
        *([_FILES.format(stacks=listed, page_bytes=page_bytes)] if counted else []),
        waits=waits,
        cpu_ns=_cpu_ns(relations, every),
        overlay=overlays[0] if len(overlays) == 1 else None,
    )


def _cpu_ns(relations: Relations, every: tuple[Through, ...]) -> float:
    """Of each call that copies, its time on a CPU in the part in which its waits are for that."""
    copying, waiting = Counter[str](), Counter[str]()
    for one in every:
        copying[one.call] += int(one.shown_ns or 0)
        waiting[one.call] += int(one.total_ns)
    names = classes.quoted(frozenset(call for call, ns in copying.items() if ns))
    found = relations.rows(
        f"""SELECT name, sum(cpu_ns)::DOUBLE AS cpu_ns FROM thread_calls
        WHERE name IN {names} AND cpu_ns IS NOT NULL GROUP BY name ORDER BY name"""
    )
    return float(sum(cpu_ns * copying[name] / waiting[name] for name, cpu_ns in found))
