"""`iowhy device-model`: measures a device for predictions."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.options.described import needed, option, switch

EPILOG = """Examples:

  sudo iowhy device-model /var/lib/postgresql -o disk.toml

  iowhy what-if --device disk.toml postgres.iowhy
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy device-model` is asked."""

    place: Path = needed(
        "A folder on the device, or the device itself if it is mounted.", metavar="DIR|DEV"
    )
    output: Path | None = option("-o", "--output", help="Write the model to this file.")
    force: bool = switch("--force", help="With -o: a file that exists is overwritten.")


def command(options: Options) -> None:
    """Measure what a device takes for reads, writes and flushes, for `iowhy what-if --device`.

    It takes less than a minute, reads anywhere on the device (as root; otherwise from the file), and writes only into
    a file without a name, which is gone with the command, however that ends.
    """
    from iowhy.model.device_timing import as_toml, measured
    from iowhy.views.progress import working
    from iowhy.written_files import check_free, put

    if options.output is not None:
        check_free(options.output, options.force)
    with working(f"measuring {options.place}"):
        text = as_toml(measured(options.place))
    if options.output is None:
        print(text, end="")
        return
    put(options.output, text, force=options.force)
