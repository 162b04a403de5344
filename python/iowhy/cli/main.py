"""The command `iowhy`: each command is a module of this package, loaded when it is asked for."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from iowhy.cli._statuses import DONE, INTERRUPTED, PROBLEM
from iowhy.cli._streams import give_up, hold_streams
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.version import VERSION

_OUT_OF_MEMORY = b"iowhy: out of memory: end other programs, or raise the limit of this one (ulimit -d, MemoryMax=)\n"


def main() -> None:
    """Run the command line; a Problem becomes one line on stderr and exit status 2."""
    try:
        closed = hold_streams()
        words = sys.argv[1:]
        if "stdout" in closed and words[:1] != [
            "run"
        ]:  # whose output is CMD's; the verdict goes to stderr
            raise Problem("standard-output-closed")
        if words in (["--version"], ["-V"]):
            # Before anything else is imported: scripts ask this often.
            print(f"iowhy {VERSION}")
        else:
            _run(words)
        sys.stdout.flush()
        status = DONE
    except SystemExit as ended:
        status = _flushed(ended.code if isinstance(ended.code, int) else PROBLEM)
    except Problem as problem:
        from iowhy.cli._ending import document_of

        document = document_of(problem)
        if document is not None:
            print(document)
        status = _flushed(_complain(str(problem)))
    except BrokenPipeError:
        # The reader has gone (`| head`), which is no error.
        status = DONE
        give_up()
    except OSError as error:
        status = _complain(_why(error))
        give_up()
    except MemoryError:
        status = _out_of_memory()
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
    from iowhy.cli._ending import end_by_signals
    from iowhy.recordings import box

    box.own()
    end_by_signals()
    run(words)


def _flushed(status: int) -> int:
    """`status`, when everything printed has arrived."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        give_up()
    except OSError as error:
        status = _complain(_why(error))
        give_up()
    return status


def _complain(text: str) -> int:
    try:
        say(text)
    except OSError:
        give_up()
    return PROBLEM


def _out_of_memory() -> int:
    """Says so by what takes none."""
    with suppress(OSError):
        os.write(2, _OUT_OF_MEMORY)
    give_up()
    return PROBLEM


def _why(error: OSError) -> str:
    if error.filename:
        return f"{error.filename}: {error.strerror or error}"
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return "the working directory is gone; change to one that exists"
    if error.errno == errno.EIO:  # of which file, only the kernel says
        return "a file could not be read or written: Input/output error; `dmesg` names the disk"
    return f"standard output: {error.strerror or error}"


if __name__ == "__main__":
    main()
