"""Control groups for the command under test, version 2 or 1, whichever has the controller."""

import contextlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.undo import Undo

ROOT = Path("/sys/fs/cgroup")


class Hierarchy(Struct, frozen=True):
    """Where groups with one controller are made: its version and the parent of new groups."""

    version: int
    parent: Path


class Group(Struct, frozen=True):
    """A group of ours for the command; ``written`` are the knobs that were set, as read back."""

    version: int
    path: Path
    written: dict[str, str | None] = field(default_factory=dict)

    def write(self, knob: str, value: str) -> None:
        """Sets a knob. Raises Problem that names it."""
        try:
            (self.path / knob).write_text(value)
        except OSError as error:
            raise Problem(
                "knob-refused", path=self.path / knob, value=value, error=error.strerror
            ) from None
        self.written[knob] = self.read(knob)

    def read(self, knob: str) -> str | None:
        """A knob's content, None where it does not exist."""
        try:
            return (self.path / knob).read_text()
        except OSError:
            return None

    def held(self) -> dict[str, float]:
        """Nothing; raises Problem when a knob is no longer as it was set: the trial ran without it.

        Whoever takes a controller from the group's parent takes its knobs along (a second experiment
        that ends, a service manager).
        """
        for knob, value in self.written.items():
            if self.read(knob) != value:
                raise Problem("setting-changed-by-another", path=self.path / knob)
        return {}

    @property
    def procs(self) -> Path:
        """The file that takes the pids of its members."""
        return self.path / "cgroup.procs"


def find(controller: str, root: Path | None = None, own: str | None = None) -> Hierarchy | str:
    """Where groups with ``controller`` can be made, or why nowhere.

    ``own`` is the text of /proc/self/cgroup.
    """
    root = ROOT if root is None else root
    own = _own_groups() if own is None else own
    unified = _unified(root)
    if unified is not None and controller in _words(unified / "cgroup.controllers"):
        return _find_v2(controller, unified, own)
    # A v1 mount may hold several controllers under a joined name with links to it.
    old = root / {"io": "blkio"}.get(controller, controller)
    if (old / "cgroup.procs").exists():
        parent = old / _own_path(own, old.name)
        parent = parent if parent.is_dir() else old
        if not os.access(parent, os.W_OK):
            return f"may not make control groups in {parent} (needs root)"
        return Hierarchy(1, parent)
    return f"no control-group controller `{controller}` here"


def find_top(controller: str, root: Path | None = None) -> Hierarchy | str:
    """The top of the hierarchy with a controller, as far as we see it, or why no group can be made there."""
    root = ROOT if root is None else root
    unified = _unified(root)
    if unified is not None and controller in _words(unified / "cgroup.controllers"):
        found = Hierarchy(2, unified)
    else:
        found = Hierarchy(1, root / {"io": "blkio"}.get(controller, controller))
        if not (found.parent / "cgroup.procs").exists():
            return f"no control-group controller `{controller}` here"
    if not os.access(found.parent, os.W_OK):
        return f"may not make control groups in {found.parent} (needs root)"
    return found


def make_at_top(controller: str, purpose: str, undo: Undo, root: Path | None = None) -> Group:
    """Makes a group at the top of a controller's hierarchy, with no limit of ours. Raises Problem with the reason."""
    place = find_top(controller, root)
    if isinstance(place, str):
        raise Problem("no-control-group", why=place)
    return _made(place, purpose, undo)


def around(
    controller: str, knobs: Sequence[str], root: Path | None = None, *, top: bool = True
) -> list[str]:
    """What these knobs of our own group and of all groups around it hold; `top`: that of the hierarchy, too."""
    place = find_top(controller, root)
    if isinstance(place, str):
        return []
    name = "" if place.version == 2 else place.parent.name
    own = place.parent / _own_path(_own_groups(), name)
    groups = [one for one in (own, *own.parents) if place.parent in (one, *one.parents)]
    groups = groups if top else [one for one in groups if one != place.parent]
    found = []
    for group in groups:
        for knob in knobs:
            with contextlib.suppress(OSError):
                found.append((group / knob).read_text())
    return found


def no_limit(of: str) -> str:
    """Why a lever that takes a limit away cannot act: none is around, `of` what it would be."""
    return (
        f"no control group around this shell limits {of}: run it where the limit holds "
        "(a command that enters a limited group itself cannot be taken out of it)"
    )


def _unified(root: Path) -> Path | None:
    """Where version 2 is mounted."""
    return next((p for p in (root, root / "unified") if (p / "cgroup.controllers").exists()), None)


def _find_v2(controller: str, unified: Path, own: str) -> Hierarchy | str:
    """The nearest group around us that can hold one of ours, so that limits around us keep holding."""
    nearest = unified / _own_path(own, "")
    if not nearest.is_dir() or unified not in (nearest, *nearest.parents):
        nearest = unified
    reasons = []
    for place in (nearest, *nearest.parents):
        why = _refusal_v2(controller, place)
        if why is None:
            return Hierarchy(2, place)
        reasons.append(why)
        if place == unified:
            break
    return reasons[-1] if len(set(reasons)) == 1 else "; ".join(dict.fromkeys(reasons))


def _refusal_v2(controller: str, place: Path) -> str | None:
    """Why no group with the controller can be made in ``place`` (Documentation/admin-guide/cgroup-v2.rst)."""
    if controller not in _words(place / "cgroup.controllers"):
        return f"{place} has no controller `{controller}`: it is not handed down to it"
    # The root of the hierarchy alone has no type, and may hold processes beside groups.
    kind = " ".join(_words(place / "cgroup.type")) or "root"
    if kind not in ("root", "domain"):
        return f"{place} is `{kind}`: their own processes cannot be limited below it"
    control = place / "cgroup.subtree_control"
    needed = [place, place / "cgroup.procs"]
    if controller not in _words(control):
        needed.append(control)
        if kind == "domain" and _words(place / "cgroup.procs"):
            return f"{place} holds processes itself, so it cannot hand `{controller}` down"
    if not all(os.access(path, os.W_OK) for path in needed):
        return f"may not make control groups in {place} (needs root, or one that is delegated)"
    return None


def make(
    controller: str, purpose: str, undo: Undo, root: Path | None = None, own: str | None = None
) -> Group:
    """Makes a group with ``controller``; the undo removes it. Raises Problem with the reason."""
    place = find(controller, root, own)
    if isinstance(place, str):
        raise Problem("no-control-group", why=place)
    if place.version == 2:
        control = place.parent / "cgroup.subtree_control"
        if controller not in _words(control):
            undo.write_file(control, old=f"-{controller}")
            try:
                control.write_text(f"+{controller}")
            except OSError as error:
                raise Problem(
                    "controller-refused",
                    path=control,
                    controller=controller,
                    error=error.strerror,
                ) from None
    return _made(place, purpose, undo)


def _made(place: Hierarchy, purpose: str, undo: Undo) -> Group:
    # Groups may be made inside each other's sessions (an experiment on a lab's stage): never twice
    # the same name, or undoing the one would take away the other.
    path = place.parent / f"iowhy-{os.getpid()}-{purpose}-{secrets.token_hex(3)}"
    undo.rmdir_cgroup(path)
    try:
        path.mkdir()
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror) from None
    return Group(place.version, path)


def _words(path: Path) -> list[str]:
    """The words of a file, none where it cannot be read."""
    try:
        return path.read_text().split()
    except OSError:
        return []


def _own_groups() -> str:
    try:
        return Path("/proc/self/cgroup").read_text()
    except OSError:
        return ""


def _own_path(own: str, controller: str) -> str:
    """Path of our own group in the hierarchy of a controller, "" for version 2 (cgroups(7))."""
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            # Above the root of our namespace: there is no way to it.
            return "" if path.startswith("/..") else path.lstrip("/")
    return ""
