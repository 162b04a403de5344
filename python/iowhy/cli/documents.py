"""Makes the man pages and completions that the wheel carries: `python -m iowhy.cli.documents wheel/data`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from iowhy.cli._commands import Command, Group, whole
from iowhy.options.parser import Parser
from iowhy.version import VERSION

#: Where packages have them.
_SHELLS = {
    "bash": "bash-completion/completions/iowhy",
    "fish": "fish/vendor_completions.d/iowhy.fish",
    "zsh": "zsh/site-functions/_iowhy",
}


def write(folder: Path) -> None:
    """Everything below `folder`, as it is below a prefix: share/man/man1, share/bash-completion, …"""
    commands = whole()
    for one in every(commands):
        name = one.path.replace(" ", "-")
        _put(folder / "share/man/man1" / f"{name}.1", _manual(name, one))
    for shell, place in _SHELLS.items():
        _put(folder / "share" / place, shtab.complete(_filled(Parser("iowhy"), commands), shell))


def every(group: Group) -> Iterator[Command | Group]:
    """A group, and all that is below it."""
    yield group
    for one in group.commands.values():
        if isinstance(one, Group):
            yield from every(one)
        else:
            yield one


def _manual(name: str, one: Command | Group) -> str:
    parser = one.parser()
    parser.prog = name
    page = Manpage(parser)
    page.source, page.manual, page.date = f"iowhy {VERSION}", "User Commands", ""
    page.description = one.summary.rstrip(".")
    # To troff a line that begins with a quote is a request, and letters beyond ASCII have numbers.
    text = re.sub(r"(?m)^'", r"\\&'", str(page))
    return re.sub(r"[^\x00-\x7f]", lambda letter: f"\\[u{ord(letter[0]):04X}]", text)


def _filled(parser: Parser, group: Group) -> Parser:
    """One parser of all commands."""
    below = parser.add_subparsers()
    for name, one in group.commands.items():
        if isinstance(one, Group):
            _filled(below.add_parser(name, help=one.summary), one)
        else:
            below.add_parser(name, help=one.summary, parents=[one.parser()], add_help=False)
    return parser


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
