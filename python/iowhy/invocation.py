"""How iowhy is called here: words that can be pasted into the shell that printed them."""

import os
import shlex
import shutil
import sysconfig
from contextlib import suppress
from pathlib import Path

#: Where sudo looks for commands unless it is told otherwise (secure_path in Debian's and others' sudoers).
_OF_SUDO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def as_root() -> str:
    """`iowhy` with root's rights: `sudo iowhy` for others than root, with its path where sudo does not find it.

    In a virtual environment it lies where sudo does not look. Without sudo it is `iowhy`, for root to type.
    """
    if os.geteuid() == 0 or shutil.which("sudo") is None:
        return "iowhy"
    own = Path(sysconfig.get_path("scripts")) / "iowhy"
    found = shutil.which("iowhy", path=_OF_SUDO)
    with suppress(OSError):
        if own.exists() and (found is None or not own.samefile(found)):
            return f"sudo {shlex.quote(str(own))}"
    return "sudo iowhy"


def typed(path: Path) -> str:
    """A path as one types it in a shell, from where one stands."""
    with suppress(ValueError, OSError):
        path = path.absolute().relative_to(Path.cwd())
    return shlex.quote(str(path))
