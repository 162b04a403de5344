"""Record a command, or what runs already, into a new recording."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.options.record import Options
from iowhy.options.recordings import check_new
from iowhy.sources import live
from iowhy.sources.descendants import name_of, with_descendants
from iowhy.users import invoking_user

if TYPE_CHECKING:  # only where another machine is recorded
    from iowhy.sources.ssh import Host


def place_of(options: Options) -> Path:
    """Where the recording goes: as asked, else a free name here. Raises Problem where it cannot be made."""
    out = options.output or live.name_for(options.named_after, Path.cwd())
    check_new(out)
    return out


def record(options: Options, out: Path) -> int:
    """Records what the options ask into `out`; the exit status of what was recorded."""
    on = None if options.on is None else _host(options.on, sudo=options.sudo)
    if options.argv:
        return live.record(
            options.argv,
            out,
            user=options.user if on else _user(options),
            mode=options.mode,
            stdout_to_stderr=options.as_json,
            outlives_us=options.on_death == "keep",
            extra=_bounds(options),
            on=on,
        )
    duration_s = None if options.duration_ns is None else options.duration_ns / 1e9
    if options.pids:
        return _attach(options, out, duration_s, on)
    groups = options.groups
    if groups:
        says = _what(options, ", ".join(" ".join(one).removeprefix("--") for one in groups))
        return live.groups(
            groups, out, duration_s=duration_s, extra=_how(options), on=on, says=says
        )
    says = _what(options, "the machine")
    return live.machine(out, duration_s=duration_s, extra=_how(options), on=on, says=says)


def _host(name: str, *, sudo: bool) -> "Host":
    from iowhy.sources.ssh import Host

    return Host(name, sudo=sudo)


def live_words(options: Options) -> list[str]:
    """The recorder's words for a command that is watched while it runs."""
    user = _user(options)
    words = ["run", *_how(options), *(["--user", user] if user is not None else [])]
    return [*words, "--", *options.argv]


def _user(options: Options) -> str | None:
    invoking = invoking_user()
    return options.user or (invoking.name if invoking is not None else None)


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
