"""The standard streams, also where they are closed, full, or nobody reads them any more."""

import os
import sys


def hold_streams() -> set[str]:
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


def give_up() -> None:
    """Nothing more is written to stdout and stderr, also not when Python flushes them at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "fileno"):
            os.dup2(null, stream.fileno())
    os.close(null)
