"""Which files the time of reading is of: what a setting that concerns some of them can end."""

from collections.abc import Sequence

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations


class _Time(Struct, frozen=True):
    concerned_ns: int | None
    all_ns: int | None


def share_of_reads(relations: Relations, files: Sequence[str]) -> float | None:
    """Of the time of the command's requests that read files, the share of those for files of these patterns (GLOB).

    None where no request was recorded. One whose file has no known path may be for one of them and counts.
    """
    if not relations.has("block_requests"):
        return None
    matches = " OR ".join(f"f.path GLOB {text_literal(one)}" for one in files)
    found = relations.one(
        _Time,
        f"""
        SELECT CAST(sum(r.time_ns) FILTER (WHERE f.path IS NULL OR {matches}) AS BIGINT) AS concerned_ns,
          CAST(sum(r.time_ns) AS BIGINT) AS all_ns
        FROM request_sums AS r
        LEFT JOIN named_files AS f ON f.dev = r.owner_dev AND f.ino = r.owner_ino
        WHERE r.op = 'read' AND r.in_scope AND r.owner_kind = 'data'
        """,
    )
    return (found.concerned_ns or 0) / found.all_ns if found.all_ns else None
