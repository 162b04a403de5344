"""`iowhy why`: the verdict of a recording made before."""

from pathlib import Path
from typing import Annotated

import typer

from iowhy.recording import open_recording
from iowhy.views import show

EPILOG = """Examples:

  iowhy why fio.iowhy

  iowhy why fio.iowhy --json | jq '.findings[0]'
"""


def command(
    recording: Annotated[Path, typer.Argument(help="A recording, NAME.iowhy.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Every finding, not only three.")] = False,
) -> None:
    """Say where the time of a recording went and why."""
    show.verdict(open_recording(recording), as_json=as_json, every=all_)
