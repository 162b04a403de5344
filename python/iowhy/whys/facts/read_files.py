"""Which files the time of reading is of: what a setting that concerns some of them can end."""

from iowhy.relations import Relations
from iowhy.whys.facts.synced import Own


def share_of_reads(relations: Relations, files: Own) -> float | None:
    """Of the time of the command's requests that read files, the share of those for some files.

    None where no request was recorded. One whose file has no known path may be for one of them and counts.
    """
    if not relations.has("block_requests"):
        return None
    return relations.value(
        float,
        f"""
        SELECT coalesce(sum(r.time_ns) FILTER (WHERE {files.of_files("f")}), 0) / nullif(sum(r.time_ns), 0)
        FROM request_sums AS r
        LEFT JOIN named_files AS f ON f.dev = r.owner_dev AND f.ino = r.owner_ino
        WHERE r.op = 'read' AND r.in_scope AND r.owner_kind = 'data'
        """,
    )


def share_of_cpu(relations: Relations, files: Own) -> float | None:
    """Of the CPU time of all threads, the share of calls that read some files: mostly from the page cache, as waiting uses no CPU."""
    if not relations.has("syscalls"):
        return None
    return relations.value(
        float,
        f"""
        SELECT coalesce(sum(c.cpu_ns) FILTER (WHERE {files.of_files("f")}), 0)::DOUBLE
          / nullif((SELECT sum(cpu_ns) FROM thread_totals), 0)
        FROM calls_by_file AS c
        JOIN call_kinds AS k ON k.name = c.name AND k.kind = 'read'
        JOIN named_files AS f ON f.dev = c.dev AND f.ino = c.ino
        """,
    )
