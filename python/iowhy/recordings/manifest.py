"""manifest.json: what was recorded, on what machine, by which sensors, and what was lost.

A manifest may come from anybody, so every value is checked for its type on the way in. Unknown
values are None; keys that this version does not know are ignored: newer recordings still open.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from iowhy.errors import Problem
from iowhy.recordings import schema
from iowhy.recordings.plain_file import read_plain
from iowhy.version import VERSION

#: A recorder knows some forty tables, and lists some hundred sensors; a paste has a part for each block of a text.
MOST_TABLES, MOST_ITEMS = 1_000, 100_000
#: The file of a recording that says what it is of.
MANIFEST = "manifest.json"
MANIFEST_MAX_BYTES = 16 * 1024 * 1024  # a manifest lists inputs, not events: more is not ours


#: A whole number of at most 64 bits, as in the tables.
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class _Version(Struct):
    schema: Any = None


class Host(Struct, frozen=True):
    """The machine that was recorded (for a paste: what the text says of it)."""

    name: str | None = None
    kernel: str | None = None
    machine: str | None = None
    cpus: Whole | None = None
    memory_bytes: Whole | None = None
    page_bytes: Whole | None = None
    os: str | None = None


class Clock(Struct, frozen=True):
    """One instant on both clocks: tables hold CLOCK_MONOTONIC, people read wall-clock time."""

    monotonic_ns: Whole | None = None
    wall_ns: Whole | None = None


class Command(Struct, frozen=True):
    """What was watched. `mode` is run, attach, block (of a program, `iowhy.recording()`), machine or paste; `groups` has the options of `iowhy run` that named
    control groups, each before its name.
    """

    mode: str = "run"
    argv: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cwd: str | None = None
    user: str | None = None
    exit_status: Whole | None = None
    signal: Whole | None = None
    start_ns: Whole | None = None
    end_ns: Whole | None = None


class Sensor(Struct, frozen=True):
    """One sensor; `why` says why it did not run."""

    name: str
    ran: bool
    why: str | None = None


class Kept(Struct, frozen=True):
    """Rows of a table: kept in its files, and lost before they got there."""

    kept: Whole = 0
    lost: Whole = 0


class Recorder(Struct, frozen=True):
    """What the recorder itself cost."""

    version: str | None = None
    cpu_ns: Whole | None = None
    memory_peak_bytes: Whole | None = None
    #: What it cost a system call that does nothing, as measured when it started; of it the way to the programs and back,
    #: the same for all calls; and how much more a call pays that asks the page cache for what it reads.
    call_ns: Whole | None = None
    call_passing_ns: Whole | None = None
    call_lookup_ns: Whole | None = None
    pid: Whole | None = None


class Input(Struct, frozen=True):
    """One part of a text that was read by `iowhy diagnose`, and the tables that it filled.

    `partial` says why it shows only a part of what happened; None where it shows the whole. `figures` are the rows of
    numbers that were read, `skipped` those that were not understood.
    """

    file: str
    tool: str
    version: str | None = None
    lines: Whole | None = None
    first_line: Whole | None = None
    units: str | None = None
    partial: str | None = None
    tables: tuple[str, ...] = ()
    figures: Whole = 0
    skipped: Whole = 0


class Manifest(Struct, frozen=True):
    """The whole manifest; `source` is live (eBPF), proc (/proc only) or diagnose (other tools)."""

    schema: Whole = schema.VERSION
    iowhy: str = VERSION
    source: str = "live"
    complete: bool = True
    host: Host = field(default_factory=Host)
    clock: Clock = field(default_factory=Clock)
    command: Command = field(default_factory=Command)
    sensors: Annotated[tuple[Sensor, ...], Meta(max_length=MOST_ITEMS)] = ()
    tables: Annotated[dict[str, Kept], Meta(max_length=MOST_TABLES)] = field(default_factory=dict)
    recorder: Recorder = field(default_factory=Recorder)
    inputs: Annotated[tuple[Input, ...], Meta(max_length=MOST_ITEMS)] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def made(
        cls,
        *,
        source: str = "live",
        mode: str = "run",
        argv: Sequence[str] = (),
        start_ns: int | None = None,
        end_ns: int | None = None,
        sensors: Sequence[Sensor | str] = (),
        host: Host | None = None,
        inputs: Sequence[Input] = (),
        notes: Sequence[str] = (),
        exit_status: int | None = None,
    ) -> "Manifest":
        """A manifest with handy defaults; a sensor given by name is one that ran."""
        if host is None:
            host = Host(cpus=os.cpu_count(), machine=os.uname().machine, page_bytes=4096)
        return cls(
            source=source,
            host=host,
            command=Command(
                mode=mode,
                argv=tuple(argv),
                start_ns=start_ns,
                end_ns=end_ns,
                exit_status=exit_status,
            ),
            sensors=tuple(Sensor(s, True) if isinstance(s, str) else s for s in sensors),
            inputs=tuple(inputs),
            notes=tuple(notes),
        )

    @property
    def elapsed_ns(self) -> int | None:
        """From the start of the command to its end, None when either is unknown."""
        start, end = self.command.start_ns, self.command.end_ns
        return None if start is None or end is None else end - start

    @property
    def of_counts(self) -> bool:
        """Whether it is of what the agent counts all the time: sums and averages of hours, no single event."""
        return any(sensor.name.startswith("agent_") for sensor in self.sensors)

    def ran(self, sensor: str) -> bool:
        """Whether the sensor ran; one that is not listed did not."""
        return any(s.name == sensor and s.ran for s in self.sensors)

    def lost(self) -> int:
        """Events lost over all tables."""
        return sum(kept.lost for kept in self.tables.values())

    def as_json(self) -> str:
        """The text of manifest.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode() + "\n"


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.json.

    Raises Problem (with the path and the key) when it is missing, too large, not JSON, of another
    schema version, or holds a value of the wrong type.
    """
    try:
        data = read_plain(path, MANIFEST_MAX_BYTES)
    except FileNotFoundError:
        raise Problem("no-manifest", path=path.parent, name=path.name) from None
    return parsed_manifest(data, path)


def parsed_manifest(data: bytes | str, path: Path) -> Manifest:
    """The text of a manifest, checked; messages name `path`. Raises Problem as `read_manifest`."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema
        if version != schema.VERSION:
            raise Problem("other-schema", path=path, version=version, read=schema.VERSION)
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.ValidationError as error:  # names the key: `$.command.argv[2]`
        raise Problem("path-error", path=path, error=error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("not-json", path=path, error=error) from None
