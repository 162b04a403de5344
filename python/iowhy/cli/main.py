"""The command `iowhy`: each command is a module of this package."""

import sys

import typer

from iowhy import __version__
from iowhy.cli import check, compare, diagnose, experiment, lab, report, run, sql, why
from iowhy.errors import Problem

app = typer.Typer(
    name="iowhy",
    help="Tells why I/O is slow, with a measured number at each why, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for name, module in (
    ("run", run),
    ("why", why),
    ("report", report),
    ("sql", sql),
    ("diagnose", diagnose),
    ("experiment", experiment),
    ("compare", compare),
    ("check", check),
):
    app.command(name, epilog=getattr(module, "EPILOG", None))(module.command)
app.add_typer(lab.app, name="lab")


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
        sys.stdout = None  # type: ignore[assignment]
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
