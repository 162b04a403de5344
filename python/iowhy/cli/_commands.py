"""The command line as Typer sees it: which commands there are, loaded when they are used."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
import typer.core

from iowhy import __version__
from iowhy.cli._signature import SETTINGS, add, new_app
from iowhy.cli._statuses import EPILOG
from iowhy.errors import Problem

#: In the order of `iowhy --help`. A module holds `command` with its `Options`, or `app` with commands of its own.
COMMANDS = ("run", "why", "report", "sql", "diagnose", "experiment", "compare", "lab", "check")

_Refused: type[Exception] = next(
    one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException"
)
"""What Typer raises for a call that it does not understand; it has no public name there."""


class Commands(typer.core.TyperGroup):
    """Loads a command's module when it is used: `iowhy run` need not wait for scipy."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, None when there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"iowhy.cli.{cmd_name}")
        app = getattr(module, "app", None)
        if app is None:
            app = new_app()
            ours = getattr(module, "is_ours", lambda _: False)
            add(app, cmd_name, module.Options, module.command, module.EPILOG, ours)
        loaded = typer.main.get_command(app)
        loaded.name = cmd_name
        return loaded


app = typer.Typer(
    name="iowhy",
    cls=Commands,
    help="Tells why I/O is slow, with a measured number at each why, and proves it.",
    epilog=EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(
        False, "-V", "--version", metavar="", help="Print the version and exit."
    ),
) -> None:
    if version:
        print(f"iowhy {__version__}")
        raise typer.Exit


def run(words: Sequence[str]) -> None:
    """Carries out what the words ask. Raises Problem for what makes no sense, SystemExit with its status."""
    command = typer.main.get_command(app)
    try:
        # Not `app()`: that makes an exit status of its own of a reader that went away.
        with command.make_context("iowhy", _help(words)) as ctx:
            command.invoke(ctx)
    except _Refused as refused:
        raise Problem(_said(refused)) from None
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from None


def _help(words: Sequence[str]) -> list[str]:
    """`iowhy`, `iowhy help` and `iowhy help CMD` are `iowhy [CMD] --help`."""
    if not words:
        return ["--help"]
    if words[0] == "help":
        return [*words[1:], "--help"]
    return list(words)


def _said(refused: Any) -> str:
    """One line: what is wrong, and where the right words are."""
    ctx = getattr(refused, "ctx", None)
    path = ctx.command_path if ctx is not None else "iowhy"
    text = " ".join(refused.format_message().split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}; see `{path} --help`"
