"""The shared relations: each fact of a recording defined once, in one SQL file.

Reports, whys, comparison and `iowhy sql` select from them by name, beside the recording's tables.

**To add a relation**, write `NAME.sql` here (lower case with `_`; no column of any table or relation
may have that name). It begins with a header of `--` lines:

    -- title: Requests in sequence
    -- filtered as: block_requests
    -- kept: table
    -- column sent_ns: when the driver took it, ns
    SELECT …

`title` says what a row is, each `column` its meaning and unit (`reports.report.UNITS`); other lines
are notes. The SQL is DuckDB's, and must survive sqlglot's way to Spark (tests/reports/test_spark.py).
It may name any table and any other relation: what it needs is found by name, cycles are an error.

- Plain `NAME` is the table or relation as the filters leave it (`--since`, `--pid`, …), `main.NAME`
  the same as recorded. A relation that needs all rows to be right (a request's predecessor may be
  filtered away) reads `main.…` and says `filtered as: TABLE`: its rows are then filtered like that
  table's, of which it must have the columns `time`, `tgid`, `dev` and so on.
- `kept: table` for what costs more to compute than to keep and is read more than once: whys keep it
  as a table, in reports it is a common table expression that is computed once. Without
  it, it is a view.
- `percentiles by: name` makes exact percentiles of a SELECT of these keys, its first columns, and a
  whole `value`: the other columns are called p50_ns, p999_ns, max_ns and the like (percentiles.py).
- A relation that is computed in another way where something was not recorded has several bodies:

      -- when thread_time and elapsed
      SELECT … FROM thread_time
      -- when ran waits or syscalls
      SELECT … FROM waits
      -- else
      SELECT …

  `TABLE` holds where the table has rows, `few TABLE` where it has no more than are quicker kept than grouped,
  `few rows` where all tables together have no more than fit into memory, `ran SENSOR` where the sensor ran, `elapsed` where it is known how long the command ran; `not`, `and`, `or` as usual, `and` before `or`. The first body
  whose condition holds is the relation. All bodies have the same columns.

`recording` is one row: start_ns (of the command: the origin of all `_s` columns), end_ns and
elapsed_ns (of the command, or of the part chosen by --since and --until), cpus, memory_bytes,
page_bytes, slice_ns (a round length for reports over time), and ran_SENSOR, one for each sensor. `call_kinds` and `wait_kinds` are made from calls.py.

**To read relations** in a report or in `iowhy sql`, name them. In Python, `Relations(connection,
recorded_facts(recording, connection))` is a connection on which each relation is made when a query
first names it: `.rows(sql)`, `.one(sql)` and, as dataclasses, `.read(Kind, sql)`.
"""

from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.opened import Relations
from iowhy.relations.relation import Relation, relations

__all__ = ["RecordedFacts", "Relation", "Relations", "recorded_facts", "relations"]
