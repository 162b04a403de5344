"""Which commands there are; the module of one is imported when it is used."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from iowhy import __version__
from iowhy.cli._parse import HELP, HelpAsked, IsOurs, parse
from iowhy.data_class import dataclass
from iowhy.errors import Problem

ABOUT = "Tells why I/O is slow, with a measured number at each why, and proves it."

#: In the order of `iowhy --help`. A module holds `command` with its `Options`, or `COMMANDS` of its own.
COMMANDS = (
    "run",
    "why",
    "top",
    "agent",
    "report",
    "html",
    "sql",
    "diagnose",
    "experiment",
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


@dataclass(frozen=True)
class Command:
    """One command: `path` as it is typed, what its options are, what carries them out."""

    path: str
    options: type
    act: Callable[[Any], None]
    epilog: str = ""
    ours: IsOurs = lambda _: False


def run(words: Sequence[str]) -> None:
    """Carries out what the words ask. Raises Problem for what makes no sense, SystemExit with its status."""
    words = _help(words)
    if words[0] in ("-V", "--version"):
        print(f"iowhy {__version__}")
    elif words[0] in HELP:
        _show_commands("iowhy", ABOUT, _summaries())
    elif words[0] in COMMANDS:
        _run_module(words[0], words[1:])
    else:
        raise Problem(f"{words[0]}: no such {_kind(words[0])}; see `iowhy --help`{_near(words[0])}")


def _run_module(name: str, words: Sequence[str]) -> None:
    module = import_module(f"iowhy.cli.{name}")
    inner: Mapping[str, tuple[type, Callable[[Any], None]]] | None = getattr(
        module, "COMMANDS", None
    )
    if inner is None:
        ours = getattr(module, "is_ours", lambda _: False)
        _carry_out(
            Command(f"iowhy {name}", module.Options, module.command, module.EPILOG, ours), words
        )
    elif not words or words[0] in HELP:
        _show_commands(
            f"iowhy {name}",
            module.ABOUT,
            [(one, _first(act.__doc__)) for one, (_, act) in inner.items()],
        )
    elif words[0] in inner:
        _carry_out(Command(f"iowhy {name} {words[0]}", *inner[words[0]]), words[1:])
    else:
        raise Problem(f"{words[0]}: no such command; `iowhy {name}` has {', '.join(inner)}")


def _carry_out(command: Command, words: Sequence[str]) -> None:
    try:
        options: Any = parse(command.options, words, command.ours)
    except HelpAsked:
        from iowhy.views import help_page

        help_page.show_command(
            command.path, command.options, command.act.__doc__ or "", command.epilog
        )
        return
    except Problem as problem:
        raise Problem(f"{problem} (`{command.path} --help`)") from None
    command.act(options)


def _show_commands(path: str, about: str, commands: Sequence[tuple[str, str]]) -> None:
    from iowhy.cli._statuses import EPILOG
    from iowhy.views import help_page

    top = path == "iowhy"
    extra = [("-V, --version", "Print the version and exit.")] if top else []
    help_page.show_commands(path, about, commands, extra, EPILOG if top else "")


def _help(words: Sequence[str]) -> list[str]:
    """`iowhy`, `iowhy help` and `iowhy help CMD` are `iowhy [CMD] --help`."""
    if not words:
        return ["--help"]
    if words[0] == "help":
        return [*words[1:], "--help"]
    return list(words)


def _kind(word: str) -> str:
    return "option" if word.startswith("-") else "command"


def _near(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, 1)
    return f", or did you mean `iowhy {near[0]}`?" if near else ""


def _summaries() -> list[tuple[str, str]]:
    """What each command does, from its source: to import all of them takes a second."""
    return list(_read_summaries())


def _read_summaries() -> Iterator[tuple[str, str]]:
    import ast  # of use for help only

    for name in COMMANDS:
        tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == "command":
                yield name, _first(ast.get_docstring(node))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ABOUT":
                yield name, _first(ast.literal_eval(node.value))


def _first(text: str | None) -> str:
    return (text or "").partition("\n")[0]
