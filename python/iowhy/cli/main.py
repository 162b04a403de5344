"""The command `iowhy`: each command is a module of this package, loaded when it is asked for."""

import os
import sys
from collections.abc import Sequence

from iowhy import __version__
from iowhy.cli._statuses import DONE, INTERRUPTED, PROBLEM
from iowhy.errors import Problem


def main() -> None:
    """Run the command line; a Problem becomes one line on stderr and exit status 2."""
    try:
        closed = _hold_streams()
        words = sys.argv[1:]
        if "stdout" in closed:
            raise Problem("standard output is closed; redirect it to /dev/null to see nothing")
        if words in (["--version"], ["-V"]):
            # Before anything else is imported: scripts ask this often.
            print(f"iowhy {__version__}")
        else:
            _run(words)
        sys.stdout.flush()
        status = DONE
    except SystemExit as ended:
        status = _flushed(ended.code if isinstance(ended.code, int) else PROBLEM)
    except Problem as problem:
        status = _complain(str(problem))
    except BrokenPipeError:
        # The reader has gone (`| head`), which is no error.
        status = DONE
        _give_up(sys.stdout)
    except OSError as error:
        status = _complain(_why(error))
        _give_up(sys.stdout)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except RuntimeError as error:
        # What DuckDB makes of Ctrl-C in the middle of a query.
        if str(error) != "Query interrupted":
            raise
        status = INTERRUPTED
    sys.exit(status)


def _run(words: Sequence[str]) -> None:
    from iowhy.cli._commands import run

    run(words)


def _hold_streams() -> set[str]:
    """Names the standard streams that are closed, and puts /dev/null there.

    Else the first file that is opened would take the place of a stream, and get what is printed.
    """
    closed = set()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            closed.add(name)
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    return closed


def _flushed(status: int) -> int:
    """`status`, when everything printed has arrived."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        return _complain(_why(error))
    return status


def _complain(text: str) -> int:
    try:
        print(f"iowhy: {text}", file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)
    return PROBLEM


def _why(error: OSError) -> str:
    if error.filename:
        return f"{error.filename}: {error.strerror or error}"
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return "the working directory is gone; change to one that exists"
    return f"standard output: {error.strerror or error}"


def _give_up(stream: object) -> None:
    """Nothing more is written there, also not when Python flushes at its end."""
    if hasattr(stream, "fileno"):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


if __name__ == "__main__":
    main()
