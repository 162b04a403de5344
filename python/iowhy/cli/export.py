"""`iowhy export`: a recording for other viewers and programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from iowhy.cli import _boxed
from iowhy.cli._ending import end_after
from iowhy.errors import Problem
from iowhy.invocation import typed
from iowhy.messages import printable, say
from iowhy.options.described import option, switch
from iowhy.options.output import KEEP_SECRETS
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working
from iowhy.written_files import check_free, opened, opened_folder

if TYPE_CHECKING:
    from iowhy.recordings import Recording


class _Form(Struct, frozen=True):
    """What a form's name ends in, and where it is looked at; `folder`: it is a file for each table."""

    suffix: str
    viewer: str
    folder: bool = False


FORMS = {
    "perfetto": _Form(
        ".pftrace",
        "open it in https://ui.perfetto.dev, which reads it in the browser and sends it nowhere",
    ),
    "chrome": _Form(
        ".trace.json", "open it in chrome://tracing, or any viewer of the Trace Event Format"
    ),
    "speedscope": _Form(
        ".speedscope.json",
        "open it in https://www.speedscope.app, or with the `speedscope` command",
    ),
    "folded": _Form(
        ".folded",
        "flamegraph.pl, inferno-flamegraph and speedscope draw it; weights are nanoseconds of all threads",
    ),
    "csv": _Form(".csv", "a file for each table; docs/recording.md has their columns", folder=True),
    "parquet": _Form(
        ".parquet", "a file for each table; docs/recording.md has their columns", folder=True
    ),
}

EPILOG = """Examples:

  iowhy export fio.iowhy

  iowhy export fio.iowhy --open

  iowhy export fio.iowhy --to folded -o - | flamegraph.pl --countname ns > fio.svg

  iowhy export fio.iowhy --to csv -o tables/

What is written has its name when it is whole: an export that breaks off leaves nothing.
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy export` is asked."""

    recording: Path = recording_read()
    to: str = option(
        "--to",
        default="perfetto",
        choices=tuple(FORMS),
        help="perfetto, chrome, speedscope, folded, csv or parquet.",
    )
    output: Path | None = option(
        "-o",
        "--output",
        help="The file, of csv and parquet the folder; by default REC with the form's suffix, here; - is stdout.",
    )
    open_: bool = switch(
        "--open",
        help="Show the trace in Perfetto's UI, which fetches it from 127.0.0.1 and sends it nowhere.",
    )
    force: bool = switch("--force", help="A file that exists is overwritten.")
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)


def command(options: Options) -> None:
    """Write a recording for other viewers and programs: a trace, stacks for a flame graph, tables."""
    form = FORMS[options.to]
    to = options.output or Path(f"{_stem(options.recording)}{form.suffix}")
    if options.open_ and (options.to != "perfetto" or str(to) == "-"):
        raise Problem("open-needs-perfetto")
    if str(to) == "-":
        _to_stdout(options)
        return
    if not form.folder:
        check_free(to, options.force)
    # A folder gets its name in the one above it; a browser is started.
    written = to.absolute().parent if form.folder else to
    recording = _opened(options, *(() if options.open_ else (written,)))
    with working(f"exporting {options.recording}"):
        if form.folder:
            with opened_folder(to, force=options.force) as folder:
                _write_tables(options.to, recording, folder)
        else:
            with opened(to, binary=True, force=options.force) as out:
                _write(options.to, recording, out)
    if options.open_:
        _open(to)
    else:
        print(printable(f"{to}: {form.viewer}"))


def _opened(options: Options, *written: Path) -> "Recording":
    """The recording; what writes one file, or none, can do nothing else."""
    from iowhy.recordings import open_recording
    from iowhy.reports.engine import what_lacks

    if written or options.output == Path("-"):
        recording = _boxed.opened(options.recording, *written)
    else:
        end_after()
        recording = open_recording(options.recording)
    for note in what_lacks(recording)[1]:
        say(note)
    return recording if options.keep_secrets else recording.without_secrets()


def _to_stdout(options: Options) -> None:
    import sys

    if FORMS[options.to].folder:
        raise Problem("export-needs-a-folder", to=options.to, recording=typed(options.recording))
    if options.to == "perfetto" and sys.stdout.isatty():
        raise Problem("perfetto-is-binary")
    recording = _opened(options)
    with working(f"exporting {options.recording}", quiet=sys.stdout.isatty()):
        _write(options.to, recording, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write(form: str, recording: "Recording", out: IO[bytes]) -> None:
    from iowhy.exports import perfetto, stacks

    if form in ("perfetto", "chrome"):
        from iowhy.whys.verdict import judge

        write = perfetto.write_perfetto if form == "perfetto" else perfetto.write_chrome
        write(recording, judge(recording).findings, out)
        return
    stacks.WRITERS[form](stacks.stacks_of(recording), recording, out)


def _write_tables(form: str, recording: "Recording", folder: Path) -> None:
    from iowhy.exports.tables import write_csv_tables, write_parquet_tables

    if form == "parquet":
        write_parquet_tables(recording, folder)
        return
    from iowhy.views.rows_file import write_csv

    write_csv_tables(recording, folder, write_csv)


def _open(trace: Path) -> None:
    """Says what it does before it does it, for a browser goes to a site."""
    import webbrowser

    from iowhy.cli._perfetto_ui import TraceServer

    with TraceServer(trace) as server:
        print(printable(f"{trace}: serving it to {server.address}"))
        print(
            f"from 127.0.0.1, port {server.port}, to the browser of this machine alone, and once; the site reads it "
            "there and sends it nowhere. Ctrl-C ends it",
            flush=True,
        )
        webbrowser.open_new_tab(server.address)
        if not server.serve():
            raise Problem("open-not-fetched", trace=trace)


def _stem(recording: Path) -> str:
    """The name of a recording without what says that it is one."""
    return recording.resolve().name.removesuffix(".zip").removesuffix(".iowhy")
