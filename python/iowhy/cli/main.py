"""The command `iowhy`: each command is a module of this package, loaded when it is asked for."""

import sys
from importlib import import_module
from typing import Any

import typer
import typer.core

from iowhy import __version__
from iowhy.errors import Problem

#: In the order of `iowhy --help`. A module holds `command`, or `app` when it has commands of its own.
COMMANDS = ("run", "why", "report", "sql", "diagnose", "experiment", "compare", "lab", "check")
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Commands(typer.core.TyperGroup):
    """Loads a command's module when it is used: `iowhy run` need not wait for scipy."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command called `name`, None when there is none."""
        del ctx
        if name not in COMMANDS:
            return None
        module = import_module(f"iowhy.cli.{name}")
        app = getattr(module, "app", None)
        if app is None:
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            epilog = getattr(module, "EPILOG", None)
            app.command(name, epilog=epilog, context_settings=SETTINGS)(module.command)
        loaded = typer.main.get_command(app)
        loaded.name = name
        return loaded


app = typer.Typer(
    name="iowhy",
    cls=Commands,
    help="Tells why I/O is slow, with a measured number at each why, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        print(f"iowhy {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a Problem becomes one line on stderr and exit status 2."""
    try:
        app()
    except Problem as problem:
        print(f"iowhy: {problem}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader has gone (`| head`): not an error, and nothing may be printed at exit.
        sys.stdout = None
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as error:
        # What DuckDB makes of Ctrl-C in the middle of a query.
        if str(error) != "Query interrupted":
            raise
        sys.exit(130)


if __name__ == "__main__":
    main()
