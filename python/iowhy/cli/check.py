"""`iowhy check`: is a recording whole and true to the schema?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from iowhy.recording import open_recording
from iowhy.recording.check import check_recording

EPILOG = """Examples:

  iowhy check fio.iowhy
"""


def command(
    recording: Annotated[Path, typer.Argument(help="A recording, NAME.iowhy.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Look at every file of a recording; exit status 1 when something is wrong."""
    checks = check_recording(open_recording(recording))
    good = all(check.ok for check in checks)
    if as_json:
        print(json.dumps({"version": 1, "ok": good, "checks": [asdict(c) for c in checks]}))
    else:
        for check in checks:
            print(f"{'ok ' if check.ok else 'BAD'}  {check.subject:<20} {check.found}")
        print(f"{recording}: {'good' if good else 'damaged'}")
    raise typer.Exit(0 if good else 1)
