"""The one statement of a report over many recordings."""

from functools import cache

from iowhy.errors import Problem
from iowhy.recordings.schema import tables
from iowhy.relations import RecordedFacts, relations
from iowhy.relations.compose import compose
from iowhy.relations.literals import TOLD
from iowhy.relations.literals import recording as recording_row
from iowhy.relations.relation import WITHOUT_THREADS, named_in
from iowhy.reports.filters import Selection
from iowhy.reports.sql_errors import first_line

try:
    import sqlglot
    from sqlglot import exp

    from iowhy.fleet.per_recording import per_recording
    from iowhy.fleet.sql_parts import RECORDINGS
    from iowhy.reports.spark import MADE, apart_from_tables, order_windows
except ModuleNotFoundError as missing:
    raise Problem("fleet-reports-need-run", name=missing.name) from None


class FleetSelection:
    """What filters leave of each recording: `chosen` is that of one, whose times count for those of all."""

    def __init__(self, chosen: Selection) -> None:
        self.timed = chosen.since_ns is not None or chosen.until_ns is not None
        self.chosen = Selection(
            None, None, chosen.pids, chosen.path_like, chosen.in_container, chosen.on_device
        )

    def where(self, table: str) -> str | None:
        """As Selection.where; the bounds are each recording's own."""
        time = tables()[table].time
        bounds = []
        if self.timed and time is not None:
            bounds.append(f"{time} >= (SELECT since_ns FROM {RECORDINGS})")
            bounds.append(f"{time} < (SELECT until_ns FROM {RECORDINGS})")
        rest = self.chosen.where(table)
        return " AND ".join([*([rest] if rest else []), *bounds]) or None

    def chosen_files(self) -> str | None:
        """As Selection.chosen_files."""
        return self.chosen.chosen_files()


def statement_of(
    sql: str, where: str, facts: RecordedFacts, selection: FleetSelection
) -> exp.Expression:
    """The query over all recordings of which names mean the same as for `facts`, the key in front.

    Raises Problem for SQL that cannot be asked of many recordings at once.
    """
    try:
        tree = sqlglot.parse_one(compose(sql, facts, selection), read="duckdb")
    except sqlglot.ParseError as error:
        raise Problem("fleet-unreadable", where=where, error=first_line(error)) from None
    apart_from_tables(tree)
    for cte in tree.ctes:
        if cte.alias == f"{MADE}recording":
            cte.set("this", sqlglot.parse_one(f"SELECT * FROM {RECORDINGS}", read="duckdb"))
    for outer in [*tree.ctes, tree]:
        order_windows(outer if isinstance(outer, exp.Select) else outer.this)
    return per_recording(tree, dict.fromkeys((*tables(), RECORDINGS), True))


def row_of(number: int, facts: RecordedFacts, chosen: Selection) -> str:
    """The row of a recording in the table of all of them, as a SELECT."""
    since = facts.start_ns - 2**62 if chosen.since_ns is None else chosen.since_ns
    until = facts.end_ns + 2**62 if chosen.until_ns is None else chosen.until_ns
    row = recording_row(chosen.facts(facts)).removeprefix("SELECT ")
    return (
        f"SELECT CAST({number} AS BIGINT) AS fleet_no, CAST({_bounded(since)} AS BIGINT) AS since_ns, "
        f"CAST({_bounded(until)} AS BIGINT) AS until_ns, {row}"
    )


@cache
def needed(sql: str, filtered: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tables whose rows a report may read or count, and of which names it depends on a recording what is under them."""
    names: set[str] = set()
    waiting = set(named_in(sql))
    while waiting:
        name = waiting.pop().removeprefix("main.")
        if name in names:
            continue
        names.add(name)
        relation = relations().get(name)
        if relation is not None:
            waiting |= {*relation.uses}
            waiting |= {one for told in TOLD if told in relation.sql for one in TOLD[told][0]}
        if name in WITHOUT_THREADS:
            waiting |= {WITHOUT_THREADS[name], "thread_time"}
    # What filters ask: processes by their files, containers, devices.
    if filtered:
        names |= {"syscalls", "threads", "containers", "devices", "files"}
    depends = {*WITHOUT_THREADS, *(tables().keys() & relations().keys())}
    return tuple(name for name in tables() if name in names), tuple(sorted(names & depends))


def _bounded(value: int) -> int:
    return max(-(2**63) + 1, min(2**63 - 1, value))
