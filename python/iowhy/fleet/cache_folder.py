"""The user's own directory for what can be made again."""

import os
import stat
from pathlib import Path

from iowhy.users import is_own


def cache_folder() -> Path | None:
    """The user's own directory for what can be made again; None if there is none to trust."""
    given, home = (Path(os.environ.get(name, "")) for name in ("XDG_CACHE_HOME", "HOME"))
    folder = (given if given.is_absolute() else home / ".cache") / "iowhy"
    if not folder.is_absolute():
        return None
    # Root that runs with a user's HOME does not write there, nor believe what lies there.
    for above in (folder, *folder.parents):
        try:
            found = above.lstat()
            return folder if stat.S_ISDIR(found.st_mode) and is_own(found) else None
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:  # another's home: sudo leaves root's to who is the user again
            return None
    return None
