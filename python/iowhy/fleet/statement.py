"""The one statement of a report over many recordings."""

from functools import cache

from iowhy.errors import Problem
from iowhy.recordings.schema import tables
from iowhy.relations import RecordedFacts, relations
from iowhy.relations.compose import compose
from iowhy.relations.literals import recording as recording_row
from iowhy.relations.relation import named_in
from iowhy.reports.filters import Selection
from iowhy.reports.sql_errors import first_line

try:
    import sqlglot
    from sqlglot import exp

    from iowhy.fleet.lift import lifted
    from iowhy.fleet.sql_parts import RECORDINGS
    from iowhy.reports.spark import order_windows
except ModuleNotFoundError as missing:
    raise Problem(
        f"reports of fleets are made by {missing.name}: `pip install 'iowhy[fleet]'` and run again"
    ) from None


class FleetSelection:
    """What filters leave of each recording: `chosen` is that of one, whose times stand for those of all."""

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
    """The query over all recordings for which the same conditions hold as for `facts`, the key in front.

    Raises Problem for SQL that cannot be asked of many recordings at once.
    """
    try:
        tree = sqlglot.parse_one(compose(sql, facts, selection), read="duckdb")
    except sqlglot.ParseError as error:
        raise Problem(f"{where}: cannot be read: {first_line(error)}") from None
    for cte in tree.ctes:
        if cte.alias == "recording":
            cte.set("this", sqlglot.parse_one(f"SELECT * FROM {RECORDINGS}", read="duckdb"))
    for outer in [*tree.ctes, tree]:
        order_windows(outer if isinstance(outer, exp.Select) else outer.this)
    return lifted(tree, dict.fromkeys((*tables(), RECORDINGS), True))


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
    """The tables whose rows a report may read or count, and the conditions that decide how it is computed."""
    names: set[str] = set()
    conditions: set[str] = set()
    waiting = [sql]
    while waiting:
        for word in named_in(waiting.pop()):
            name = word.removeprefix("main.")
            relation = relations().get(name)
            if name in names:
                continue
            names.add(name)
            for condition, body in relation.bodies if relation else ():
                waiting.append(body)
                if condition:
                    conditions.add(condition)
    counted = {word for one in conditions for word in one.split() if word in tables()}
    # What filters ask: processes by their files, containers, devices.
    asked = {"syscalls", "threads", "containers", "devices", "files"} if filtered else set()
    needs = (names & tables().keys()) | counted | asked
    return tuple(name for name in tables() if name in needs), tuple(sorted(conditions))


def _bounded(value: int) -> int:
    return max(-(2**63) + 1, min(2**63 - 1, value))
