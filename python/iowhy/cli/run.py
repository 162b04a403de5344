"""`iowhy run`: record a command, or what runs already, and say why it is slow."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from iowhy import quantities
from iowhy.errors import Problem
from iowhy.recording import open_recording
from iowhy.sources import live
from iowhy.views import show

EPILOG = """Examples:

  sudo iowhy run -- fio job.fio

  sudo iowhy run -- sqlite3 accounts.db < load.sql

  sudo iowhy run -o before.iowhy -- make -j2

  sudo iowhy run -p 4711 --duration 30

  sudo iowhy run -a --duration 30
"""


def command(
    argv: Annotated[
        list[str] | None, typer.Argument(metavar="-- CMD [ARG]...", help="The command to watch.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to keep the recording.")
    ] = None,
    pid: Annotated[
        list[int] | None,
        typer.Option("-p", "--pid", help="Watch a running process instead; may be repeated."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("-a", "--all", help="Watch the whole machine instead.")
    ] = False,
    duration: Annotated[
        str | None, typer.Option(help="With -p and -a: how long, e.g. 500ms, 30s, 2m.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(help="Run CMD as this user; through sudo, the one who called it."),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="bpf: all sensors. proc: /proc alone. auto: bpf where it can.")
    ] = "auto",
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Record, and print nothing.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the verdict as JSON; CMD's output goes to stderr."),
    ] = False,
) -> None:
    """Record a command and say where its time went and why.

    CMD keeps its stdin, stdout, stderr and exit status. The recording is kept in NAME.iowhy/.
    """
    seconds = (
        None if duration is None else quantities.positive_duration_ns("--duration", duration) / 1e9
    )
    _one_of(argv, pid, all_, seconds)
    if mode not in ("auto", "bpf", "proc"):
        raise Problem(f"--mode {mode}: choose auto, bpf or proc")
    if argv:
        out = output or live.free_name(argv, Path.cwd())
        _free(out)
        status = live.record(
            argv,
            out,
            user=user or live.invoking_user(),
            mode=mode,
            stdout_to_stderr=as_json,
        )
    elif pid:
        out = output or live.free_name([f"pid-{pid[0]}"], Path.cwd())
        _free(out)
        status = live.attach(pid, out, duration_s=seconds)
    else:
        out = output or live.free_name([], Path.cwd())
        _free(out)
        status = live.machine(out, duration_s=seconds)
    owner = live.invoking_user()
    if owner is not None:
        live.give(out, owner)
    if not quiet:
        started = time.monotonic()
        show.verdict(open_recording(out), as_json=as_json, to_stderr=not as_json)
        if os.environ.get("IOWHY_TIMING"):
            print(f"verdict_s={time.monotonic() - started:.3f}", file=sys.stderr)
    raise typer.Exit(status)


def _one_of(
    argv: list[str] | None, pid: list[int] | None, all_: bool, seconds: float | None
) -> None:
    chosen = [bool(argv), bool(pid), all_]
    if sum(chosen) == 0:
        raise Problem("nothing to watch: give a command (iowhy run -- CMD), -p PID, or -a")
    if sum(chosen) > 1:
        raise Problem("choose one of: a command, -p PID, -a")
    if argv and seconds is not None:
        raise Problem("--duration goes with -p or -a; a command is watched until it ends")


def _free(out: Path) -> None:
    if out.exists():
        raise Problem(f"{out}: exists already; choose another name with -o, or remove it")
    # A folder that is not there is a slip of the hand more often than a wish.
    if not out.parent.is_dir():
        raise Problem(
            f"-o {out}: there is no folder {out.parent}; make it first, or choose another"
        )
