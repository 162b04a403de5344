"""`iowhy check`: is a recording whole and true to the schema?"""

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict

from iowhy.cli._boxed import opened
from iowhy.cli._statuses import NO
from iowhy.messages import json_text
from iowhy.options.described import switch
from iowhy.options.recordings import recording_read
from iowhy.views.progress import working

EPILOG = """Examples:

  iowhy check fio.iowhy
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `iowhy check` is asked."""

    recording: Path = recording_read()
    as_json: bool = switch("--json", help="Print the checks as JSON.")


def command(options: Options) -> None:
    """Look at every file of a recording; exit status 1 when something is wrong."""
    from iowhy.recordings.check import check_recording
    from iowhy.views import checks

    recording = opened(options.recording)
    with working(f"checking {options.recording}"):
        found = check_recording(recording)
    good = all(check.ok for check in found)
    if options.as_json:
        print(json_text({"version": 1, "ok": good, "checks": [asdict(c) for c in found]}))
    else:
        checks.show(options.recording, found)
    if not good:
        raise SystemExit(NO)
