"""Record a command, or what runs already, into a new recording."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy.options.record import Options
from iowhy.options.recordings import check_new
from iowhy.sources import gpus, live
from iowhy.sources.descendants import name_of, with_descendants
from iowhy.sources.request import Request
from iowhy.users import invoking_user

if TYPE_CHECKING:  # only where another machine is recorded
    from iowhy.sources.ssh import Host


class Planned(Struct, frozen=True):
    """A recording to be made: what the recorder is asked, where it goes, and on which machine if not here."""

    request: Request
    out: Path
    on: "Host | None" = None
    #: How to connect to the databases among it; None: their statements are not asked for.
    statements: str | None = None
    statement_text: bool = False
    exact: bool = False


def planned(options: Options) -> Planned:
    """What the options ask, at the place that they say or under a free name here. Raises Problem where that cannot be made."""
    out = options.output or live.name_for(options.named_after, Path.cwd())
    check_new(out)
    servers = None if options.argv else options.statements
    text = options.statement_text
    return Planned(request_of(options), out, _host(options), servers, text, options.exact)


def record(plan: Planned) -> int:
    """Makes it; the exit status of what was recorded."""
    if plan.on is not None:
        return _record(plan)
    with gpus.Sampling() as sampling:
        status = _record(plan)
        rows, notes = sampling.ended()
    if rows or notes:
        from iowhy.recordings import added

        added.add(plan.out, {"gpu_samples": rows} if rows else {}, {}, notes)
    return status


def _record(plan: Planned) -> int:
    request = plan.request
    if plan.statements is None or (plan.exact and not _servers(request)):
        return live.record(request, plan.out, on=plan.on)
    from iowhy.recordings import added
    from iowhy.sources.statements import Sampling

    with Sampling(
        request.pids, plan.statements, text=plan.statement_text, exact=plan.exact
    ) as sampling:
        status = live.record(request, plan.out)
        # Which servers are in a container is known once it is recorded.
        read = sampling.ended(_recorded(plan.out) if request.kind == "group" else None)
    added.add(plan.out, read.rows, read.lost, read.notes)
    return status


def _servers(request: Request) -> bool:
    """Whether a server is among it: probes find SQLite without one."""
    from iowhy.sources.statements.server import servers

    return bool(servers(request.pids or None))


def _recorded(out: Path) -> set[int]:
    """Processes of a recording."""
    from iowhy.recordings import open_recording
    from iowhy.relations import Relations

    with Relations(open_recording(out)) as opened:
        return {int(tgid) for (tgid,) in opened.rows("SELECT DISTINCT tgid FROM threads")}


def _host(options: Options) -> "Host | None":
    if options.on is None:
        return None
    from iowhy.sources.ssh import Host

    return Host(options.on, sudo=options.sudo)


def request_of(options: Options) -> Request:
    """What the recorder is asked. Options of a request's name are its fields; the others say what follows from several."""
    shared = {
        name: getattr(options, name) for name in Request.__struct_fields__ if hasattr(options, name)
    }
    shared |= {
        "user": _user(options),
        "stacks": _takes_stacks(options),
        "statements": options.by_probes,
        "statement_text": options.by_probes and options.statement_text,
        "descendants": bool(options.pids) and not options.alone,
        "outlives_us": bool(options.argv) and options.on_death == "keep",
        "stdout_to_stderr": options.as_json,
        "says": _says(options),
    }
    return Request(**shared)


def _user(options: Options) -> str | None:
    """Whom the command runs as; there, whoever ssh makes us."""
    if not options.argv:
        return None
    invoking = invoking_user() if options.on is None else None
    return options.user or (invoking.name if invoking is not None else None)


def _takes_stacks(options: Options) -> bool:
    """Of all programs of a machine only if it is asked for, and not where /proc alone is read, which has none."""
    if options.no_stacks:
        return False
    return options.stacks or not (options.all_ or options.mode == "proc")


def _says(options: Options) -> str | None:
    """What the recorder says once it records what runs already."""
    if options.quiet or options.argv:
        return None
    what = "the machine"
    if options.pids:
        if options.on is not None:
            return None  # their names are known there
        named = list(dict.fromkeys(options.pids))
        started = 0 if options.alone else len(with_descendants(named)) - len(named)
        what = _named(named, started)
    elif options.groups:
        what = ", ".join(" ".join(one).removeprefix("--") for one in options.groups)
    until = "" if options.duration_ns is None else f" for {options.duration_ns / 1e9:g} s"
    return f"recording {what}{until}; Ctrl-C ends it"


def _named(pids: Sequence[int], more: int) -> str:
    """`process 8726 (postgres) and 6 that it has started`."""
    named = [f"{pid} ({name})" if (name := name_of(pid)) else str(pid) for pid in pids]
    whom = "they have" if len(named) > 1 else "it has"
    return f"process {', '.join(named)}" + (f" and {more} that {whom} started" if more else "")
