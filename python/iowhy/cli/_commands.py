"""Which commands there are, and how their words become options and are carried out."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from inspect import cleandoc
from typing import Any

from msgspec import Struct

from iowhy.cli._statuses import EPILOG
from iowhy.errors import Problem
from iowhy.options.parser import HELP, HelpAsked, IsOurs, Parser, formatter, parse, parser_of
from iowhy.sentences import changed
from iowhy.version import VERSION

ABOUT = "Finds out why I/O is slow, shows the fix with its saving and risk, and proves it."

#: In the order of `iowhy --help`. A module holds `command` with its `Options`, or `COMMANDS` of its own.
COMMANDS = (
    "run",
    "why",
    "what-if",
    "explain",
    "top",
    "agent",
    "report",
    "html",
    "sql",
    "diagnose",
    "experiment",
    "tune",
    "device-model",
    "compare",
    "fleet",
    "lab",
    "export",
    "pack",
    "check",
    "symbolize",
    "doctor",
    "mcp",
)


class Command(Struct, frozen=True):
    """One command: `path` as it is typed, what its options are, what carries them out."""

    path: str
    options: type
    act: Callable[[Any], None]
    epilog: str = ""
    ours: IsOurs = lambda _: False

    @property
    def about(self) -> str:
        """What it does: in its first line briefly."""
        return cleandoc(self.act.__doc__ or "")

    @property
    def summary(self) -> str:
        """What it does, briefly."""
        return self.about.partition("\n")[0]

    def parser(self) -> Parser:
        """Its options, as help and completion show them."""
        return parser_of(self.path, self.options, self.about, self.epilog)


class Group(Struct, frozen=True):
    """A command that has commands, by their names."""

    path: str
    about: str
    commands: Mapping[str, "Command | Group"]
    epilog: str = ""

    def parser(self) -> Parser:
        """Its commands."""
        made = Parser(
            self.path,
            usage=f"{self.path} COMMAND [OPTION]... [WORD]...",
            description=self.about,
            epilog=self.epilog,
            formatter_class=formatter,
        )
        if self.epilog:  # of iowhy itself
            made.add_argument(
                "-V", "--version", action="store_true", help="print the version and exit"
            )
        below = made.add_subparsers(title="commands", metavar="COMMAND")
        for name, command in self.commands.items():
            below.add_parser(name, help=command.summary)
        return made

    @property
    def summary(self) -> str:
        """What it does, briefly."""
        return self.about.partition("\n")[0]


def whole() -> Group:
    """All commands."""
    return Group("iowhy", ABOUT, {name: command(name) for name in COMMANDS}, EPILOG)


def command(name: str) -> Command | Group:
    """The command of this name: its module is imported."""
    module = import_module(f"iowhy.cli.{name.replace('-', '_')}")
    path = f"iowhy {name}"
    inner: Mapping[str, tuple[type, Callable[[Any], None]]] | None = getattr(
        module, "COMMANDS", None
    )
    if inner is not None:
        below = {one: Command(f"{path} {one}", *given) for one, given in inner.items()}
        return Group(path, module.ABOUT, below)
    ours = getattr(module, "is_ours", lambda _: False)
    return Command(path, module.Options, module.command, module.EPILOG, ours)


def run(words: Sequence[str]) -> None:
    """Carries out what the words ask. Raises Problem for what makes no sense, SystemExit with its status."""
    words = _help(words)
    if words[0] in ("-V", "--version"):
        print(f"iowhy {VERSION}")
    elif words[0] in HELP:
        whole().parser().print_help()
    elif words[0] in COMMANDS:
        _carry_out(command(words[0]), words[1:])
    else:
        kind = "option" if words[0].startswith("-") else "command"
        near = get_close_matches(words[0], COMMANDS, 1)
        meant = f"; did you mean `iowhy {near[0]}`?" if near else ";"
        raise Problem("no-such-command-or-option", words=words[0], kind=kind, meant=meant)


def _carry_out(asked: Command | Group, words: Sequence[str]) -> None:
    if isinstance(asked, Group):
        if not words or words[0] in HELP:
            asked.parser().print_help()
        elif words[0] in asked.commands:
            _carry_out(asked.commands[words[0]], words[1:])
        else:
            raise Problem(
                "no-such-command",
                words=words[0],
                path=asked.path,
                commands=", ".join(asked.commands),
            )
        return
    try:
        options: Any = parse(asked.options, words, asked.ours)
    except HelpAsked:
        asked.parser().print_help()
        return
    except Problem as problem:
        raise Problem(changed(problem.sentence, f"{problem} (`{asked.path} --help`)")) from None
    asked.act(options)


def _help(words: Sequence[str]) -> list[str]:
    """`iowhy`, `iowhy help` and `iowhy help CMD` are `iowhy [CMD] --help`."""
    if not words:
        return ["--help"]
    if words[0] == "help":
        return [*words[1:], "--help"]
    return list(words)
