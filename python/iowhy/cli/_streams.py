"""The standard streams, also if they are closed, full, of few letters, or nobody reads them any more."""

import io
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
    for stream in (sys.stdout, sys.stderr):
        # A letter that the stream's encoding lacks (names that are not UTF-8, arrows in Latin-1) is written in
        # the way of Python's texts, and ends nothing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return closed


def give_up() -> None:
    """Nothing more is written to stdout and stderr, also not when Python flushes them at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "fileno"):
            os.dup2(null, stream.fileno())
    os.close(null)
