"""`iowhy run`: record a command, or what runs already, and say why it is slow."""
# long: one command, whose options go together or do not in one place

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.cli._expected import (
    Asked,
    judge_asked,
    keep_counts,
    list_expected,
    read_asked,
    save_error,
    status_of,
)
from iowhy.cli._rise import rise
from iowhy.cli._statuses import DONE
from iowhy.cli._streams import give_up
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.budgets import Budgets
from iowhy.options.described import group, option, switch, word
from iowhy.options.given_names import one_name
from iowhy.options.process_ids import pids_given
from iowhy.options.recordings import check_new, recording_kept
from iowhy.options.ssh_hosts import checked_name
from iowhy.quantities import positive_duration_ns, positive_size_bytes
from iowhy.sources import live
from iowhy.sources.descendants import name_of, with_descendants
from iowhy.users import invoking_user, leave_root
from iowhy.views.progress import working

if TYPE_CHECKING:  # only where another machine is recorded
    from iowhy.sources.elsewhere import Host

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


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is recorded, for how long, and what is shown of it."""

    argv: tuple[str, ...] = word(
        "The command to watch, with its own options.",
        default=(),
        metavar="[--] CMD [ARG]...",
        begins_command=True,
    )
    output: Path | None = recording_kept()
    pids: tuple[int, ...] = pids_given("Watch running processes instead.")
    alone: bool = switch(
        "--no-children", help="With -p: without the processes that it has started already."
    )
    all_: bool = switch("-a", "--all", help="Watch the whole machine instead.")
    cgroups: tuple[str, ...] = option(
        "--cgroup",
        default=(),
        metavar="PATH",
        read=one_name,
        help="Watch what runs in a control group, and what comes into it, instead.",
    )
    containers: tuple[str, ...] = option(
        "--container",
        default=(),
        metavar="NAME|ID",
        read=one_name,
        help="The same of a container, or a service of systemd.",
    )
    pods: tuple[str, ...] = option(
        "--pod",
        default=(),
        metavar="NAME",
        read=one_name,
        help="The same of a pod: NAME, or NAMESPACE/NAME.",
    )
    duration_ns: int | None = option(
        "--duration",
        metavar="TIME",
        read=positive_duration_ns,
        help="With all but CMD: how long, e.g. 500ms, 30s, 2m.",
    )
    max_time_ns: int | None = option(
        "--max-time",
        metavar="TIME",
        read=positive_duration_ns,
        help="End the recording after this time; CMD runs on.",
    )
    max_size_bytes: int | None = option(
        "--max-size",
        metavar="SIZE",
        read=positive_size_bytes,
        help="End the recording when it is this large, e.g. 200MiB; CMD runs on.",
    )
    no_stacks: bool = switch(
        "--no-stacks",
        help="Take no user stacks: which functions wait, compute and use which file.",
    )
    stacks: bool = switch("--stacks", help="With -a: take user stacks as well.")
    sudo: bool = switch("--sudo", help="Become root by sudo first; with --on, there.")
    on: str | None = option(
        "--on",
        metavar="HOST",
        help="Record on another machine, over ssh; nothing has to be installed there.",
    )
    user: str | None = option(
        "--user", help="Run CMD as this user; through sudo, the one who called it."
    )
    mode: str = option(
        "--mode",
        default="auto",
        choices=("auto", "bpf", "proc"),
        help="bpf: all sensors. proc: /proc alone. auto: bpf where it can.",
    )
    on_death: str = option(
        "--on-death",
        default="keep",
        choices=("keep", "end"),
        help="When iowhy itself is killed: keep CMD and its recording running, or end them.",
    )
    live: bool = switch(
        "--live", help="Show the live view meanwhile; what CMD prints goes to REC.output."
    )
    quiet: bool = switch(
        "-q",
        "--quiet",
        help="Print nothing; if all that is expected holds, only -o keeps the recording.",
    )
    as_json: bool = switch("--json", help="Print the verdict as JSON; CMD's output goes to stderr.")
    budgets: Budgets = group(Budgets, panel="What it may cost")


def command(options: Options) -> None:
    """Record a command and say where its time went and why.

    CMD keeps its stdin, stdout, stderr and exit status. The recording is kept in NAME.iowhy/.
    """
    if "list" in options.budgets.expected:
        list_expected()
        return
    check_asked(options)
    expected = read_asked(options.budgets, runs=bool(options.argv))
    if options.sudo and options.on is None:
        rise(options.argv)
    out = options.output or live.name_for(named_after(options), Path.cwd())
    check_new(out)
    judges = expected.anything or not options.quiet
    try:
        if options.live:
            watched = _watched(options, out)
            if watched is None:
                return
            status = watched
        else:
            status = record_asked(options, out)
    except (Problem, SystemExit):
        save_error(expected, options.argv, "nothing was recorded")
        raise
    if not options.live:
        leave_root()
    asked = DONE
    if judges:
        try:
            asked = _verdict(out, options, expected, status)
        except Problem as problem:
            save_error(expected, options.argv, str(problem))
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


def record_asked(options: Options, out: Path) -> int:
    """Records what the options ask into `out`; the exit status of what was recorded."""
    on = None if options.on is None else _host(options.on, sudo=options.sudo)
    if options.argv:
        invoking = None if on else invoking_user()
        return live.record(
            options.argv,
            out,
            user=options.user or (invoking.name if invoking is not None else None),
            mode=options.mode,
            stdout_to_stderr=options.as_json,
            outlives_us=options.on_death == "keep",
            extra=_bounds(options),
            on=on,
        )
    duration_s = None if options.duration_ns is None else options.duration_ns / 1e9
    if options.pids:
        return _attach(options, out, duration_s, on)
    groups = _groups(options)
    if groups:
        says = _what(options, ", ".join(" ".join(one).removeprefix("--") for one in groups))
        return live.groups(
            groups, out, duration_s=duration_s, extra=_how(options), on=on, says=says
        )
    says = _what(options, "the machine")
    return live.machine(out, duration_s=duration_s, extra=_how(options), on=on, says=says)


def _host(name: str, *, sudo: bool) -> "Host":
    from iowhy.sources.elsewhere import Host

    return Host(name, sudo=sudo)


def _watched(options: Options, out: Path) -> int | None:
    """Records CMD while the live view is shown; its exit status, None where the view was left before it ended."""
    from iowhy.cli._watched import say_how_to_come_back, watch

    invoking = invoking_user()
    user = options.user or (invoking.name if invoking is not None else None)
    words = ["run", *_how(options), *(["--user", user] if user is not None else [])]
    outlives_us = options.on_death == "keep"
    began, _ = watch([*words, "--", *options.argv], out, outlives_us=outlives_us)
    status = began.status()
    if status is None:
        began.leave()
        say_how_to_come_back(out)
    return status


def _groups(options: Options) -> list[tuple[str, str]]:
    """The recorder's options for whose control groups are recorded."""
    asked = {"--cgroup": options.cgroups, "--container": options.containers, "--pod": options.pods}
    return [(flag, name) for flag, names in asked.items() for name in names]


def _mode(options: Options) -> list[str]:
    return ["--mode", options.mode]


def _how(options: Options) -> list[str]:
    """The recorder's options of what is watched, not of what is run."""
    return [*_mode(options), *_bounds(options)]


def _bounds(options: Options) -> list[str]:
    """The recorder's options for how much is recorded."""
    words = []
    if options.max_time_ns is not None:
        words += ["--max-time", str(options.max_time_ns / 1e9)]
    if options.max_size_bytes is not None:
        words += ["--max-size", str(options.max_size_bytes)]
    if _takes_stacks(options):
        words.append("--stacks")
    return words


def _takes_stacks(options: Options) -> bool:
    """Of all programs of a machine only where it is asked for, and not where /proc alone is read, which has none."""
    if options.no_stacks:
        return False
    return options.stacks or not (options.all_ or options.mode == "proc")


def _attach(options: Options, out: Path, duration_s: float | None, on: "Host | None") -> int:
    """Records processes, with those that they have started already: a server's work is done by these."""
    named, more = list(dict.fromkeys(options.pids)), not options.alone
    says = None
    if on is None:
        started = len(with_descendants(named)) - len(named) if more else 0
        says = _what(options, _named(named, started))
    return live.attach(
        named, out, descendants=more, duration_s=duration_s, extra=_how(options), on=on, says=says
    )


def _named(pids: Sequence[int], more: int) -> str:
    """`process 8726 (postgres) and 6 that it has started`."""
    named = [f"{pid} ({name})" if (name := name_of(pid)) else str(pid) for pid in pids]
    whom = "they have" if len(named) > 1 else "it has"
    return f"process {', '.join(named)}" + (f" and {more} that {whom} started" if more else "")


def _what(options: Options, what: str) -> str | None:
    """What the recorder says once it records."""
    if options.quiet:
        return None
    until = "" if options.duration_ns is None else f" for {options.duration_ns / 1e9:g} s"
    return f"recording {what}{until}; Ctrl-C ends it"


def _verdict(out: Path, options: Options, expected: Asked, status: int) -> int:
    """Prints it, and what became of what was expected; the exit status of that.

    A recording that was made only to be held against something, with -q and without -o, goes where all of it holds.
    """
    # Not before the command has ended: it need not wait for what only the verdict needs.
    from iowhy.overview import overview
    from iowhy.recordings import open_recording
    from iowhy.views import verdict_page

    recording = open_recording(out)
    with working(f"judging {out.name}"):
        found = overview(recording, measured=options.as_json)
        judged = judge_asked(recording, found.verdict, expected)
    if not options.quiet:
        verdict_page.print_verdict(
            found,
            as_json=options.as_json,
            to_stderr=not options.as_json,
            outcomes=judged.outcomes,
        )
    sys.stdout.flush()
    sys.stderr.flush()
    keep_counts(recording, expected, judged)
    asked = status_of(judged, expected, found.verdict)
    only_held = options.quiet and options.output is None
    if (
        only_held
        and (judged.outcomes or expected.baseline)
        and status == asked == DONE
        and judged.held
    ):
        shutil.rmtree(out, ignore_errors=True)
    return asked


def named_after(options: Options) -> list[str]:
    """What gives a recording its name: the command, a process, or nothing for the machine."""
    if options.argv:
        return list(options.argv)
    if options.pids:
        return [f"pid-{options.pids[0]}"]
    groups = _groups(options)
    return [groups[0][1].rstrip("/")] if groups else []


def check_asked(options: Options) -> None:
    """Is one thing asked for, and does what is said of it go together? Raises Problem."""
    targets = [
        bool(options.argv),
        bool(options.pids),
        options.all_,
        bool(_groups(options)),
    ]
    if sum(targets) == 0:
        raise Problem(
            "nothing to watch: give a command (iowhy run -- CMD), -p PID, --container NAME, or -a"
        )
    if sum(targets) > 1:
        raise Problem("choose one of: a command, -p PID, --cgroup, --container or --pod, -a")
    if options.quiet and options.as_json:
        raise Problem("-q prints nothing, and --json prints the verdict: leave one of them out")
    if options.stacks and options.no_stacks:
        raise Problem("--stacks takes user stacks, --no-stacks does not: leave one of them out")
    if options.alone and not options.pids:
        raise Problem("--no-children goes with -p")
    if options.on is not None:
        _check_elsewhere(options)
    if options.live:
        _check_live(options)
    if options.argv and options.duration_ns is not None:
        raise Problem(
            "--duration goes with -p, --container and the like, or -a; a command is watched until it ends"
        )


def _check_live(options: Options) -> None:
    from iowhy.cli._watched import must_be_terminal

    if not options.argv or options.on is not None:
        raise Problem("--live goes with a command on this machine; for others there is `iowhy top`")
    if options.as_json or options.quiet:
        raise Problem(
            "--live shows what -q and --json keep from the terminal: leave one of them out"
        )
    must_be_terminal("--live")


def _check_elsewhere(options: Options) -> None:
    checked_name(options.on or "")
    if options.as_json and options.argv:
        raise Problem(
            "--on with --json: CMD's output would mix with it; use -q, then iowhy why --json"
        )
