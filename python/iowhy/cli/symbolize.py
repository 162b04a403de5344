"""`iowhy symbolize`: names for a recording's user stacks."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.messages import printable
from iowhy.options.described import option
from iowhy.options.recordings import recording_read
from iowhy.quantities import positive_duration_ns
from iowhy.views.progress import working

#: Files without names that are listed.
_LISTED = 5

EPILOG = """Examples:

  iowhy symbolize postgres.iowhy

  DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find debuginfo BUILD_ID
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy symbolize` is asked."""

    recording: Path = recording_read()
    time_ns: int = option(
        "--time",
        default=600_000_000_000,
        read=positive_duration_ns,
        metavar="TIME",
        help="Names are looked for at most this long: 30s, 5m; by default 10m.",
    )


def command(options: Options) -> None:
    """Name the functions of a recording's user stacks by build id, from debug files that are here now."""
    from iowhy.recordings import open_recording
    from iowhy.sources.later_names import symbolize

    recording = open_recording(options.recording)
    with working(f"naming {options.recording}"):
        found = symbolize(recording, options.time_ns / 1e9)
    more = found.named - found.named_before
    print(f"{found.named:,} of {found.addresses:,} addresses have a name, {more:,} of them now")
    for path, build_id in found.without[:_LISTED]:
        known = f"build id {build_id}" if build_id else "without a build id"
        print(printable(f"no names in {path} ({known})"))
    for path in found.too_large[:_LISTED]:
        print(
            printable(f"names or lines of {path} are missing: to read them takes too much memory")
        )
    if found.without:
        print(
            "names come from debug packages, or from debuginfod-find debuginfo BUILD_ID, also on another machine"
        )
