"""The live view over a recorder that runs: how it is begun, left and ended."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.invocation import typed
from iowhy.messages import say
from iowhy.users import leave_root

if TYPE_CHECKING:
    from iowhy.sources.background import Background
    from iowhy.sources.request import Request


def must_be_terminal(option: str) -> None:
    """Raises Problem where keys cannot be read or the view cannot be drawn."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Problem("needs-terminal", option=option)


def watch(request: "Request", out: Path) -> "tuple[Background, bool]":
    """Begins the recorder and shows the view until it is left, after which the recorder may run on; whether it shall.

    Raises Problem.
    """
    from iowhy.sources.background import begin

    began = begin(request, out)
    leave_root()
    return began, show(out, began.printed, began)


def show(recording: Path, printed: Path | None, began: "Background | None" = None) -> bool:
    """Shows the view until it is left; whether what was begun shall go on."""
    gc.disable()  # a tenth of the time that importing takes, and it finds next to nothing
    try:
        from iowhy.views.top.app import LIVE_SPAN, SPANS_NS, Shown, TopApp
    except ModuleNotFoundError as missing:
        raise Problem("live-view-needs", name=missing.name) from None
    finally:
        gc.enable()

    _let_the_terminal_say_its_size()
    span = LIVE_SPAN if began is not None else len(SPANS_NS) - 1
    end = None if began is None else began.end
    return bool(TopApp(Shown(recording, printed, end, span)).run())


def _let_the_terminal_say_its_size() -> None:
    """COLUMNS and LINES, where a shell exports them, go before the terminal's own size, and are wrong once that changes."""
    if all(os.get_terminal_size(sys.stdout.fileno())):
        os.environ.pop("COLUMNS", None)
        os.environ.pop("LINES", None)


def say_how_to_come_back(out: Path) -> None:
    """What goes on, and where it is found."""
    place = typed(out)
    say(f"it goes on, and is recorded in {place}; `iowhy top {place}` comes back to it")
