"""Options about recordings: which one is read, where a new one is kept."""

from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.hung_filesystem import must_answer
from iowhy.options.described import needed, option

RECORDING = "A recording: NAME.iowhy, or what `iowhy pack` made of one."


def recording_read() -> Any:
    """The recording that a command reads."""
    return needed(RECORDING, metavar="REC")


def recording_kept() -> Any:
    """Where a new recording is kept; by default under a free name here."""
    return option("-o", "--output", help="Where to keep the recording.")


def check_new(path: Path) -> None:
    """Raises Problem where no new recording can be made at `path`: recordings are never overwritten."""
    must_answer(path.absolute().parent, made_in=True)
    for top in ("/proc", "/sys"):
        if path.absolute().is_relative_to(top):
            raise Problem("no-recording-in", path=path, top=top, name=path.name)
    if path.exists() or path.is_symlink():
        raise Problem("recording-exists", path=path)
    # A folder that is not there is a slip of the hand more often than a wish.
    if not path.absolute().parent.is_dir():
        raise Problem("no-folder", path=path, parent=path.parent)
