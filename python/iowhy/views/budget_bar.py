"""The time budget as a bar with its legend."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.views.class_marks import COLOURS, LETTERS, cells_of
from iowhy.views.styled import Text
from iowhy.views.terminal import LABEL, WIDTH
from iowhy.whys import classes
from iowhy.whys.budget import Line

if TYPE_CHECKING:  # slow to import
    from rich.console import Console


#: What a log of a job has of these classes.
_OF_JOBS = {classes.USER: "outside of I/O", classes.UNEXPLAINED: "files' names, MPI-IO"}
#: A class of less is in the bar, and not in its legend.
_NAMED = 0.02
#: If no second class has this much, the first sentence has said it all.
_MIXED = 0.1


def show(out: "Console", overview: Overview) -> None:
    """Nothing where the time is not known, or all in one class."""
    budget = overview.verdict.budget
    lines = [line for line in budget.lines if line.elapsed_share >= 0.0005]
    if not budget.known or sum(line.elapsed_share >= _MIXED for line in lines) < 2:
        return
    out.print()
    _bar(out, lines)
    _legend(out, lines, _OF_JOBS if budget.basis == "job" else {})


def about(overview: Overview) -> list[str]:
    """Which time it is. The shares are of this time, not of the threads' (docs/budget.md)."""
    found, budget = overview.verdict, overview.verdict.budget
    told = []
    if found.elapsed_s is not None and budget.basis == "threads":
        told.append(f"{units.duration(found.elapsed_s * 1e9)} elapsed")
    elif budget.thread_s is not None and budget.basis != "threads":
        told.append(f"{units.duration(budget.thread_s * 1e9)} of {budget.basis}")
    if overview.threads is not None and budget.thread_s is not None:
        plural = "" if overview.threads == 1 else "s"
        told.append(f"{units.count(overview.threads)} thread{plural}")
    return told


def _bar(out: "Console", lines: Sequence[Line]) -> None:
    total = sum(line.elapsed_share for line in lines) or 1.0
    width = min(out.width, WIDTH) - LABEL
    cells = cells_of([line.elapsed_share / total for line in lines], width)
    bar = Text("Time".ljust(LABEL), "bold")
    for line, count in zip(lines, cells, strict=True):
        if out.color_system is None:
            bar.append(LETTERS[line.cls] * count)
        else:
            bar.append("█" * count, COLOURS[line.cls])
    out.print(bar, soft_wrap=True)


def _legend(out: "Console", lines: Sequence[Line], names: dict[str, str]) -> None:
    legend, length = Text(" " * LABEL), LABEL
    for line in sorted(lines, key=lambda line: -line.elapsed_share):
        if line.elapsed_share < _NAMED and length > LABEL:
            break
        mark = LETTERS[line.cls] if out.color_system is None else "█"
        words = f" {names.get(line.cls, line.cls)} {units.percent(line.elapsed_share)}"
        if length + 4 + len(words) > min(out.width, WIDTH):
            out.print(legend, soft_wrap=True)
            legend, length = Text(" " * LABEL), LABEL
        if length > LABEL:
            legend.append("   ")
            length += 3
        legend.append(mark, COLOURS[line.cls])
        legend.append(words)
        length += 1 + len(words)
    out.print(legend, soft_wrap=True)
