"""What `iowhy mcp` offers to agents: questions about recordings. Nothing here records or changes anything.

Each function is a tool; its docstring is what the agent reads.
"""

from typing import Any

from iowhy.api.answers import Opened, Rows
from iowhy.api.functions import compare as compare_recordings
from iowhy.api.functions import open as open_recording
from iowhy.errors import Problem

MOST_ROWS = 200
_ROWS = 50


def verdict(recording: str) -> dict[str, Any]:
    """Why a recording (a NAME.iowhy folder that `iowhy run` made) is slow: answer, findings with their chains of measured
    numbers and remedies, time budget, measures by name. null is unknown, never 0."""
    return open_recording(recording).json()


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
    `?` stand for anything. At most 200 rows; `rows_in_all` says how many there are."""
    opened = open_recording(recording)
    kept = _rows(limit)
    pids = () if pid is None else (pid,)
    found = opened.report(name, since=since, until=until, pid=pids, file=file)
    return {**_shown(found, kept), "rows_in_all": len(found)}


def sql(recording: str, select: str, limit: int = _ROWS) -> dict[str, Any]:
    """One SELECT (DuckDB) over the tables of a recording; `DESCRIBE syscalls` shows columns. At most 200 rows; `more` says
    whether there are others."""
    opened: Opened = open_recording(recording)
    kept = _rows(limit)
    text = select.strip().rstrip(";").rstrip()
    if text.split(maxsplit=1)[:1] and text.split(maxsplit=1)[0].upper() in (
        "SELECT",
        "WITH",
        "FROM",
    ):
        text = f"SELECT * FROM (\n{text}\n) AS asked LIMIT {kept + 1}"
    found = opened.sql(text)
    return {**_shown(found, kept), "more": len(found) > kept}


def compare(before: str, after: str) -> list[dict[str, Any]]:
    """What changed from one recording to another: time, classes of it, layers, findings that went or came."""
    found: list[dict[str, Any]] = compare_recordings(before, after).json()
    return found


TOOLS = (verdict, reports, report, sql, compare)


def _rows(limit: int) -> int:
    if limit < 1:
        raise Problem(f"limit {limit}: give 1 to {MOST_ROWS}")
    return min(limit, MOST_ROWS)


def _shown(found: Rows, kept: int) -> dict[str, Any]:
    """Rows as JSON has them: what it lacks is text."""
    import json

    from iowhy.messages import json_text

    rows = found.head(kept)
    return {"columns": list(found.columns), "rows": json.loads(json_text(rows))}
