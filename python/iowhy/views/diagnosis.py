"""What was read of other tools' texts, and what to do next: below the verdict."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.commands.overview import Overview
from iowhy.messages import printable
from iowhy.sources.diagnose import Diagnosis
from iowhy.views import verdict_page
from iowhy.views.terminal import Field, labelled, paragraph, print_rows, shorten
from iowhy.whys.facts.busy_processes import BusyProcess
from iowhy.whys.next_step import Step

UNREAD_SHOWN = 12
"""How many lines that were not understood are shown with their text."""

READ_SHOWN = 6
"""How many formats are named that were read."""

WIDEST_COMMAND = 45
"""Of a command with what it says next to it; a longer one has its own line, however long."""

_UNKNOWN = "–"


def show(out: Console, judged: Overview, found: Diagnosis, steps: Sequence[Step]) -> None:
    """The one screen: the verdict, what was read, and what would show more."""

    def below(sheet: Console) -> None:
        _show_read(sheet, found)
        _show_next(sheet, steps)

    verdict_page.show(judged, out, below=below)


def show_parts(out: Console, found: Diagnosis) -> None:
    """Which lines are which tool's, and how they were read."""
    out.print(Text("Read", style="bold"))
    fields = [
        Field("file", lambda v: shorten(str(v), 40), left=True),
        Field("lines", str),
        Field("format", str, left=True),
        Field("version", _text, left=True),
        Field("read as", _text, left=True),
    ]
    values = [
        [
            part.file,
            f"{part.first_line:,}–{part.first_line + max(part.lines, 1) - 1:,}",
            part.format,
            part.parsed.version,
            part.parsed.units,
        ]
        for part in found.parts
    ]
    print_rows(out, fields, values)
    out.print()


def _show_read(out: Console, found: Diagnosis) -> None:
    """What was read, in one line."""
    by_format: dict[str, int] = {}
    for part in found.parts:
        by_format[part.format] = by_format.get(part.format, 0) + 1
    named = [name if number == 1 else f"{name} ({number})" for name, number in by_format.items()]
    missed = len(found.unread) + found.unread_dropped
    rest = f"; {missed:,} line{'' if missed == 1 else 's'} not understood" if missed else ""
    labelled(
        out,
        "Read",
        f"{', '.join(named[:READ_SHOWN])}{'…' if len(named) > READ_SHOWN else ''}{rest}",
        "dim",
    )


def _show_next(out: Console, steps: Sequence[Step]) -> None:
    """The command that would show most of what the texts leave out."""
    for step in steps[:1]:
        labelled(out, "Next", f"`{step.command}` shows {step.shows}")


def show_processes(out: Console, found: Sequence[BusyProcess]) -> None:
    """A table of them, where a tool lists processes."""
    if not found:
        return
    fields = [
        Field("process", str, left=True),
        Field("pid", _text),
        Field("of a CPU", lambda v: _number(v, units.percent)),
        Field("read", lambda v: _number(v, units.rate)),
        Field("written", lambda v: _number(v, units.rate)),
    ]
    out.print()
    out.print(Text.assemble(("Processes", "bold"), ("  the busiest that the inputs list", "dim")))
    values = [[p.process, p.pid, p.cpu, p.read_bytes_per_s, p.written_bytes_per_s] for p in found]
    print_rows(out, fields, values)


def show_unread(out: Console, found: Diagnosis) -> None:
    """The lines that were not understood."""
    count = len(found.unread) + found.unread_dropped
    if count == 0:
        return
    out.print()
    head = Text.assemble(
        ("Not understood", "bold"), (f"  {units.plural(count, 'line')}, not counted", "dim")
    )
    out.print(head, soft_wrap=True)
    for one in found.unread[:UNREAD_SHOWN]:
        where = f"{shorten(one.file, 30)}:{one.line}: "
        text = shorten(printable(where + one.text.strip()), out.width - 2)
        out.print(Text(f"  {text}", "dim"), soft_wrap=True)
    if count > UNREAD_SHOWN:
        out.print(Text(f"  … and {count - UNREAD_SHOWN:,} more (--json lists them)", "dim"))


def show_steps(out: Console, steps: Sequence[Step]) -> None:
    """The commands that would say more."""
    if not steps:
        return
    out.print()
    out.print(Text("To settle it", style="bold"))
    short = [len(step.command) for step in steps if len(step.command) <= WIDEST_COMMAND]
    for at, step in enumerate(steps):
        first = "run" if at == 0 else "or "
        if len(step.command) > WIDEST_COMMAND:
            # On one line: it is there to be pasted.
            out.print(Text(f"  {first} {printable(step.command)}"), soft_wrap=True)
            paragraph(out, step.shows, indent=len(first) + 3, hang=0)
            continue
        text = f"{first} {step.command.ljust(max(short))}  {step.shows}"
        paragraph(out, text, indent=2, hang=len(first) + 1)


def _text(value: object) -> str:
    return _UNKNOWN if value is None else str(value)


def _number(value: object, write: object) -> str:
    return _UNKNOWN if not isinstance(value, (int, float)) else write(float(value))  # type: ignore[operator]
