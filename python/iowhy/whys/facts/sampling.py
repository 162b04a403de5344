"""Slices of the time to look at where a table is too long to sort."""

from iowhy.relations import Relations

#: Rows that a query with window functions looks at: such queries sort, so beyond it a table is looked
#: at in evenly spread slices of the time.
WINDOW_ROWS = 100_000
#: Into how many slices the time is cut for that: enough that phases of a run are all seen.
SLICES = 240
#: From more of them on there is hardly a row group without one, and to compare each row with all of them is the work.
MOST_RANGES = 12


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
    if len(begins) > MOST_RANGES:
        since = f"({column} - {facts.start_ns})"
        return (
            f"({column} BETWEEN {facts.start_ns} AND {begins[-1] + width - 1}"
            f" AND {since} % {width * every} < {width})"
        )
    # As ranges, so that files and row groups of other times are not read.
    parts = [f"{column} BETWEEN {begin} AND {begin + width - 1}" for begin in begins]
    return f"({' OR '.join(parts)})"
