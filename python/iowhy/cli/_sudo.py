"""`--sudo`: iowhy starts itself again as root."""

import os
import signal
import sys
from collections.abc import Sequence

from iowhy.errors import Problem
from iowhy.invocation import IGNORED_VARIABLE, OF_SUDO, own_program

#: What Python ignores by itself (signal(7)).
_HIDDEN = (signal.SIGPIPE, signal.SIGXFSZ)


def rerun_as_root(argv: Sequence[str]) -> None:
    """Takes the place of this process with the same through sudo; returns if it is root already.

    sudo asks for the password itself, and the command `argv` runs as the user again. Its program is named with its
    path where sudo would not find it: sudo has its own search path. Raises Problem if there is no sudo.
    """
    if os.geteuid() == 0:
        return
    import shutil  # of use for others than root only

    sudo, own = shutil.which("sudo"), own_program()
    if sudo is None:
        raise Problem("sudo-missing")
    if not own.exists():
        raise Problem("sudo-program-missing", own=own)
    words = sys.argv[1:]
    if argv:
        words[-len(argv)] = _found(argv[0])
    sys.stdout.flush()
    ignored = os.environ.get(IGNORED_VARIABLE, "").split(",")
    for number in _HIDDEN:
        if str(int(number)) not in ignored:
            signal.signal(number, signal.SIG_DFL)
    os.execv(sudo, [sudo, "--", str(own), *words])


def _found(name: str) -> str:
    import shutil

    here = shutil.which(name)
    if here is None or os.sep in name or here == shutil.which(name, path=OF_SUDO):
        return name
    return here
