"""What charts draw of one recording: rows that SQL has aggregated, or why there are none."""

from collections.abc import Sequence

from iowhy.charts.chart import Chart, charts
from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording.query_errors import is_out_of_memory, is_query_error
from iowhy.relations import Relations
from iowhy.relations.rows import Row

#: A chart has no more rows than this: it says that it shows the first ones only. Each is some 12 bytes of the page.
MOST_ROWS = 16_000


@dataclass(frozen=True)
class Drawn:
    """The rows of a chart, or `missing`: why it has none, in a sentence. `cut`: there were more than MOST_ROWS."""

    chart: Chart
    columns: Sequence[str] = ()
    rows: Sequence[Row] = ()
    missing: str | None = None
    cut: bool = False


def drawn_charts(relations: Relations) -> list[Drawn]:
    """All charts of a recording. What cannot be read costs its chart. Raises where memory does not suffice."""
    return [drawn(relations, chart) for chart in charts()]


def drawn(relations: Relations, chart: Chart) -> Drawn:
    """One chart of a recording, or why there is nothing to draw. Raises where memory does not suffice."""
    if chart.needs and not any(relations.has(name) for name in chart.needs):
        return Drawn(chart, missing=_why_missing(relations, chart))
    try:
        columns, rows = relations.table(f"SELECT * FROM ({chart.sql}) AS c LIMIT {MOST_ROWS + 1}")
    except Exception as error:
        known = isinstance(error, Problem) or is_query_error(error)
        if not known or is_out_of_memory(error):
            raise
        first = str(error).splitlines()[0]
        return Drawn(chart, missing=f"Not drawn: the recording's rows cannot be read ({first}).")
    if not rows:
        return Drawn(
            chart, columns, missing="Not drawn: the recording holds nothing that it could show."
        )
    return Drawn(chart, columns, rows[:MOST_ROWS], cut=len(rows) > MOST_ROWS)


def _why_missing(relations: Relations, chart: Chart) -> str:
    """Whether a sensor did not run, or saw nothing: these are two things."""
    sensors = {one.name: one for one in relations.recording.manifest.sensors}
    named = " or ".join(chart.needs)
    for name in chart.needs:
        sensor = sensors.get(name)
        if sensor is not None and sensor.ran:
            return f"Not drawn: the recording has no rows of {named}, though its sensor ran."
    for name in chart.needs:
        sensor = sensors.get(name)
        if sensor is not None and sensor.why:
            return f"Not drawn: {name} were not recorded: {sensor.why}."
    return f"Not drawn: this recording does not tell (no {named})."
