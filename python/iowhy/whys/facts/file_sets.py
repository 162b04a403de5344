"""Which files the time of reading is of where no single one has most of it: those of one kind below one folder."""

import os
from pathlib import PurePath

from msgspec import Struct

from iowhy.relations import Relations

#: From so many files on they are a set.
FEWEST = 20


class FileSet(Struct, frozen=True):
    """Files by a pattern for a shell, and their share of the time of requests that read files."""

    pattern: str
    files: int
    share: float


class _Alike(Struct, frozen=True):
    end: str
    depth: int
    files: int
    first: str
    last: str
    share: float


def read_most(relations: Relations) -> FileSet | None:
    """The files with one end to their names, at one depth, that have most of that time; None if these are few, or not known."""
    if not relations.has("block_requests"):
        return None
    found = relations.read(
        _Alike,
        """
        WITH sums AS (
          SELECT f.path, sum(r.time_ns) AS ns FROM request_sums AS r
          LEFT JOIN named_files AS f ON f.dev = r.owner_dev AND f.ino = r.owner_ino
          WHERE r.op = 'read' AND r.in_scope AND r.owner_kind = 'data' GROUP BY f.path
        )
        SELECT regexp_extract(path, '[.][A-Za-z0-9]+$') AS "end", length(path) - length(replace(path, '/', '')) AS depth,
          count(*) AS files, min(path) AS first, max(path) AS last, sum(ns) / (SELECT sum(ns) FROM sums) AS share
        FROM sums WHERE path LIKE '/%' GROUP BY 1, 2 ORDER BY share DESC, depth LIMIT 1
        """,
    )
    one = next(iter(found), None)
    if one is None or one.files < FEWEST:
        return None
    # Of sorted paths, what the first and the last have in common all have.
    shared = os.path.commonpath([PurePath(one.first).parent, PurePath(one.last).parent])
    between = "/*" * (one.depth - (0 if shared == "/" else shared.count("/")) - 1)
    return FileSet(f"{shared.rstrip('/')}{between}/*{one.end}", one.files, one.share)
