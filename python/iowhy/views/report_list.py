"""The reports there are, each with the question that it answers."""

from collections.abc import Collection
from pathlib import Path

from rich.console import Console
from rich.text import Text

from iowhy.messages import printable
from iowhy.reports.report import Report


def show(out: Console, reports: Collection[Report], own: Path) -> None:
    """One line each; `own` is the folder of the user's own."""
    width = max(len(report.name) for report in reports)
    for report in reports:
        line = Text(f"  {report.name:<{width}}", style="bold")
        line.append(f"  {printable(report.question)}", style="not bold")
        out.print(line, soft_wrap=True)
    out.print(
        Text(f"\n  iowhy report NAME RECORDING; your own: {own}/NAME.sql", style="dim"),
        soft_wrap=True,
    )
