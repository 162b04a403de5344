"""manifest.json: what was recorded, on what machine, by which sensors, and what was lost.

A manifest may come from anybody, so every value is checked for its type on the way in. Unknown
values are None; keys that this version does not know are ignored: newer recordings still open.
"""

import json
import os
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, field, fields, is_dataclass
from functools import cache
from pathlib import Path

from iowhy import __version__
from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording import schema
from iowhy.recording.plain_file import read_plain

#: A recorder knows some forty tables, and lists some hundred sensors; a paste has a part for each block of a text.
MOST_TABLES, MOST_ITEMS = 1_000, 100_000
#: The file of a recording that says what it is of.
MANIFEST = "manifest.json"
MANIFEST_MAX_BYTES = 16 * 1024 * 1024  # a manifest lists inputs, not events: more is not ours


@dataclass(frozen=True)
class Host:
    """The machine that was recorded (for a paste: what the text told of it)."""

    name: str | None = None
    kernel: str | None = None
    machine: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    page_bytes: int | None = None
    os: str | None = None


@dataclass(frozen=True)
class Clock:
    """One instant on both clocks: tables hold CLOCK_MONOTONIC, people read wall-clock time."""

    monotonic_ns: int | None = None
    wall_ns: int | None = None


@dataclass(frozen=True)
class Command:
    """What was watched. `mode` is run, attach, block (of a program, `iowhy.recording()`), machine or paste; `groups` has the options of `iowhy run` that named
    control groups, each before its name.
    """

    mode: str = "run"
    argv: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cwd: str | None = None
    user: str | None = None
    exit_status: int | None = None
    signal: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(frozen=True)
class Sensor:
    """One sensor; `why` says why it did not run."""

    name: str
    ran: bool
    why: str | None = None


@dataclass(frozen=True)
class Kept:
    """Rows of a table: kept in its files, and lost before they got there."""

    kept: int = 0
    lost: int = 0


@dataclass(frozen=True)
class Recorder:
    """What the recorder itself cost."""

    version: str | None = None
    cpu_ns: int | None = None
    memory_peak_bytes: int | None = None
    #: What it cost a system call that does nothing, as measured when it started; of it the way to the programs and back,
    #: the same for all calls; and how much more a call pays that asks the page cache for what it reads.
    call_ns: int | None = None
    call_passing_ns: int | None = None
    call_lookup_ns: int | None = None
    pid: int | None = None


@dataclass(frozen=True)
class Input:
    """One part of a text that was read by `iowhy diagnose`, and the tables that it filled.

    `partial` says why it shows only a part of what happened; None where it shows the whole.
    """

    file: str
    tool: str
    version: str | None = None
    lines: int | None = None
    first_line: int | None = None
    units: str | None = None
    partial: str | None = None
    tables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """The whole manifest; `source` is live (eBPF), proc (/proc only) or diagnose (other tools)."""

    schema: int = schema.VERSION
    iowhy: str = __version__
    source: str = "live"
    complete: bool = True
    host: Host = field(default_factory=Host)
    clock: Clock = field(default_factory=Clock)
    command: Command = field(default_factory=Command)
    sensors: tuple[Sensor, ...] = ()
    tables: Mapping[str, Kept] = field(default_factory=dict)
    recorder: Recorder = field(default_factory=Recorder)
    inputs: tuple[Input, ...] = ()
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
        """Whether it is of what the agent counts all the time: sums and averages of hours, no event by itself."""
        return any(sensor.name.startswith("agent_") for sensor in self.sensors)

    def ran(self, sensor: str) -> bool:
        """Whether the sensor ran; one that is not listed did not."""
        return any(s.name == sensor and s.ran for s in self.sensors)

    def lost(self) -> int:
        """Events lost over all tables."""
        return sum(kept.lost for kept in self.tables.values())

    def as_json(self) -> str:
        """The text of manifest.json."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.json.

    Raises Problem (with the path and the key) when it is missing, too large, not JSON, of another
    schema version, or holds a value of the wrong type.
    """
    try:
        data = read_plain(path, MANIFEST_MAX_BYTES)
    except FileNotFoundError:
        raise Problem(f"{path}: not found, so {path.parent} is not a recording") from None
    return parsed_manifest(data, path)


def parsed_manifest(data: bytes | str, path: Path) -> Manifest:
    """The text of a manifest, checked; messages name `path`. Raises Problem as `read_manifest`."""
    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Problem(f"{path}: not JSON ({error})") from None
    if not isinstance(loaded, dict):
        raise Problem(f"{path}: not a JSON object")
    version = loaded.get("schema")
    if version != schema.VERSION:
        raise Problem(
            f"{path}: written for schema {version!r}, this iowhy reads schema {schema.VERSION}; "
            "open it with the iowhy that made it, or record again"
        )
    manifest = _build(Manifest, loaded, str(path))
    assert isinstance(manifest, Manifest)
    return manifest


@cache
def _hints(kind: type) -> dict[str, object]:
    return typing.get_type_hints(kind)


@cache
def _fields(kind: type) -> "tuple[Field[typing.Any], ...]":
    return fields(kind)


@cache
def _shape(kind: object) -> tuple[object, tuple[typing.Any, ...]]:
    """What a type is made of: of `tuple[str, ...]` tuple, and str."""
    return typing.get_origin(kind), typing.get_args(kind)


def _build(kind: object, value: object, where: str) -> object:
    """`value` (from JSON) as the annotated type `kind`; Problem names `where` it does not fit."""
    if kind is str and isinstance(value, str):
        return value  # what nearly all are: of ten thousand recordings it is two million
    origin, arguments = _shape(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        return _build(next(a for a in arguments if a is not type(None)), value, where)
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(value, dict):
            raise Problem(f"{where}: expected an object")
        hints = _hints(kind)
        given = {}
        for item in _fields(kind):
            if item.name in value:
                given[item.name] = _build(
                    hints[item.name], value[item.name], f"{where}: {item.name}"
                )
            elif item.default is MISSING and item.default_factory is MISSING:
                raise Problem(f"{where}: {item.name} is missing")
        return kind(**given)
    if origin is tuple:
        if not isinstance(value, list):
            raise Problem(f"{where}: expected a list")
        if arguments[0] is str and all(isinstance(one, str) for one in value):
            return tuple(value)  # a command may have a million arguments
        if len(value) > MOST_ITEMS:
            raise Problem(f"{where}: {len(value):,} entries; iowhy writes no such list")
        return tuple(_build(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if origin is not None and issubclass(typing.cast(type, origin), Mapping):
        if not isinstance(value, dict):
            raise Problem(f"{where}: expected an object")
        if len(value) > MOST_TABLES:
            raise Problem(f"{where}: {len(value):,} entries; iowhy writes no such manifest")
        return {str(k): _build(arguments[1], v, f"{where}: {k}") for k, v in value.items()}
    if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise Problem(f"{where}: expected a whole number, found {value!r:.60}")
    if kind is int and not -(2**63) <= typing.cast(int, value) < 2**63:
        raise Problem(f"{where}: {value!r:.60} does not fit 64 bits")
    if not isinstance(value, typing.cast(type, kind)):
        raise Problem(f"{where}: expected {getattr(kind, '__name__', kind)}, found {value!r:.60}")
    return value
