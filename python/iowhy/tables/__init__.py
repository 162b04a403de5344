"""What the recorder and the analysis both know, as data: sensors, system calls, reasons of waits.

The TOML files next to this module are the one truth. The crates are built from the same files (the crate `tables`
and the crate `store`, which makes rows from schema.toml). Each file is read once, when it is first asked for.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, convert, field

Kind = TypeVar("Kind")


class SensorPart(Struct, frozen=True):
    """Something that a sensor says only on some kernels: one of `programs` runs, else it lacks `lacking`."""

    programs: tuple[str, ...]
    lacking: str
    #: Not missed where this program cannot run.
    required_by: str | None = field(default=None, name="with")


class Sensor(Struct, frozen=True):
    """A sensor: what it says, which tables it fills, which kinds of recording can have it."""

    name: str
    doc: str
    tables: tuple[str, ...]
    #: "live" (eBPF), "proc" (/proc alone), "diagnose" (other tools' output).
    sources: frozenset[str]
    #: "programs" (eBPF), "samples" (/proc and /sys) or "files".
    backend: str
    #: Of its programs, that becomes a row of its first table.
    event: str | None = None
    programs: tuple[str, ...] = ()
    parts: tuple[SensorPart, ...] = field(default=(), name="part")
    #: Without it nothing is unknown that others say.
    only_adds: bool = False

    @property
    def substitute_tables(self) -> tuple[str, ...]:
        """Tables whose rows, given by another tool, replace the sensor in a pasted recording."""
        return self.tables if "diagnose" in self.sources else ()


class Call(Struct, frozen=True):
    """A system call. Arguments are counted from 0; None is: it has none."""

    name: str
    #: read, write, copy, sync, lookup, change, collect, idle; None: none of these.
    kind: str | None = None
    #: Of a copy: whether a wait in it is one to "read" or to "write".
    direction: str | None = None
    #: It moves a file's data and gives the number of bytes.
    moves_data: bool = False
    #: Interruptible sleep in it waits for I/O that was submitted before.
    reaps: bool = False
    #: How the recorder treats a call that gets a row of its own in `syscalls`; None: it is only counted.
    record: str | None = None
    arguments: int | None = None
    fd: int | None = None
    bytes: int | None = None
    offset: int | None = None
    #: The descriptor of the file that it writes to.
    written: int | None = None
    #: Its flags, as the kernel takes the call.
    flags: int | None = None
    #: `bytes` is an array of iovec, the argument after it its length.
    vector: bool = False
    #: "position" (the offset is the file's), "pointer" (the argument points to it), None (it is the argument).
    offset_in: str | None = None
    #: On threads and descriptors: open, named, close, duplicate, descriptor, pair, clone, exec, comm.
    effect: str | None = None
    #: It closes files.
    closes: bool = False
    #: Who serves the file of its first argument, a descriptor, may have to answer it (FUSE).
    served: bool = False
    #: Of a call that gives descriptors that are no file's: what they are of, as /proc/PID/fd names them.
    makes: str | None = None
    #: The call that this is another name of.
    same_as: str | None = None


class Reason(Struct, frozen=True):
    """Why a thread was in uninterruptible sleep: class of the time budget, part of a sync call's time."""

    name: str
    budget_class: str = field(name="class")
    part: str
    doc: str
    #: Where the class is what the call asks for: in a call that opens a file, and outside any call.
    opening: str | None = None
    outside: str | None = None


class BudgetClass(Struct, frozen=True):
    """A class of the time budget: `key` in SQL, `name` as it is shown, `group` (classes.toml)."""

    key: str
    name: str
    group: str


class Words(Struct, frozen=True):
    """Parts of words in other tools' reasons that decide the class of a wait."""

    budget_class: str = field(name="class")
    any_of: tuple[str, ...] = field(name="any")


class Rule(Struct, frozen=True):
    """How a reason is seen on a stack: one of `any_of` is there and, if it has `also`, one of those."""

    reason: str
    any_of: tuple[str, ...] = field(name="any")
    also: tuple[str, ...] = ()


@cache
def sensors() -> dict[str, Sensor]:
    """All sensors by name, in the order in which they are shown."""
    return {one.name: one for one in convert(_load("sensors")["sensor"], list[Sensor])}


@cache
def calls() -> dict[str, Call]:
    """All system calls of which more is known than their name, by name."""
    return _named(Call, _load("calls")["call"])


@cache
def reasons() -> dict[str, Reason]:
    """All reasons of waits by name."""
    return _named(Reason, _load("reasons")["reason"])


@cache
def budget_classes() -> dict[str, BudgetClass]:
    """The classes of the time budget by their keys, in the order in which they are shown."""
    entries: dict[str, dict[str, str]] = _load("classes")["class"]
    return {key: BudgetClass(key, entry["name"], entry["group"]) for key, entry in entries.items()}


@cache
def reason_words() -> tuple[Words, ...]:
    """The words of other tools' reasons, in the order in which they decide."""
    return convert(_load("classes")["words"], tuple[Words, ...])


@cache
def rules() -> tuple[Rule, ...]:
    """The rules by which stacks are judged; the first that matches gives the reason."""
    return convert(_load("reasons")["rule"], tuple[Rule, ...])


@cache
def call_numbers(machine: str) -> dict[int, str]:
    """Names of calls by their numbers on a machine: "x86_64" or "aarch64" (asm/unistd.h)."""
    text = (_HERE / "numbers" / f"{machine}.txt").read_text("utf-8")
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return {int(number): name for number, name in pairs}


def schema() -> dict[str, Any]:
    """The contents of schema.toml; `iowhy.recordings.schema` gives them types."""
    return _load("schema")


_HERE = Path(__file__).parent


@cache
def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / f"{name}.toml").read_text("utf-8"))


def _named(kind: type[Kind], entries: dict[str, dict[str, Any]]) -> dict[str, Kind]:
    """Entries that are under their names; one may be another name of another."""
    return {
        name: convert({**entries.get(entry.get("same_as", ""), {}), **entry, "name": name}, kind)
        for name, entry in entries.items()
    }
