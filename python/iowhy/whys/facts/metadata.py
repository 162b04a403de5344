"""The filesystems' own blocks (inodes, directories, maps) that the command had read, and the names it asked for."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.tables import calls
from iowhy.whys import classes
from iowhy.whys.facts.requests import Requests

#: Calls on names and inodes: they look up, list, make and remove. What they read are metadata alone.
NAME_CALLS = frozenset(
    name for name, call in calls().items() if call.kind in ("lookup", "change")
) | frozenset({"getdents", "getdents64"})

#: Those that remove a name.
_REMOVES = frozenset({"unlink", "unlinkat", "rmdir"})


class Metadata(Struct, frozen=True):
    """Requests are reads on the command's device; `known` is false when none were recorded of anybody.

    `jump_share` (0..1): of the requests, those that jump (see the relation command_requests): also from data to
    metadata and back; `median_jump_bytes`: how far. `calls`: calls on names, `removing` those of them that remove
    one; None where not counted.
    """

    known: bool
    requests: int = 0
    bytes: float = 0.0
    mean_service_ns: float | None = None
    jump_share: float | None = None
    median_jump_bytes: float | None = None
    calls: int | None = None
    removing: int | None = None


_READS = """
SELECT count(*) AS requests, sum(bytes) AS bytes, avg(complete_ns - sent_ns) AS mean_service_ns,
  count(*) FILTER (WHERE jump_bytes <> 0) / nullif(count(jump_bytes), 0)::DOUBLE AS jump_share,
  median(CASE WHEN jump_bytes <> 0 THEN abs(jump_bytes) END)::DOUBLE AS median_jump_bytes
FROM command_requests
WHERE dev = {dev} AND op = 'read' AND owner_kind = 'metadata'
"""


class _Calls(Struct, frozen=True):
    calls: int | None
    removing: int | None


class _Row(Struct, frozen=True):
    requests: int
    bytes: int | None
    mean_service_ns: float | None
    jump_share: float | None
    median_jump_bytes: float | None


def metadata(relations: Relations, requests: Requests) -> Metadata:
    """From command_requests and syscall_totals, on the device that the command uses most."""
    number, removing = None, None
    if relations.has("syscall_totals"):
        names = classes.quoted(NAME_CALLS)
        counted = relations.one(
            _Calls,
            f"""SELECT CAST(sum(calls) AS BIGINT) AS calls,
            CAST(sum(calls) FILTER (WHERE name IN {classes.quoted(_REMOVES)}) AS BIGINT) AS removing
            FROM syscall_totals WHERE name IN {names}""",
        )
        number, removing = counted.calls or 0, counted.removing or 0
    if not requests.known:
        return Metadata(known=False, calls=number, removing=removing)
    if requests.dev is None:
        return Metadata(known=True, calls=number, removing=removing)
    row = relations.one(_Row, _READS.format(dev=requests.dev))
    return Metadata(
        known=True,
        requests=row.requests,
        bytes=float(row.bytes or 0),
        mean_service_ns=row.mean_service_ns,
        jump_share=row.jump_share,
        median_jump_bytes=row.median_jump_bytes,
        calls=number,
        removing=removing,
    )
