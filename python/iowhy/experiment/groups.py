"""Control groups for the command under test, version 2 or 1, whichever has the controller."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.undo import Undo

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Hierarchy:
    """Where groups with one controller are made: its version and the parent of new groups."""

    version: int
    parent: Path


@dataclass(frozen=True)
class Group:
    """A group of ours for the command."""

    version: int
    path: Path

    def write(self, knob: str, value: str) -> None:
        """Sets a knob. Raises Problem that names it."""
        try:
            (self.path / knob).write_text(value)
        except OSError as error:
            raise Problem(f"{self.path / knob}: {value!r}: {error.strerror}") from None

    def read(self, knob: str) -> str | None:
        """A knob's content, None where it does not exist."""
        try:
            return (self.path / knob).read_text()
        except OSError:
            return None

    @property
    def procs(self) -> Path:
        """The file that takes the pids of its members."""
        return self.path / "cgroup.procs"


def find(controller: str, root: Path = ROOT) -> Hierarchy | str:
    """Where groups with ``controller`` can be made, or why nowhere."""
    unified = next(
        (p for p in (root, root / "unified") if (p / "cgroup.controllers").exists()), None
    )
    if unified is not None and controller in (unified / "cgroup.controllers").read_text().split():
        if not os.access(unified / "cgroup.procs", os.W_OK):
            return f"may not make control groups in {unified} (needs root)"
        return Hierarchy(2, unified)
    # A v1 mount may hold several controllers under a joined name with links to it.
    old = root / {"io": "blkio"}.get(controller, controller)
    if (old / "cgroup.procs").exists():
        parent = old / _own_v1(old.name)
        parent = parent if parent.is_dir() else old
        if not os.access(parent, os.W_OK):
            return f"may not make control groups in {parent} (needs root)"
        return Hierarchy(1, parent)
    return f"no control-group controller `{controller}` here"


def make(controller: str, purpose: str, undo: Undo, root: Path = ROOT) -> Group:
    """Makes a group with ``controller``; it goes with the undo. Raises Problem with the reason."""
    place = find(controller, root)
    if isinstance(place, str):
        raise Problem(place)
    if place.version == 2:
        control = place.parent / "cgroup.subtree_control"
        if controller not in control.read_text().split():
            undo.write_file(control, old=f"-{controller}")
            try:
                control.write_text(f"+{controller}")
            except OSError as error:
                raise Problem(f"{control}: +{controller}: {error.strerror}") from None
    # Groups may be made inside each other's sessions (an experiment on a lab's stage): never twice
    # the same name, or undoing the one would take away the other.
    path = place.parent / f"iowhy-{os.getpid()}-{purpose}-{secrets.token_hex(3)}"
    undo.rmdir_cgroup(path)
    try:
        path.mkdir()
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    return Group(place.version, path)


def _own_v1(controller: str) -> str:
    """Path of our own group in a v1 hierarchy, so that limits around us keep holding (cgroups(7))."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path.lstrip("/")
    return ""
