"""`iowhy top`: a recording on a whole terminal, while it grows or when it is finished."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.invocation import typed
from iowhy.messages import say
from iowhy.options.control_groups import cgroups_given, containers_given, groups_of, pods_given
from iowhy.options.described import option, switch, word
from iowhy.options.process_ids import pids_given
from iowhy.options.recordings import check_new, recording_kept
from iowhy.quantities import positive_duration_ns, positive_size_bytes

EPILOG = """Examples:

  iowhy top fio.iowhy

  sudo iowhy top -a

  sudo iowhy top -p 4711

  sudo iowhy top --pod prod/db-0

  sudo iowhy run --live -- make -j2

Press ? for the keys. A recording of a recorder that still runs is followed, and goes on when the terminal is closed; what it began itself ends with it.
"""

#: A view that is forgotten fills no disk.
MOST_BYTES = 2 << 30


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is looked at."""

    recording: Path | None = word("A recording, growing or finished.", metavar="REC")
    pids: tuple[int, ...] = pids_given("Record running processes, with those that they started.")
    all_: bool = switch("-a", "--all", help="Record the whole machine.")
    cgroups: tuple[str, ...] = cgroups_given(
        "Record what runs in a control group, and what comes into it."
    )
    containers: tuple[str, ...] = containers_given()
    pods: tuple[str, ...] = pods_given()
    statements: bool = switch(
        "--statements",
        help="With -p and -a: statements of PostgreSQL and SQLite, too, by probes in their programs.",
    )
    output: Path | None = recording_kept()
    duration_ns: int | None = option(
        "--duration",
        metavar="TIME",
        read=positive_duration_ns,
        help="Without REC: how long.",
    )
    max_size_bytes: int = option(
        "--max-size",
        metavar="SIZE",
        default=MOST_BYTES,
        read=positive_size_bytes,
        help="Without REC: end the recording when it is this large; by default 2GiB.",
    )


def command(options: Options) -> None:
    """Look at a recording as it grows: who waits for what, files, devices, findings so far."""
    from iowhy.cli._boxed import enter
    from iowhy.cli._watched import must_be_terminal, show

    groups = groups_of(options)
    if sum([options.recording is not None, bool(options.pids), options.all_, bool(groups)]) != 1:
        raise Problem("top-of-what")
    if options.statements and not (options.pids or options.all_):
        raise Problem("top-statements")
    must_be_terminal("iowhy top")
    if options.recording is None:
        _record(options)
        return
    enter([options.recording], bounded=False)  # somebody looks at it, maybe for days
    from iowhy.recordings.packed import is_packed
    from iowhy.sources.printed import printed_beside

    if not options.recording.exists():
        raise Problem("no-such-recording", path=options.recording)
    if not is_packed(options.recording) and not _may_become(options.recording):
        from iowhy.recordings import open_recording

        open_recording(options.recording)  # raises
    printed = printed_beside(options.recording.absolute())
    show(options.recording, printed if printed.is_file() else None)


def _may_become(folder: Path) -> bool:
    """Whether a folder is a recording, or one that a recorder has only just made: a file is none, nor a folder of other things."""
    try:
        if (folder / "manifest.json").exists():
            return True
        # What is being written has another name until it is whole.
        return folder.is_dir() and all(one.name.endswith(".tmp") for one in folder.iterdir())
    except OSError:
        return False


def _record(options: Options) -> None:
    from iowhy.cli._watched import say_how_to_come_back, watch
    from iowhy.sources import live
    from iowhy.sources.descendants import name_of
    from iowhy.sources.request import Request

    # The recorder says so as well, but only when there is a recording that the view has begun to show.
    for pid in options.pids:
        if name_of(pid) is None:
            raise Problem("no-such-process", pid=pid)
    named = [name.rstrip("/") for _, name in groups_of(options)[:1]]
    if options.pids:
        named = [f"pid-{options.pids[0]}"]
    out = options.output or live.name_for(named, Path.cwd())
    check_new(out)
    request = Request(
        pids=tuple(options.pids),
        descendants=bool(options.pids),
        cgroups=options.cgroups,
        containers=options.containers,
        pods=options.pods,
        max_size_bytes=options.max_size_bytes,
        duration_ns=options.duration_ns,
        statements=options.statements,
    )
    began, goes_on = watch(request, out)
    if goes_on and began.status() is None:
        began.leave()
        say_how_to_come_back(out)
        return
    began.end()
    began.wait()
    if said := began.words():
        say(said)
    say(f"kept in {typed(out)}; `iowhy why {typed(out)}` says more")
