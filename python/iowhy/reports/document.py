"""docs/reports.md from the reports' headers: `python -m iowhy.reports.document > docs/reports.md`."""

from iowhy.relations.facts import SENSORS
from iowhy.reports.report import FILTERS, built_in

HEAD = f"""\
# Reports

<!-- Made from python/iowhy/reports/*.sql by `python -m iowhy.reports.document`. -->

`iowhy report NAME RECORDING` shows one view of a recording; `iowhy report` lists them. A report is one
SQL file over the tables of a recording (recording.md), in DuckDB's dialect; the same file runs on
Spark. `--sql` prints the whole statement, `--format csv`, `json` and `parquet` give plain numbers in
the units named here, and in a table `–` is unknown.

**Filters.** `--since` and `--until` take seconds after the start (`12`, `1.5s`, `250ms`, `2m`) or a
wall-clock time (`17:20:04`, `2026-11-21T17:20:04`, UTC unless it names its offset); what begins in the
range is in. `--pid` takes processes and threads, and keeps with them what kernel workers wrote back for
their files. `--file` takes a part of a path, or a pattern with `*` and `?` for the whole path. A filter
that a report cannot answer is refused.

**Your own.** An SQL file in `~/.config/iowhy/reports/NAME.sql` is a report too. It begins with

```sql
-- title: Slow reads
-- question: Which reads took longer than 10 ms?
-- filters: {" ".join(FILTERS)}
-- column path: file, text
-- column dur_ns: duration, ns
```

of which title and question are needed. Besides the tables it can select from

| relation | holds |
|---|---|
| recording | one row: start_ns, end_ns, elapsed_ns, cpus, memory_bytes, page_bytes, slice_ns, \
and ran_SENSOR for each sensor ({", ".join(SENSORS)}) |
| call_kinds | name and kind of the I/O calls: read, write, copy, sync, lookup, change, collect |
| wait_kinds | reason of a wait, its class in the budget, its part in sync |
| every_request | block_requests without the filters |
| counted_requests | block_requests with `counted`, false for what is seen again on a device below |
| request_sequence | reads and writes with sent_ns and jump_bytes, the distance from the end of the \
device's previous request |
| extent_runs | extents with starts_run (does not continue the one before it on disk) and run |

"""


def document() -> str:
    """The whole page."""
    known = built_in()
    parts = [HEAD, "| report | question | stands in for |\n|---|---|---|\n"]
    parts += [
        f"| [{name}](#{name}) | {report.question} | {report.stands_in_for} |\n"
        for name, report in known.items()
    ]
    for name, report in known.items():
        takes = ", ".join(f"--{word}" for word in report.filters) or "none"
        parts.append(f"\n## {name}\n\n{report.title}. {report.question} Filters: {takes}.\n")
        if report.notes:
            parts.append(f"\n{report.notes}\n")
        parts.append("\n| column | unit | meaning |\n|---|---|---|\n")
        parts += [f"| {c.name} | {c.unit} | {c.meaning} |\n" for c in report.columns]
    return "".join(parts)


if __name__ == "__main__":
    print(document(), end="")
