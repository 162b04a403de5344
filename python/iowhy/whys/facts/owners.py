"""The files whose requests cost most, and how the command's requests are on their device."""

from msgspec import Struct

from iowhy.relations import Relations

#: Requests of a file that follow another one, below which their order is chance.
STEPS_MIN = 16


class Owner(Struct, frozen=True):
    """The command's data requests of one file; `time_share` is of the time of all of its requests."""

    dev: int
    ino: int
    path: str | None
    count: int
    bytes: float
    time_ns: float
    time_share: float
    median_bytes: float | None
    jump_share: float | None


_OWNERS = """
WITH top AS (
  SELECT * FROM file_requests WHERE dev = {dev} ORDER BY time_ns DESC NULLS LAST, owner_ino LIMIT 5
), sizes AS (
  -- There are few sizes, whatever the number of requests: the middle one is found by how many have which.
  SELECT owner_dev, owner_ino, bytes, sum(requests) AS requests FROM request_sizes
  WHERE dev = {dev} AND owner_ino IN (SELECT owner_ino FROM top) GROUP BY owner_dev, owner_ino, bytes
), placed AS (
  SELECT owner_dev, owner_ino, bytes,
    sum(requests) OVER (PARTITION BY owner_dev, owner_ino ORDER BY bytes) AS upto,
    sum(requests) OVER (PARTITION BY owner_dev, owner_ino) - 1 AS last
  FROM sizes
), m AS (
  SELECT owner_dev, owner_ino, (min(CASE WHEN upto > last // 2 THEN bytes END)
    + min(CASE WHEN upto > (last + 1) // 2 THEN bytes END)) / 2.0 AS median_bytes
  FROM placed GROUP BY owner_dev, owner_ino
)
SELECT t.owner_dev AS dev, t.owner_ino AS ino, f.path, t.requests AS count, t.bytes, coalesce(t.time_ns, 0) AS time_ns,
  coalesce(t.time_ns / nullif({all_time_ns}, 0), 0) AS time_share, m.median_bytes,
  CASE WHEN t.steps >= {steps} THEN t.jumps / t.steps END AS jump_share
FROM top AS t LEFT JOIN m ON m.owner_dev = t.owner_dev AND m.owner_ino = t.owner_ino
LEFT JOIN named_files AS f ON f.dev = t.owner_dev AND f.ino = t.owner_ino
ORDER BY t.time_ns DESC NULLS LAST, t.owner_ino
"""


_ADJACENT = """
SELECT CASE WHEN count(*) >= {steps} THEN count(*) FILTER (WHERE page = end_page) / count(*) END AS adjacent_share
FROM (
  SELECT jump_bytes, owner_page AS page,
    lag(owner_page + bytes // {page_bytes}) OVER (PARTITION BY op, tid ORDER BY queue_ns, sector) AS end_page
  FROM command_requests
  WHERE owner_dev = {dev} AND owner_ino = {ino} AND owner_page IS NOT NULL
) AS r
WHERE jump_bytes <> 0 AND end_page IS NOT NULL
"""


def adjacent_share(relations: Relations, owner: Owner) -> float | None:
    """Of the jumps of its requests, those from what the same thread queued before them and is next to it in the file (0..1): the layout makes those.

    None where few are known: direct I/O has no place in the file.
    """
    page_bytes = relations.facts.page_bytes
    sql = _ADJACENT.format(page_bytes=page_bytes, dev=owner.dev, ino=owner.ino, steps=STEPS_MIN)
    return relations.value(float, sql)


def owners(relations: Relations, dev: int, all_time_ns: float) -> tuple[Owner, ...]:
    """The five files with the most request time on a device."""
    sql = _OWNERS.format(dev=dev, all_time_ns=all_time_ns, steps=STEPS_MIN)
    return tuple(relations.read(Owner, sql))
