"""Who took pages of the command's files out of the page cache: what helps against one does not help against another."""

from enum import Enum

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.culprits import Culprit, Member, heaviest
from iowhy.whys.facts.machine import Machine


class Kind(Enum):
    """In whose context pages were freed, and what for."""

    LIMIT = "the limit of its control group"
    NEED = "memory that the command needed itself"
    OTHERS_NEED = "memory that another program needed"
    KSWAPD = "kswapd, as the machine is short of memory"
    DAMON = "DAMON, which frees what was not used for a while, also where memory is left"
    GIVEN_UP = "the command itself gave them up (posix_fadvise, direct I/O)"
    DROPPED = "another program dropped them (drop_caches, posix_fadvise, truncation)"


class Evictor(Struct, frozen=True):
    """`pages` of the command's files that were read again, and their `share` (0..1) of all of these that were evicted. `by` took most of them."""

    kind: Kind
    by: Culprit | None
    pages: float
    share: float


class _Row(Struct, frozen=True):
    tgid: int | None
    comm: str | None
    group_key: str | None
    level: str | None
    container: str | None
    program: str | None
    own: bool
    how: str | None
    again: bool
    pages: int


def evictors(relations: Relations, machine: Machine) -> tuple[Evictor, ...]:
    """The largest first, of files that were read again if there are any. Empty where nothing was evicted, or the source does not say how."""
    if not relations.has("page_cache"):
        return ()
    rows = relations.read(
        _Row,
        """SELECT e.tgid, e.comm, g.group_key, g.level, g.container, g.program, e.own, e.how, e.again, e.pages
        FROM page_evictors AS e LEFT JOIN process_groups AS g ON g.tgid = e.tgid
        ORDER BY e.pages DESC, e.tgid, e.how, e.again""",
    )
    # A file that was removed lost its pages too, and nobody missed them.
    rows = [row for row in rows if row.again] or rows
    whole = sum(row.pages for row in rows)
    if not whole or any(row.how is None for row in rows):
        return ()
    by_kind: dict[Kind, list[_Row]] = {}
    for row in rows:
        by_kind.setdefault(_kind(row, machine), []).append(row)
    found = [
        Evictor(kind, _by(of), float(pages), pages / whole)
        for kind, of in by_kind.items()
        for pages in [sum(row.pages for row in of)]
    ]
    return tuple(sorted(found, key=lambda one: -one.pages))


def _by(rows: list[_Row]) -> Culprit | None:
    """None where no process is known."""
    members = [
        Member(
            row.group_key or str(row.tgid),
            row.level or "process",
            row.container,
            row.comm,
            row.program,
            row.tgid,
            row.pages,
        )
        for row in rows
        if row.tgid is not None
    ]
    return heaviest(members) if members else None


def _kind(row: _Row, machine: Machine) -> Kind:
    if row.how == "kswapd":
        return Kind.KSWAPD
    if row.how == "damon":
        return Kind.DAMON
    if row.how == "dropped":
        return Kind.GIVEN_UP if row.own else Kind.DROPPED
    if not row.own:
        return Kind.OTHERS_NEED
    return Kind.LIMIT if _met_its_limit(machine) else Kind.NEED


def _met_its_limit(machine: Machine) -> bool:
    """The kernel counts what it scans for want of the machine's memory (pgscan_direct), not for a group's limit."""
    if machine.memory_limit_hits is not None:
        return machine.memory_limit_hits > 0
    return machine.memory_limit_bytes is not None and not machine.direct_scan_pages
