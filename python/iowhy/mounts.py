"""What is mounted in this mount namespace."""

import re
from pathlib import Path

from msgspec import Struct


class Mount(Struct, frozen=True):
    """One line of /proc/self/mountinfo (proc_pid_mountinfo(5)); `device` is its filesystem's number as text: 253:1."""

    device: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]


def mounts() -> list[Mount]:
    """All of them, oldest first."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [_mount(line) for line in lines]


def _mount(line: str) -> Mount:
    left, _, right = line.partition(" - ")
    fields, rest = left.split(" "), right.split(" ")
    point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
    options = tuple(fields[5].split(",") + rest[2].split(","))
    return Mount(fields[2], point, rest[0], rest[1], options)


def mount_points() -> list[str]:
    """Where they are mounted, oldest first."""
    return [one.point for one in mounts()]
