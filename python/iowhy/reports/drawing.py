"""How a terminal draws the rows of a report: lines of its header, read by `iowhy.reports.report`.

    -- histogram: requests from low_ns to high_ns by device op
    -- heat map: requests from low_ns to high_ns over at_s by device op
    -- small plots: utilisation mean_queue over at_s by device

`histogram`: rows are buckets: which column counts, which hold the bounds, and of what each histogram is. `heat map`: the same
in cells of time, whose length is the column span_s. `small plots`: below the table each of these columns is drawn over
time, once or for each device.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.relations.sql_header import Column

#: The lines of a header that are read here.
FIELDS = ("histogram", "heat map", "small plots")

_HISTOGRAM = re.compile(r"(\w+) from (\w+) to (\w+) by (\w+(?: \w+)*)")
_HEAT_MAP = re.compile(r"(\w+) from (\w+) to (\w+) over (\w+) by (\w+(?: \w+)*)")
_SMALL_PLOTS = re.compile(r"(\w+(?: \w+)*) over (\w+)(?: by (\w+))?")


class Histogram(Struct, frozen=True):
    """Which columns of a report are a histogram: the count of a bucket, its bounds, and what it is of.

    Columns `pNN_…` and `max_…` are of the whole histogram, the same in each of its rows.
    """

    count: str
    low: str
    high: str
    by: tuple[str, ...]


class HeatMap(Struct, frozen=True):
    """A histogram for each cell of time: `over` is the column with the cell's begin in s."""

    count: str
    low: str
    high: str
    over: str
    by: tuple[str, ...]


class SmallPlots(Struct, frozen=True):
    """Columns that are drawn small below the table, over a column of times in s, for each value of `by`."""

    columns: tuple[str, ...]
    over: str
    by: str | None


class Drawing(Struct, frozen=True):
    """What of a report is drawn; None if it has none."""

    histogram: Histogram | None = None
    heat_map: HeatMap | None = None
    small_plots: SmallPlots | None = None


def parse(fields: Mapping[str, str], columns: Sequence[Column], where: str) -> Drawing:
    """From the fields of a header. Raises Problem for a column that is not there, or another form."""
    names = {column.name for column in columns}

    def found(field: str, form: re.Pattern[str], written: str) -> re.Match[str] | None:
        if field not in fields:
            return None
        match = form.fullmatch(fields[field])
        if match is None:
            raise Problem(
                "drawing-wrong", where=where, field=field, fields=fields[field], written=written
            )
        _known(field, " ".join(part for part in match.groups() if part).split(), names, where)
        return match

    bars = found("histogram", _HISTOGRAM, "COUNT from LOW to HIGH by COLUMN …")
    heat = found("heat map", _HEAT_MAP, "COUNT from LOW to HIGH over TIME by COLUMN …")
    plots = found("small plots", _SMALL_PLOTS, "COLUMN … over TIME [by COLUMN]")
    if heat is not None:
        _known("heat map", ("span_s",), names, where)
    return Drawing(
        None if bars is None else Histogram(bars[1], bars[2], bars[3], tuple(bars[4].split())),
        None
        if heat is None
        else HeatMap(heat[1], heat[2], heat[3], heat[4], tuple(heat[5].split())),
        None if plots is None else SmallPlots(tuple(plots[1].split()), plots[2], plots[3]),
    )


def _known(field: str, asked: Iterable[str], names: set[str], where: str) -> None:
    for name in asked:
        if name not in names:
            raise Problem("drawing-column-unknown", where=where, field=field, name=name)
