"""Charts: one SQL file each, over the relations and tables of a recording, which says how it is drawn.

**To add a chart**, write `NAME.sql` here. Its header is that of a report, and also:

    -- report: request-latency      the report whose rows it shows: links of a verdict lead to it
    -- draws: heat                  stacked, heat, places, lines, flame, waterfall, layers, narrowed, listed (KINDS)
    -- place: 3                     its place on the page
    -- needs: block_requests        tables without which there is nothing to draw, joined by `or` where one will do

The SQL aggregates: a chart of a million events has some thousand rows (MOST_ROWS). A chart over time has the columns
`at_s` and `span_s`, where a cell of time begins and how long it is; sums over cells are the report's.
Least and greatest values of a cell are their own columns, so that a spike never disappears.
Those that are `narrowed` or `listed` are no figures: they are in place of their report's table while a stretch of time is
chosen. The SQL of a `narrowed` one gives events, each with its `ts_ns`, and is summed up by cell and by those of its columns that
are texts and ids; `-- heaviest: 40 by sum(total_ns) DESC` bounds how many of these there are. That of a `heat` gives the cell, its
columns, and one amount behind them. How each kind takes its columns is said in `iowhy/views/html/assets/KIND.js`.
"""

from iowhy.charts.chart import KINDS, NARROWED, Chart, charts
from iowhy.charts.drawn import MOST_ROWS, Drawn, drawn, drawn_charts, without_functions

__all__ = [
    "KINDS",
    "MOST_ROWS",
    "NARROWED",
    "Chart",
    "Drawn",
    "charts",
    "drawn",
    "drawn_charts",
    "without_functions",
]
