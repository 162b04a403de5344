"""Page cache events (include/trace/events/filemap.h), summed by file, process and second.

`mm_filemap_get_pages` (6.12 and later) is a read's lookup, told when its pages are there: pages that the same
thread added since its lookup before are demand misses inside the range and readahead outside it.
"""

from __future__ import annotations

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.sched import interval
from iowhy.sources.tracing.workspace import Workspace

PAGE_BYTES = 4096


def fill(space: Workspace, parsed: Parsed) -> None:
    """Fill page_cache from `events`."""
    space.run(f"""CREATE TABLE pages AS
        SELECT n, ts_ns, tid, coalesce(tgid, tid) AS tgid,
            CASE name WHEN 'mm_filemap_get_pages' THEN 'lookup' WHEN 'mm_filemap_add_to_page_cache' THEN 'add'
                WHEN 'mm_filemap_delete_from_page_cache' THEN 'delete' ELSE 'dirty' END AS what,
            TRY_CAST(a.major AS BIGINT) << 20 | TRY_CAST(a.minor AS BIGINT) AS dev,
            CASE WHEN starts_with(args, 'bdi') THEN TRY_CAST(a.ino AS BIGINT)
                ELSE TRY_CAST('0x' || a.ino AS BIGINT) END AS ino,
            TRY_CAST(regexp_extract(args, ' ofs=(\\d+)', 1) AS BIGINT) // {PAGE_BYTES} AS first,
            CASE WHEN name = 'mm_filemap_get_pages' THEN
                (TRY_CAST(regexp_extract(args, ' ofs=\\d+-(\\d+)', 1) AS BIGINT) + 1) // {PAGE_BYTES} - first
                ELSE 1 << least(coalesce(TRY_CAST(regexp_extract(args, ' order=(\\d+)', 1) AS INT), 0), 30)
                END AS count
        FROM (SELECT *, regexp_extract(args, '^(?:dev|bdi)[ =](\\d+):(\\d+):? ino[ =]([0-9a-f]+)',
                ['major', 'minor', 'ino']) AS a
            FROM events WHERE name IN ('mm_filemap_get_pages', 'mm_filemap_add_to_page_cache',
                'mm_filemap_delete_from_page_cache', 'writeback_dirty_folio', 'writeback_dirty_page'))""")
    space.run("DELETE FROM pages WHERE dev IS NULL OR ino IS NULL OR count IS NULL OR count < 0")
    if not space.count("pages"):
        return
    seen = {str(row[0]) for row in space.rows("SELECT DISTINCT what FROM pages")}
    # The next lookup of the thread on the file says which of the pages it was waiting for.
    space.run("""CREATE TABLE added AS
        SELECT a.n, greatest(0, least(a.first + a.count, l.first + l.count) - greatest(a.first, l.first))
            AS demand
        FROM (SELECT * FROM pages WHERE what = 'add') a
        ASOF JOIN (SELECT * FROM pages WHERE what = 'lookup') l
            ON l.tid = a.tid AND l.dev = a.dev AND l.ino = a.ino AND l.n >= a.n""")
    lookups = "lookup" in seen

    def of(what: str, value: str, needs: bool) -> str:
        return f"coalesce(sum({value}) FILTER (what = '{what}'), 0)" if needs else "NULL"

    demand = of("add", "demand", lookups and "add" in seen)
    ahead = "CASE WHEN demand IS NOT NULL THEN count - demand ELSE 0 END"
    parsed.tables["page_cache"] = space.table(
        "page_cache",
        f"""SELECT {interval("ts_ns", "events")}, tgid, dev, ino,
            {of("lookup", "count", lookups)} AS lookup_pages, {demand} AS demand_miss_pages,
            {of("add", ahead, lookups and "add" in seen)} AS readahead_pages,
            {of("dirty", "count", "dirty" in seen)} AS dirtied_pages,
            {of("delete", "count", "delete" in seen)} AS evicted_pages,
            false AS estimated
        FROM pages LEFT JOIN added USING (n) GROUP BY ALL""",
    )
