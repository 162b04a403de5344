"""How iowhy is called here: words that can be pasted into the shell that printed them."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: Where sudo looks for commands unless it is told otherwise (secure_path in Debian's and others' sudoers).
OF_SUDO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Where the program `iowhy` names the signals that its caller ignored: for us, not for commands that we run.
IGNORED_VARIABLE = "IOWHY_IGNORED"

_SHORT = {"\n": "\\n", "\t": "\\t"}


def as_root() -> str:
    """`iowhy` with root's rights: `sudo iowhy` for others than root, with its path where sudo does not find it.

    In a virtual environment it is where sudo does not look. Without sudo it is `iowhy`, for root to type.
    """
    if os.geteuid() == 0:
        return "iowhy"
    import shutil  # of use for others than root only

    if shutil.which("sudo") is None:
        return "iowhy"
    own = own_program()
    found = shutil.which("iowhy", path=OF_SUDO)
    with suppress(OSError):
        if own.exists() and (found is None or not own.samefile(found)):
            return f"sudo {quoted(str(own))}"
    return "sudo iowhy"


def by_root(command: str) -> str:
    """Another program's command with root's rights: behind `sudo` for others than root, if there is one."""
    if os.geteuid() == 0:
        return command
    import shutil

    return command if shutil.which("sudo") is None else f"sudo {command}"


def scripts() -> Path:
    """Where the programs are that were installed with this package."""
    # Of `pip install --target`, and so of an archive with its own Python.
    beside = Path(__file__).parents[1] / "bin"
    if (beside / "iowhy").exists():
        return beside.resolve()
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix, "bin")  # of a virtual environment, as sysconfig has it too
    import sysconfig  # it takes longer than all else here

    return Path(sysconfig.get_path("scripts"))


def own_program() -> Path:
    """Where the command `iowhy` of this Python is, if it was installed."""
    return scripts() / "iowhy"


def quoted(word: str) -> str:
    """A word as a shell takes it. One with control characters, which a terminal must not get raw, or with
    bytes that are no text is written as `$'a\\nb'` (POSIX.1-2024, 2.2.4; bash, zsh and ksh know it).
    """
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def joined(words: Sequence[str]) -> str:
    """A command as it is typed."""
    return " ".join(map(quoted, words))


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    # Octal, of at most three digits: what follows is never taken for a part of it.
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def typed(path: Path) -> str:
    """A path as one types it in a shell, from where one is."""
    with suppress(ValueError, OSError):
        path = path.absolute().relative_to(Path.cwd())
    return quoted(str(path))
