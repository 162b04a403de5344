"""`iowhy what-if`: what would make a recorded run faster, and by how much."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.cli._boxed import enter
from iowhy.options.described import needed, option, switch

EPILOG = """Examples:

  iowhy what-if sqlite3.iowhy

  iowhy what-if --device nvme-plp --device disk.toml sqlite3.iowhy

  iowhy what-if --device nvme hosts/*.iowhy

  iowhy what-if --json sqlite3.iowhy | jq '.predictions[0]'
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy what-if` is asked."""

    recordings: tuple[Path, ...] = needed(
        "Recordings: folders NAME.iowhy, or .iowhy.zip. Of several, a line each.", metavar="REC..."
    )
    devices: tuple[str, ...] = option(
        "--device",
        metavar="NAME|FILE",
        default=(),
        help="This device instead of the usual ones: disk, network, gp3, sata, nvme, nvme-plp, or a file that `iowhy device-model` wrote.",
    )
    as_json: bool = switch("--json", help="Print the predictions as JSON.")


def command(options: Options) -> None:
    """Predict what changes would make of a run: other devices, memory, syncs, CPUs."""
    from iowhy.commands.what_if import what_if
    from iowhy.recordings import open_recording
    from iowhy.views import what_if_page
    from iowhy.views.progress import working

    enter(options.recordings)
    if len(options.recordings) > 1:
        many = {}
        for path in options.recordings:
            with working(f"what would help {path}"):
                many[str(path)] = what_if(open_recording(path), options.devices)
        what_if_page.print_many(many, as_json=options.as_json)
        return
    recording = open_recording(options.recordings[0])
    with working(f"what would help {options.recordings[0]}"):
        found = what_if(recording, options.devices)
    what_if_page.print_what_if(found, as_json=options.as_json)
