"""What `iowhy mcp` offers to agents: questions about recordings. Nothing here records or changes anything.

Each function is a tool; its docstring is what the agent reads.
"""

from typing import Any

from iowhy.commands.report import filters_of, leading_causes
from iowhy.errors import Problem
from iowhy.mcp.truncate import bounded_select, cut, shown, whole
from iowhy.options.keywords import text_of
from iowhy.recordings import Recording, open_recording
from iowhy.reports.batches import Rows

MOST_ROWS = 200
_ROWS = 50


def verdict(recording: str, phase: int | None = None) -> dict[str, Any]:
    """Why a recording (a NAME.iowhy folder that `iowhy run` made) is slow: answer, findings with their chains of measured
    numbers and remedies, time budget, phases, measures by name. null is unknown, never 0. phase: of that one alone."""
    from iowhy.commands.overview import overview, overview_of
    from iowhy.views import verdict_page

    opened = _opened(recording)
    judged = overview(opened, measured=True) if phase is None else overview_of(opened, phase=phase)
    found: dict[str, Any] = whole(verdict_page.as_document(judged))
    return found


def reports() -> list[dict[str, Any]]:
    """The reports that there are, with the question that each answers."""
    from iowhy.reports import reports as known

    return [
        {"name": name, "title": one.title, "question": one.question}
        for name, one in known().items()
    ]


def report(
    recording: str,
    name: str,
    since: str | None = None,
    until: str | None = None,
    pid: int | None = None,
    file: str | None = None,
    limit: int = _ROWS,
) -> dict[str, Any]:
    """The first rows of a report, the heaviest first. since, until: 1.5s after the start; file: a file's name or path, `*` and
    `?` mean anything. At most 200 rows and 256 KiB; `rows_in_all` says how many there are, `cut` how many fit, `notes` what they lack."""
    from iowhy.reports import result_of

    opened = _opened(recording)
    kept = _rows(limit)
    pids = () if pid is None else (pid,)
    name = text_of("report: name", name, "the name of a report")
    filters = filters_of(since=since, until=until, pid=pids, file=file)
    with result_of(opened, name, filters, kept, leading_causes) as result:
        found, in_all = result.head(kept)
    rows = shown(found.column_names, cut(found.to_pylist()))
    return {**rows, **_notes(found), "rows_in_all": in_all}


def sql(recording: str, select: str, limit: int = _ROWS) -> dict[str, Any]:
    """One SELECT (DuckDB) over the tables of a recording; `DESCRIBE syscalls` shows columns. At most 200 rows and 256 KiB; `more`
    says whether there are others, `cut` how many fit. Texts of more than 4,096 characters are cut; lists and structures are text."""
    import duckdb

    from iowhy.reports.engine import only_select, query

    opened = _opened(recording)
    kept = _rows(limit)
    text = only_select(duckdb.extract_statements, select, "SQL")

    def types(text: str) -> list[tuple[str, str]]:
        described = query(opened, f"DESCRIBE {text}").to_pylist()
        return [(row["column_name"], row["column_type"]) for row in described]

    found = query(opened, bounded_select(text, kept + 1, types))
    more = found.num_rows > kept
    rows = shown(found.column_names, found.head(kept).to_pylist())
    return {**rows, **_notes(found), "more": more}


def compare(before: str, after: str) -> list[dict[str, Any]]:
    """What changed from one recording to another: time, classes of it, layers, findings that went or came."""
    from iowhy.comparisons.comparison import compare_all
    from iowhy.comparisons.sides import open_sides
    from iowhy.views import comparison_json

    found = compare_all(open_sides([before, after]))
    answer: list[dict[str, Any]] = whole([comparison_json.as_json(one) for one in found])
    return answer


def what_if(recording: str) -> dict[str, Any]:
    """How long the recorded run would take with other devices, memory, syncs or CPUs: seconds, from low_s to high_s, by a model
    of the run; `cannot` says why there are no predictions. What each assumes is in `assumes`; only a trial proves it."""
    from iowhy.commands.what_if import what_if as predict
    from iowhy.views.what_if_page import as_document

    found: dict[str, Any] = whole(as_document(predict(_opened(recording))))
    return found


TOOLS = (verdict, what_if, reports, report, sql, compare)


def _opened(recording: str) -> Recording:
    return open_recording(text_of("recording", recording, "the path of a recording"))


def _notes(found: Rows) -> dict[str, list[str]]:
    return {"notes": list(found.notes)} if found.notes else {}


def _rows(limit: int) -> int:
    if limit < 1:
        raise Problem("limit-out-of-range", limit=limit, most_rows=MOST_ROWS)
    return min(limit, MOST_ROWS)
