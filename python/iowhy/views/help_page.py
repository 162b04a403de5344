"""What `--help` prints, from the description of the options."""

import inspect
import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from iowhy.options.described import Parameter, parameters
from iowhy.views.terminal import WIDTH, console, paragraph

_GAP = 2
_WIDEST_NAME = 30


def show_command(path: str, options: type, about: str, epilog: str) -> None:
    """One command: how it is called, what it does, its words and options, examples."""
    known = [one for one in parameters(options) if not one.described.hidden]
    words = [one for one in known if not one.described.flags]
    flags = [one for one in known if one.described.flags]
    out = console()
    _heading(out, " ".join([f"usage: {path} [OPTION]...", *map(_usage, words)]))
    _text(out, inspect.cleandoc(about))
    if words:
        out.print()
        _columns(out, [(_usage(one), one.described.help) for one in words])
    for panel in dict.fromkeys(one.panel for one in flags):
        out.print()
        _heading(out, f"{panel or 'options'}:")
        rows = [(_named(one), _help(one)) for one in flags if one.panel == panel]
        _columns(out, rows + ([] if panel else [("-h, --help", "Show this and exit.")]))
    _text(out, epilog)


def show_commands(
    path: str,
    about: str,
    commands: Sequence[tuple[str, str]],
    options: Sequence[tuple[str, str]],
    epilog: str,
) -> None:
    """A command that has commands of its own."""
    out = console()
    _heading(out, f"usage: {path} COMMAND [OPTION]... [WORD]...")
    _text(out, about)
    out.print()
    _heading(out, "commands:")
    _columns(out, commands)
    out.print()
    _heading(out, "options:")
    _columns(
        out, [*options, ("-h, --help", f"Show this and exit; `{path} COMMAND --help` tells more.")]
    )
    _text(out, epilog)


def _usage(one: Parameter) -> str:
    name = one.called
    return name if one.required or name.startswith("[") else f"[{name}]"


def _named(one: Parameter) -> str:
    flags = sorted(one.described.flags, key=len)
    name = ", ".join(flags) if len(flags[0]) == 2 else f"    {', '.join(flags)}"
    value = one.described.metavar or one.value_name
    return f"{name} {value}" if one.takes_value else name


def _help(one: Parameter) -> str:
    notes = []
    # What was read from a text (bytes, nanoseconds) is no text to type: the help says what it is.
    as_typed = one.described.read is None
    if one.takes_value and as_typed and not one.repeated and one.default not in (None, ""):
        notes.append(f"default {one.default}")
    if one.repeated and one.described.read is None:
        notes.append("may be repeated")
    return one.described.help + (f" ({'; '.join(notes)})" if notes else "")


def _heading(out: Console, text: str) -> None:
    paragraph(out, text, "bold", hang=4)


def _text(out: Console, text: str) -> None:
    """Paragraphs; indented lines are examples and stay as they are."""
    before = ""
    for block in filter(None, text.strip("\n").split("\n\n")):
        if not before.startswith(" ") or not block.startswith(" "):
            out.print()
        if block.startswith(" "):
            out.print(Text(block.rstrip()), soft_wrap=True)
        else:
            paragraph(out, " ".join(block.split()), hang=0)
        before = block


def _columns(out: Console, rows: Iterable[tuple[str, str]]) -> None:
    """Name and meaning side by side; a long name has its meaning on the next line."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows if len(name) <= _WIDEST_NAME), default=_WIDEST_NAME)
    for name, meaning in rows:
        start = 2 + width + _GAP
        lines = textwrap.wrap(meaning, max(20, min(out.width, WIDTH) - start)) or [""]
        first = f"  {name:<{width}}" + " " * _GAP
        if len(name) > width:
            out.print(Text(f"  {name}"), soft_wrap=True)
            first = " " * start
        out.print(Text(first + lines[0]), soft_wrap=True)
        for line in lines[1:]:
            out.print(Text(" " * start + line), soft_wrap=True)
