"""What the kernel computes for the command to have a file's pages read: readahead, and a place for each page in the page cache.

It takes none for pages that are in memory. Copying them to the program and mapping them is the same either way.
"""

from iowhy.relations import Relations
from iowhy.whys.facts.stacks import passing

#: mm/filemap.c and mm/readahead.c, Linux 5.10 to 6.18. What a compiler has inlined shows by its callers.
FETCHES = frozenset({
    "page_cache_ra_unbounded", "page_cache_ra_order", "do_page_cache_ra", "force_page_cache_ra", "ondemand_readahead",
    "page_cache_sync_ra", "page_cache_async_ra", "read_pages", "filemap_read_folio", "filemap_create_folio", "filemap_create_page",
    "filemap_read_page", "filemap_add_folio", "add_to_page_cache_lru", "fuse_readahead", "fuse_readpages", "fuse_read_folio", "fuse_readpage",
})  # fmt: skip


#: mm/memory.c: page faults of files that are mapped.
FAULTS = frozenset(
    {"do_fault", "do_read_fault", "__do_fault", "filemap_fault", "filemap_map_pages"}
)


def of_kernel(relations: Relations, functions: frozenset[str] = FETCHES) -> float:
    """Of the command's CPU time in the kernel, the part that stacks sampled there have of these functions; 0 without samples."""
    if not relations.has("stack_samples"):
        return 0.0
    stacks = passing(relations, functions)
    if not stacks:
        return 0.0
    found = relations.value(
        float,
        f"""SELECT coalesce(sum(weight_ns) FILTER (stack_id IN ({", ".join(map(str, stacks))})), 0)::DOUBLE / sum(weight_ns)
        FROM stack_samples WHERE kind = 'cpu' AND (stack_id IS NOT NULL OR syscall IS NOT NULL)""",
    )
    return found or 0.0
