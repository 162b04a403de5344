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


_CALLS = f"""
SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(calls) FILTER (WHERE name IN {classes.quoted(_REMOVES)}), 0) AS removing
FROM syscall_totals WHERE name IN {classes.quoted(NAME_CALLS)}
"""

_READS = """
SELECT count(*) AS requests, coalesce(sum(bytes), 0) AS bytes, avg(complete_ns - sent_ns) AS mean_service_ns,
  count(*) FILTER (WHERE jump_bytes <> 0) / nullif(count(jump_bytes), 0)::DOUBLE AS jump_share,
  median(CASE WHEN jump_bytes <> 0 THEN abs(jump_bytes) END)::DOUBLE AS median_jump_bytes
FROM command_requests
WHERE dev = {dev} AND op = 'read' AND owner_kind = 'metadata'
"""


def metadata(relations: Relations, requests: Requests) -> Metadata:
    """From command_requests and syscall_totals, on the device that the command uses most."""
    queries = [_CALLS] if relations.has("syscall_totals") else []
    if requests.dev is not None:
        queries.append(_READS.format(dev=requests.dev))
    return relations.one(Metadata, *queries, known=requests.known)
