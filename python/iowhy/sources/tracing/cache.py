"""Page cache events (include/trace/events/filemap.h), summed by file, process and second.

Input is the table `pages`: n (order), ts_ns, tid, kind (lookup, add, delete, dirty), dev, ino, first and count of pages.

`mm_filemap_get_pages` (6.12 and later) is a read's lookup, seen when its pages are there: pages that the same
thread added since its lookup before are demand misses inside the range and readahead outside it.
"""

from iowhy.sources.format import Parsed
from iowhy.sources.tracing.workspace import Workspace


def fill(space: Workspace, parsed: Parsed, interval: str) -> None:
    """Fill page_cache from `pages`; `interval` is SQL for ts_ns and interval_ns."""
    if not space.count("pages"):
        return
    seen = {str(row[0]) for row in space.rows("SELECT DISTINCT kind FROM pages")}
    # The next lookup of the thread on the file says which of the pages it was waiting for.
    space.run("""CREATE TABLE added AS
        SELECT a.n, greatest(0, least(a.first + a.count, l.first + l.count) - greatest(a.first, l.first))
            AS demand
        FROM (SELECT * FROM pages WHERE kind = 'add') a
        ASOF JOIN (SELECT * FROM pages WHERE kind = 'lookup') l
            ON l.tid = a.tid AND l.dev = a.dev AND l.ino = a.ino AND l.n >= a.n""")
    lookups = "lookup" in seen

    def of(kind: str, value: str, needs: bool) -> str:
        return f"coalesce(sum({value}) FILTER (kind = '{kind}'), 0)" if needs else "NULL"

    demand = of("add", "demand", lookups and "add" in seen)
    ahead = "CASE WHEN demand IS NOT NULL THEN count - demand ELSE 0 END"
    parsed.tables["page_cache"] = space.table(
        "page_cache",
        f"""SELECT {interval}, coalesce(tgid, tid) AS tgid, dev, ino,
            {of("lookup", "count", lookups)} AS lookup_pages, {demand} AS demand_miss_pages,
            {of("add", ahead, lookups and "add" in seen)} AS readahead_pages,
            {of("dirty", "count", "dirty" in seen)} AS dirtied_pages,
            {of("delete", "count", "delete" in seen)} AS evicted_pages,
            false AS estimated
        FROM pages LEFT JOIN added USING (n) LEFT JOIN tids USING (tid) GROUP BY ALL""",
    )
