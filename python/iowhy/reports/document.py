"""docs/reports.md from the reports' headers: `python -m iowhy.reports.document > docs/reports.md`."""

from collections.abc import Collection
from pathlib import Path

from iowhy.relations.relation import layers, relations
from iowhy.reports.report import FILTERS, built_in

#: Beside the page: NAME.svg of a report, made by `make pictures`.
PICTURES = Path("pictures/reports")

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

of which title and question are needed (how rows can be drawn, as bars, heat map or small plots, is in
`python/iowhy/reports/drawing.py`). Apart from the tables it can select from the relations below, as
`iowhy sql` can. Plain `NAME` is a table or relation as the filters leave it, `main.TABLE` a table as
recorded.

"""


def pictures_in(docs: Path) -> set[str]:
    """The reports that have a picture below a folder of documentation."""
    return {path.stem for path in (docs / PICTURES).glob("*.svg")}


def document(pictures: Collection[str]) -> str:
    """The whole page; `pictures` are the reports that have one."""
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
        if name in pictures:
            parts.append(f"\n![{report.title}]({PICTURES}/{name}.svg)\n")
        parts.append("\n| column | unit | meaning |\n|---|---|---|\n")
        parts += [f"| {c.name} | {c.unit} | {c.meaning} |\n" for c in report.columns]
    return "".join(parts) + _relations()


def _relations() -> str:
    """The relations that reports, verdicts and comparisons share, from their headers."""
    parts = [
        "\n## Relations\n\nWhat reports, verdicts and comparisons share: each fact is defined once. They are in layers, each of which is made of "
        "the recording's tables and of those before it; what a layer has for itself alone is left out here.\n"
    ]
    for layer, names in layers().items():
        public = [relations()[name] for name in names if not name.startswith("_")]
        parts.append(f"\n### Layer: {layer or 'the recording itself'}\n")
        for relation in public:
            parts.append(f"\n#### {relation.name}\n\n{relation.title}.\n")
            if relation.notes:
                parts.append(f"\n{relation.notes}\n")
            if relation.columns:
                parts.append("\n| column | unit | meaning |\n|---|---|---|\n")
                parts += [f"| {c.name} | {c.unit} | {c.meaning} |\n" for c in relation.columns]
            else:
                parts.append(
                    f"\nIts columns are those of the [table](recording.md#{relation.name}).\n"
                )
    return "".join(parts)


if __name__ == "__main__":
    print(document(pictures_in(Path("docs"))), end="")
