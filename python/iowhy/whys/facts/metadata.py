"""The filesystems' own blocks (inodes, directories, maps) that the command had read, and the names it asked for."""

from iowhy.data_class import dataclass
from iowhy.relations import Relations
from iowhy.tables import calls
from iowhy.whys import classes
from iowhy.whys.facts.requests import Requests

#: Calls on names and inodes: they look up, list, make and remove. What they read are metadata alone.
NAME_CALLS = frozenset(
    name for name, call in calls().items() if call.kind in ("lookup", "change")
) | frozenset({"getdents", "getdents64"})


@dataclass(frozen=True)
class Metadata:
    """Requests are reads on the command's device; `known` is false when none were recorded of anybody.

    `jump_share` (0..1): of the requests, those that do not begin where the one before ended;
    `median_jump_bytes`: how far from it they begin. `calls`: calls on names, None where not counted.
    """

    known: bool
    requests: int = 0
    bytes: float = 0.0
    mean_service_ns: float | None = None
    jump_share: float | None = None
    median_jump_bytes: float | None = None
    calls: int | None = None


_READS = """
WITH r AS (
  SELECT bytes, complete_ns - coalesce(issue_ns, queue_ns) AS service_ns, sector * 512 AS place,
    lag(sector * 512 + bytes) OVER (ORDER BY coalesce(issue_ns, queue_ns)) AS ended
  FROM block_requests
  WHERE dev = {dev} AND in_scope AND op = 'read' AND owner_kind = 'metadata' AND bytes > 0
)
SELECT count(*) AS requests, sum(bytes) AS bytes, avg(service_ns) AS mean_service_ns,
  sum(CASE WHEN place <> ended THEN 1 ELSE 0 END) / nullif(count(ended), 0)::DOUBLE AS jump_share,
  median(CASE WHEN place <> ended THEN abs(place - ended) END) AS median_jump_bytes
FROM r
"""


@dataclass(frozen=True)
class _Calls:
    calls: int | None


@dataclass(frozen=True)
class _Row:
    requests: int
    bytes: int | None
    mean_service_ns: float | None
    jump_share: float | None
    median_jump_bytes: float | None


def metadata(relations: Relations, requests: Requests) -> Metadata:
    """From block_requests and syscall_totals, on the device that the command uses most."""
    number = None
    if relations.has("syscall_totals"):
        names = classes.quoted(NAME_CALLS)
        counted = f"SELECT sum(calls) AS calls FROM syscall_totals WHERE name IN {names}"
        number = relations.one(_Calls, counted).calls or 0
    if not requests.known:
        return Metadata(known=False, calls=number)
    if requests.dev is None:
        return Metadata(known=True, calls=number)
    row = relations.one(_Row, _READS.format(dev=requests.dev))
    return Metadata(
        known=True,
        requests=row.requests,
        bytes=float(row.bytes or 0),
        mean_service_ns=row.mean_service_ns,
        jump_share=row.jump_share,
        median_jump_bytes=row.median_jump_bytes,
        calls=number,
    )
