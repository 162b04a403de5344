"""The shared relations: each fact of a recording defined once, in one SQL file, in the folder of its layer.

Reports, whys, comparison and `iowhy sql` select from them by name, next to the recording's tables. `LAYERS` (relation.py) has the
folders from the recording upwards: a relation uses tables, relations of its own layer, and those of layers before it.

**To add a relation**, write `LAYER/NAME.sql` (lower case with `_`; no column of any table or relation
may have that name). It begins with a header of `--` lines:

    -- title: Requests in sequence
    -- uses: data_requests
    -- filtered as: block_requests
    -- kept: table
    -- column sent_ns: when the driver took it, ns
    SELECT …

`title` says what a row is, `uses` lists the tables and relations that the SQL names, each `column` its meaning and unit
(`UNITS`); other lines are notes. A name that begins with `_` is for its own layer alone. The SQL is
DuckDB's, and must survive sqlglot's way to Spark (tests/reports/test_spark.py). tests/relations/test_layers.py holds all this.

- Filters (`--since`, `--pid`, …) are views over the tables, of the tables' names: a relation is made of what they leave, and
  may read `main.TABLE` as recorded. One that needs all rows to be right (a request's predecessor may be
  filtered away) says `filtered as: TABLE`: it, and all that it uses, is then made of the recording as it is, and its rows are
  filtered like that table's, of which it must have the columns `time`, `tgid`, `dev` and so on; `filtered as: nothing`: they are not.
- `kept: table` for what costs more to compute than to keep and is read more than once: whys keep it
  as a table, in reports it is a common table expression that is computed once. Without
  it, it is a view.
- `percentiles by: name` makes exact percentiles of a SELECT of these keys, its first columns, and a
  whole `value`: the other columns are called p50_ns, p999_ns, max_ns and the like (percentiles.py).
- A relation with the name of a table of sums gives these sums by the rows, in the table's columns; it is where the recorder wrote none
  (`relation.chosen`, which also takes what other tools' texts say of time where no thread was timed). What reads sums knows
  nothing of that.

`recording` is one row: start_ns (of the command: the origin of all `_s` columns), end_ns and
elapsed_ns (of the command, or of the part chosen by --since and --until), cpus, memory_bytes,
page_bytes, slice_ns (a round length for reports over time), what is there of it (has_waits, tells_durable, …), and ran_SENSOR,
one for each sensor. `call_kinds` and `wait_kinds` are made from calls.py.

**To read relations** in a report or in `iowhy sql`, name them. In Python, `Relations(recording)` is a
connection on which each relation is made when a query first names it: `.rows(sql)`; `.read(Kind, sql)`, `.first`,
`.one` and `.by` give typed records, `.values(int, sql)` and `.value` what is in one column.
"""

from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.opened import Relations
from iowhy.relations.relation import Relation, relations

__all__ = ["RecordedFacts", "Relation", "Relations", "recorded_facts", "relations"]
