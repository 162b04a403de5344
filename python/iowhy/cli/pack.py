"""`iowhy pack`: a recording as one file."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.cli._boxed import opened
from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.messages import printable
from iowhy.options.described import option, switch
from iowhy.options.output import KEEP_SECRETS
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working
from iowhy.written_files import check_free

EPILOG = """Examples:

  iowhy pack fio.iowhy

  iowhy why fio.iowhy.zip

  unzip fio.iowhy.zip
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy pack` is asked."""

    recording: Path = recording_read()
    output: Path | None = option("-o", "--output", help="The file; by default REC.zip, here.")
    force: bool = switch("--force", help="A file that exists is overwritten.")
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)


def command(options: Options) -> None:
    """Make one file of a recording, to send round; every command reads it as it is."""
    from iowhy.recordings.packed import SUFFIX
    from iowhy.recordings.packer import pack
    from iowhy.units import size

    to = options.output or Path(f"{options.recording.resolve().name}{SUFFIX}")
    recording = opened(options.recording, to)
    if recording.unpacked is not None:
        raise Problem("packed-already", path=options.recording)
    check_free(to, options.force)
    with working(f"packing {options.recording}"):
        made = pack(recording, to, force=options.force, keep_secrets=options.keep_secrets)
    place = quoted(str(made.file))
    print(printable(f"{made.file}: {size(made.bytes)}; `iowhy why {place}` reads it as it is"))
    print(
        "it holds the paths, arguments and names that were recorded: share it only with people who may see them"
    )
