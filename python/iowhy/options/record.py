"""What is recorded: the options of `iowhy run` and `iowhy.record`."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.masking import masked
from iowhy.options.budgets import Budgets
from iowhy.options.control_groups import cgroups_given, containers_given, groups_of, pods_given
from iowhy.options.described import group, option, switch, word
from iowhy.options.process_ids import pids_given
from iowhy.options.recordings import recording_kept
from iowhy.options.ssh_hosts import checked_name
from iowhy.quantities import positive_duration_ns, positive_size_bytes


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
    cgroups: tuple[str, ...] = cgroups_given(
        "Watch what runs in a control group, and what comes into it, instead."
    )
    containers: tuple[str, ...] = containers_given()
    pods: tuple[str, ...] = pods_given()
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
    statements: str | None = option(
        "--statements",
        metavar="DSN",
        bare="",
        help="Which statements of databases wait: with CMD those of SQLite, by probes; else those of PostgreSQL, MariaDB or MySQL, as "
        "their server shows them. DSN says how to connect, if it is not as the server's own user; without a password.",
    )
    exact: bool = switch(
        "--exact",
        help="With --statements: PostgreSQL and SQLite by probes in their programs, every statement.",
    )
    statement_text: bool = switch(
        "--statement-text", help="With --statements: keep the literals of statements, too."
    )
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
        "--live", help="Show the live view while it runs; what CMD prints goes to REC.output."
    )
    quiet: bool = switch(
        "-q",
        "--quiet",
        help="Print nothing; if all that is expected holds, only -o keeps the recording.",
    )
    as_json: bool = switch("--json", help="Print the verdict as JSON; CMD's output goes to stderr.")
    budgets: Budgets = group(Budgets, panel="What it may cost")

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The recorder's options for whose control groups are recorded, each with its value."""
        return groups_of(self)

    @property
    def by_probes(self) -> bool:
        """Statements are taken from the programs that run them."""
        return self.statements is not None and (bool(self.argv) or self.exact)

    @property
    def named_after(self) -> list[str]:
        """What gives a recording its name: the command, a process, or nothing for the machine."""
        if self.argv:
            return list(self.argv)
        if self.pids:
            return [f"pid-{self.pids[0]}"]
        return [self.groups[0][1].rstrip("/")] if self.groups else []


def check(options: Options) -> None:
    """Is one thing asked for, and does what is said of it go together? Raises Problem."""
    given = {
        "-a": options.all_,
        **{f"--pid {pid}": True for pid in options.pids[:1]},
        **{f"{kind} {name}": True for kind, name in options.groups[:1]},
        f"the command {' '.join(options.argv[:1])}": bool(options.argv),
    }
    targets = [name for name, asked in given.items() if asked]
    if not targets:
        raise Problem("nothing-to-watch")
    if len(targets) > 1:
        raise Problem("two-targets", targets=" and ".join(targets))
    if options.quiet and options.as_json:
        raise Problem("quiet-and-json")
    if options.stacks and options.no_stacks:
        raise Problem("stacks-and-no-stacks")
    if options.alone and not options.pids:
        raise Problem("no-children-of-what")
    if options.on is not None:
        _check_elsewhere(options)
    if options.live:
        _check_live(options)
    if options.statement_text and options.statements is None:
        raise Problem("statement-text-alone")
    _check_statements(options)
    if options.argv and options.duration_ns is not None:
        raise Problem("duration-of-command")


def _check_statements(options: Options) -> None:
    if options.exact and options.statements is None:
        raise Problem("exact-alone")
    if options.statements is None:
        return
    if options.mode == "proc" and options.by_probes:
        raise Problem("statements-mode")
    if options.argv:
        if options.statements:
            raise Problem("statements-of-command", dsn=masked(options.statements))
    elif options.on is not None or options.live:
        raise Problem("statements-of-what")


def _check_live(options: Options) -> None:
    if not options.argv or options.on is not None:
        raise Problem("live-works-only-command")
    if options.as_json or options.quiet:
        raise Problem("live-and-quiet")


def _check_elsewhere(options: Options) -> None:
    checked_name(options.on or "")
    if options.as_json and options.argv:
        raise Problem("on-with-json")
