"""What the recorder is asked: one request, from the options of a command to the recorder's own words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

SAY = "IOWHY_SAY"
"""What the recorder of what runs already says to the user once it records: not if there is nothing to record."""


class Request(Struct, frozen=True, kw_only=True):
    """What is recorded: a command, processes, control groups, else the machine; and how.

    A field is the recorder's option of that name without the unit: `max_time_ns` is --max-time, in seconds. Of several
    values each is one of the singular (`pids`: --pid). Those of _STARTED are not words: they say how it is started.

    outlives_us: when this process is killed, the command and its recording go on; else they end.
    stdout_to_stderr: of the command. says: what the recorder says once it records.
    """

    argv: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    descendants: bool = False
    block: str | None = None
    cgroups: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    duration_ns: int | None = None
    max_time_ns: int | None = None
    max_size_bytes: int | None = None
    close_every_ns: int | None = None
    stacks: bool = False
    statements: bool = False
    statement_text: bool = False
    user: str | None = None
    mode: str = "auto"
    outlives_us: bool = False
    stdout_to_stderr: bool = False
    says: str | None = None

    @property
    def kind(self) -> str:
        """The recorder's command."""
        if self.argv:
            return "run"
        if self.pids:
            return "attach"
        return "group" if self.cgroups or self.containers or self.pods else "machine"

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the recorder."""
        return {SAY: self.says} if self.says else {}

    def words(self, out: str | Path) -> list[str]:
        """The recorder's words, for a recording in `out`."""
        given = structs.asdict(self)
        options = [
            word
            for name, value in given.items()
            if name not in _STARTED
            for word in _option(name, value)
        ]
        command = ["--", *self.argv] if self.argv else []
        return [self.kind, f"--out={out}", *options, *command]


_STARTED = ("argv", "outlives_us", "stdout_to_stderr", "says")


def _option(name: str, value: Any) -> Iterator[str]:
    if value is None or value is False:
        return
    if name.endswith("_ns"):
        value = value / 1e9
    name = name.removesuffix("_ns").removesuffix("_bytes").replace("_", "-")
    if isinstance(value, tuple):
        yield from (f"--{name.removesuffix('s')}={one}" for one in value)
    else:
        yield f"--{name}" if value is True else f"--{name}={value}"
