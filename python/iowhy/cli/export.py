"""`iowhy export`: a recording for other viewers."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from iowhy.cli._files import opened
from iowhy.errors import Problem
from iowhy.messages import printable
from iowhy.options.described import option, switch
from iowhy.options.output import check_free
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working

if TYPE_CHECKING:
    from iowhy.recording import Recording

#: Suffixes of files, by form.
FORMS = {"perfetto": ".pftrace", "speedscope": ".speedscope.json", "folded": ".folded"}
#: Where a form is looked at.
VIEWERS = {
    "perfetto": "open it in https://ui.perfetto.dev, which reads it in the browser and sends it nowhere",
    "speedscope": "open it in https://www.speedscope.app, or with the `speedscope` command",
    "folded": "flamegraph.pl, inferno-flamegraph and speedscope draw it; weights are nanoseconds of all threads",
}

EPILOG = """Examples:

  iowhy export fio.iowhy

  iowhy export fio.iowhy --to folded -o - | flamegraph.pl --countname ns > fio.svg

  iowhy export fio.iowhy --to speedscope
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy export` is asked."""

    recording: Path = recording_read()
    to: str = option(
        "--to", default="perfetto", choices=tuple(FORMS), help="perfetto, speedscope or folded."
    )
    output: Path | None = option(
        "-o", "--output", help="The file; by itself REC with the form's suffix, here; - is stdout."
    )
    force: bool = switch("--force", help="A file that exists is overwritten.")


def command(options: Options) -> None:
    """Write a recording for another viewer: a Perfetto trace, or stacks for a flame graph."""
    from iowhy.recording import open_recording

    to = options.output or Path(f"{_stem(options.recording)}{FORMS[options.to]}")
    if str(to) == "-":
        _to_stdout(options)
        return
    check_free(to, options.force)
    recording = open_recording(options.recording)
    with (
        working(f"exporting {options.recording}"),
        opened(to, binary=True, force=options.force) as out,
    ):
        _write(options.to, recording, out)
    print(printable(f"{to}: {VIEWERS[options.to]}"))


def _to_stdout(options: Options) -> None:
    import sys

    from iowhy.recording import open_recording

    if options.to == "perfetto" and sys.stdout.isatty():
        raise Problem("--to perfetto is binary: give -o FILE, or redirect stdout")
    recording = open_recording(options.recording)
    with working(f"exporting {options.recording}", quiet=sys.stdout.isatty()):
        _write(options.to, recording, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _write(form: str, recording: "Recording", out: IO[bytes]) -> None:
    if form == "perfetto":
        from iowhy.exports.perfetto import write_perfetto
        from iowhy.whys.verdict import judge

        write_perfetto(recording, judge(recording).findings, out)
        return
    from iowhy.exports import stacks

    (stacks.write_folded if form == "folded" else stacks.write_speedscope)(recording, out)


def _stem(recording: Path) -> str:
    """The name of a recording without what says that it is one."""
    return recording.resolve().name.removesuffix(".zip").removesuffix(".iowhy")
