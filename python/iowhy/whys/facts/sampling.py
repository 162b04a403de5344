"""Slices of the time to look at where a table is too long to sort."""

from iowhy.relations import Relations

#: Rows that a query with window functions looks at: such queries sort, so beyond it a table is looked
#: at in evenly spread slices of the time.
WINDOW_ROWS = 100_000
#: Into how many slices the time is cut for that: enough that phases of a run are all seen.
SLICES = 240


def sampled(relations: Relations, table: str, column: str, limit: int = WINDOW_ROWS) -> str:
    """A condition that keeps a table to about `limit` rows, in slices spread over the run.

    For shares and medians that nothing else shows: what is counted is counted over all rows.
    """
    rows, facts = relations.size(table), relations.facts
    if rows <= limit or not facts.elapsed_ns:
        return "true"
    width = max(1, facts.elapsed_ns // SLICES)
    every = -(-rows // limit)
    begins = range(facts.start_ns, facts.end_ns + 1, width * every)
    # As ranges, so that files and row groups of other times are not read.
    parts = [f"{column} BETWEEN {begin} AND {begin + width - 1}" for begin in begins]
    return f"({' OR '.join(parts)})"
