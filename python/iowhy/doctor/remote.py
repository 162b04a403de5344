"""A machine that ssh reaches, as the checks look at one: its files are put into a folder here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from iowhy.doctor.machine import Machine, probed
from iowhy.errors import Problem

#: All that the checks read of a machine.
FILES = (
    "/proc/version",
    "/proc/mounts",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/self/uid_map",
    "/proc/sys/kernel/osrelease",
    "/sys/kernel/btf/vmlinux",
    "/sys/kernel/security/lockdown",
    "/system/build.prop",
    "/.dockerenv",
    "/run/.containerenv",
    "/run/systemd/container",
)


class Asked(Protocol):
    """Who can be asked (iowhy.sources.ssh.Host); what it answers is said there."""

    @property
    def name(self) -> str: ...

    def probe(self, recorder: Path, files: tuple[str, ...]) -> dict[str, str]: ...


@contextmanager
def machine_there(host: Asked, recorder: Path) -> Iterator[Machine]:
    """The machine, as long as it is looked at. Its environment is that of ssh alone, and says nothing."""
    found = host.probe(recorder, FILES)
    with TemporaryDirectory(prefix="iowhy-") as folder:
        root = Path(folder)
        for path in FILES:
            if path in found:
                place = root / path.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(found[path])
        broken: str | None = None
        try:
            sensors = probed(found["probe"])
        except Problem:
            sensors, broken = (), "it says nothing of its sensors"
        user = found["user"].strip()
        yield Machine(
            root,
            {},
            int(user) if user.isdecimal() else 0,
            found["machine"],
            sensors,
            broken,
            on=host.name,
        )
