"""`iowhy run`: record a command, or what runs already, and say why it is slow."""

import shutil
import sys
from pathlib import Path

from iowhy.cli._expected import list_expected, status_of
from iowhy.cli._statuses import DONE
from iowhy.cli._streams import give_up
from iowhy.cli._sudo import rerun_as_root
from iowhy.cli._watched import must_be_terminal, say_how_to_come_back, watch
from iowhy.commands.judge import Expected, expected_of, judge
from iowhy.commands.record import Planned, planned, record
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.record import Options, check
from iowhy.users import leave_root
from iowhy.views.progress import working

EPILOG = """Examples:

  sudo iowhy run -- fio job.fio

  sudo iowhy run -- sqlite3 accounts.db < load.sql

  sudo iowhy run -o before.iowhy make -j2

  sudo iowhy run -p 4711,4712 --duration 30s

  sudo iowhy run -a --duration 30s

  sudo iowhy run --expect 'sync_calls <= 10' --expect 'device.written_bytes <= 2 MiB' -- ./load

  sudo iowhy run --baseline io.json --update -- ./load

  sudo iowhy run --container web --duration 30s

  sudo iowhy run --live -- make -j2

  iowhy run --on db1 --sudo -- sh -c 'cd /srv && ./load'

It ends with CMD's exit status.
"""


def command(options: Options) -> None:
    """Record a command and say where its time went and why.

    CMD keeps its stdin, stdout, stderr and exit status. The recording is kept in NAME.iowhy/.
    """
    if "list" in options.budgets.expected:
        list_expected()
        return
    check(options)
    if options.live:
        must_be_terminal("--live")
    expected = expected_of(options.budgets, runs=bool(options.argv))
    if expected.unread is not None:
        say(f"{expected.unread}; the command runs, and is held to no baseline")
    if options.sudo and options.on is None:
        rerun_as_root(options.argv)
    plan = planned(options)
    judges = expected.anything or not options.quiet
    try:
        if options.live:
            watched = _watched(plan)
            if watched is None:
                return
            status = watched
        else:
            status = record(plan)
    except (Problem, SystemExit):
        _save_error(expected, options, "nothing was recorded")
        raise
    if not options.live:
        leave_root()
    asked = DONE
    if judges:
        try:
            asked = _verdict(plan.out, options, expected, status)
        except Problem as problem:
            _save_error(expected, options, str(problem))
            if status == DONE:
                raise
            say(str(problem))  # what CMD ended with is its user's first question
        except OSError as error:
            if error.filename is not None:
                raise
            give_up()  # nobody reads, or the disk behind it is full; what CMD ended with is still to be passed on
    # What CMD ended with comes first.
    if (status or asked) != DONE:
        raise SystemExit(status or asked)


def _watched(plan: Planned) -> int | None:
    """Records CMD while the live view is shown; its exit status, None where the view was left before it ended."""
    began, _ = watch(plan.request, plan.out)
    status = began.status()
    if status is None:
        began.leave()
        say_how_to_come_back(plan.out)
    return status


def _save_error(expected: Expected, options: Options, why: str) -> None:
    from iowhy.views.judged import save_error

    save_error(expected, options.argv, why)


def _verdict(out: Path, options: Options, expected: Expected, status: int) -> int:
    """Prints it, and what became of what was expected; the exit status of that.

    A recording that was made only to be held against something, with -q and without -o, goes where all of it holds.
    """
    # Not before the command has ended: it need not wait for what only the verdict needs.
    from iowhy.commands.overview import overview
    from iowhy.recordings import open_recording
    from iowhy.views import verdict_page
    from iowhy.views.judged import publish

    recording = open_recording(out)
    with working(f"judging {out.name}"):
        found = overview(recording, measured=options.as_json)
        judged = judge(recording, found.verdict, expected)
    if not options.quiet:
        verdict_page.print_verdict(
            found,
            as_json=options.as_json,
            to_stderr=not options.as_json,
            outcomes=judged.outcomes,
        )
    sys.stdout.flush()
    sys.stderr.flush()
    publish(judged, expected, found.verdict)
    asked = status_of(judged)
    only_held = options.quiet and options.output is None
    if (
        only_held
        and (judged.outcomes or expected.baseline)
        and status == asked == DONE
        and judged.held
    ):
        shutil.rmtree(out, ignore_errors=True)
    return asked
