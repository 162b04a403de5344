"""The reports that only many recordings can give: one SQL file each in `reports/`, over what is gathered of each recording.

The header is that of a report (reports/report.py), with `-- reads: NAME …`: which tables of the fleet it reads next to
`recordings`. These are `verdicts` and `findings` (verdicts.py), and one SQL file each in `facts/`: a query over one recording, of
which the fleet's table has the rows of all, each with the number of its recording (`fleet_no`).
"""

from functools import cache

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.relations.sql_header import Headed, parse_headed
from iowhy.reports.report import Report, reports

#: Made by judging each recording, not by SQL.
JUDGED = ("verdicts", "findings")
#: One row: the moment that recordings are before or after.
ROLLOUT = "rollout"


class FleetReport(Struct, frozen=True):
    """A report over tables of the fleet: `reads` are those next to `recordings`."""

    report: Report
    reads: tuple[str, ...]


@cache
def fleet_reports() -> dict[str, FleetReport]:
    """By name."""
    found = {}
    for name, text in _files("reports").items():
        headed = parse_headed(
            text, f"{name}.sql", ("title", "question", "reads", "about"), ("title", "question")
        )
        reads = tuple(headed.fields.get("reads", "").split())
        for one in reads:
            if one not in (*JUDGED, ROLLOUT) and one not in facts():
                raise Problem("sql-reads-unknown", name=name, one=one)
        found[name] = FleetReport(_report(name, headed), reads)
    return found


@cache
def facts() -> dict[str, str]:
    """The SQL over one recording of each of the fleet's tables, by name."""
    return {
        name: parse_headed(text, f"{name}.sql", ("title",), ("title",)).sql
        for name, text in _files("facts").items()
    }


def find(name: str) -> FleetReport | Report:
    """A report of fleets, or one of recordings. Raises Problem that lists what there is."""
    own, known = fleet_reports(), reports()
    if name in own:
        return own[name]
    if name in known:
        return known[name]
    from difflib import get_close_matches  # of use for slips of the hand only

    near = get_close_matches(name, [*own, *known], 1)
    way_out = f"did you mean {near[0]}?" if near else "`iowhy fleet report --list` shows them"
    raise Problem("no-such-report", name=name, way_out=way_out)


def _report(name: str, headed: Headed) -> Report:
    return Report(
        name=name,
        title=headed.fields["title"],
        question=headed.fields["question"],
        stands_in_for="",
        filters=(),
        columns=tuple(headed.columns),
        notes=headed.notes,
        sql=headed.sql,
        where=f"{name}.sql",
        about=tuple(headed.fields.get("about", "").split()),
    )


def _files(folder: str) -> dict[str, str]:
    files = files_by_name("iowhy.fleet", ".sql", folder)
    return {name: file.read_text("utf-8") for name, file in files.items()}
