"""Whose work it is: the user behind sudo, and doing something as them and not as root."""

import os
import pwd
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from msgspec import Struct


def is_own(found: os.stat_result) -> bool:
    """Whether a file or directory is this process's user's, and nobody else writes to it."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return found.st_uid == os.geteuid() and not found.st_mode & others


class User(Struct, frozen=True):
    """An account of this machine, with the groups that it is in."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str

    @property
    def environment(self) -> dict[str, str]:
        """What a login sets for it (environ(7))."""
        return {"USER": self.name, "LOGNAME": self.name, "HOME": self.home, "SHELL": self.shell}

    def become(self) -> None:
        """This process is theirs from now on, for good (setresuid(2))."""
        os.setgroups(self.groups)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Files are opened and made with their rights for a while; root's come back after it."""
        with acting_as(self.uid, self.gid, self.groups):
            yield


@contextmanager
def acting_as(uid: int, gid: int, groups: Sequence[int] = ()) -> Iterator[None]:
    """Root's files are opened and made with another's rights for a while."""
    before = os.getgroups()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


@contextmanager
def inside_as_owner(folder: Path) -> Iterator[Path]:
    """A way into a directory that nobody can lead elsewhere, with the rights of whom it belongs to, and not root's.

    Whoever owns it may put links and other directories into it, or into its place, while root writes there.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        owner = os.fstat(handle)
        whose = acting_as(owner.st_uid, owner.st_gid) if os.geteuid() == 0 else nullcontext()
        with whose:
            yield Path(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def is_everything(directory: Path) -> bool:
    """Whether a directory is the root or somebody's home: too much to copy, or to drop from the cache."""
    user = invoking_user()
    homes = {Path.home(), Path("/root"), Path("/home")} | ({Path(user.home)} if user else set())
    return directory in homes | {Path("/")} or directory.parent == Path("/home")


def invoking_user() -> User | None:
    """The user behind sudo: the command runs as them, not as root. None without sudo, and for root itself."""
    name = os.environ.get("SUDO_USER")
    if not name or name == "root" or os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return User(
        entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell or "/bin/sh"
    )


def leave_root() -> None:
    """The rest of this process is the invoking user's, who alone needs to read what was made for them.

    Root stays where that user cannot read this program itself (a virtual environment in root's home), as
    Python reads more of it when it is needed.
    """
    user = invoking_user()
    if user is None:
        return
    with user.acting():
        readable = all(
            os.access(place, os.R_OK | os.X_OK, effective_ids=True)
            for place in (Path(__file__).parent, Path(os.__file__).parent, sys.prefix)
        )
    if readable:
        user.become()
        os.environ.update(user.environment)
