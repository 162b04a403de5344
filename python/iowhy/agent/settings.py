"""The agent's file: what is watched, what is kept, where. All of it has a default; unknown keys are errors."""

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from iowhy.agent import conditions
from iowhy.agent.conditions import Condition, Scope
from iowhy.errors import Problem
from iowhy.quantities import MOST, duration_ns, size_bytes
from iowhy.recordings.object_store import path_of

DIRECTORY = Path("/var/lib/iowhy")
S = 10**9
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}\Z")
_HOST = re.compile(r"(.*):([0-9]{1,5})\Z")


class Settings(Struct, frozen=True):
    """`keep_bytes`: all that is in `directory`, at most; `keep_ns`: no recording is kept longer. Each trigger records for
    `record_ns`, at least `cool_down_ns` after its recording before ended, `per_hour` times at most. `calls`: every I/O
    call is timed. `metrics`: host and port of the Prometheus endpoint, None: there is none. `upload`: the prefix in an object store that all
    recordings go to as well; `otlp`: the address that metrics are pushed to. `statements`: how to connect to databases whose statements have metrics, empty: as
    their own users; None: they have none. `black_box_ns`:
    what is recorded fully of the time before a trigger, in memory, which takes `black_box_bytes` at most; None: nothing."""

    directory: Path = DIRECTORY
    every_ns: int = 10 * S
    rotate_ns: int = 3600 * S
    keep_bytes: int = 2 * 2**30
    keep_ns: int = 7 * 86400 * S
    record_ns: int = 30 * S
    cool_down_ns: int = 300 * S
    per_hour: int = 4
    calls: bool = False
    metrics: tuple[str, int] | None = None
    webhook: str | None = None
    upload: Path | None = None
    otlp: str | None = None
    statements: str | None = None
    black_box_ns: int | None = None
    black_box_bytes: int = 256 * 2**20
    triggers: Mapping[str, Condition] = field(default_factory=dict)


def duration(value: Any) -> int:
    """A time in ns. Raises ValueError."""
    found = duration_ns(value) if isinstance(value, str) else None
    if not found or found > MOST:
        raise ValueError("give a time such as 10 s, 1h or 7d")
    return found


def _size(value: Any) -> int:
    found = size_bytes(value) if isinstance(value, str) else None
    if not found or found > MOST or found < 2**20:
        raise ValueError("give a size of 1MiB or more, such as 2GiB")
    return found


def _number(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= 3600:
        raise ValueError("give a number from 1 to 3600")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("give true or false")
    return value


def _dsn(value: Any) -> str | None:
    if value is True or value is False:
        return "" if value else None
    if not isinstance(value, str) or re.search(r"passw|//[^/@]*:[^/@]*@", value):
        raise ValueError(
            "give true, or a DSN without a password: that is in ~/.pgpass, PGPASSWORD or MYSQL_PWD"
        )
    return value


def _directory(value: Any) -> Path:
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError("give a path that begins with /")
    return Path(value)


def address(value: Any) -> tuple[str, int]:
    """`HOST:PORT`, or `:PORT` for all addresses. Raises ValueError."""
    found = _HOST.match(value) if isinstance(value, str) else None
    if found is None or not 0 < int(found[2]) < 65536:
        raise ValueError("give HOST:PORT, such as 127.0.0.1:9469")
    return found[1] or "0.0.0.0", int(found[2])


def _web(value: Any) -> str:
    if not isinstance(value, str) or not re.match(r"https?://[^\s/]+", value):
        raise ValueError("give an address that begins with http:// or https://")
    return value


def _stored(value: Any) -> Path:
    if not isinstance(value, str) or not value.startswith("s3://"):
        raise ValueError("give s3://BUCKET/PREFIX")
    try:
        return path_of(value.rstrip("/"))
    except Problem:
        raise ValueError("give s3://BUCKET/PREFIX") from None


#: Keys of the table [agent]: the field, and what reads its value.
_KEYS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "directory": ("directory", _directory),
    "every": ("every_ns", duration),
    "rotate": ("rotate_ns", duration),
    "keep-size": ("keep_bytes", _size),
    "keep-time": ("keep_ns", duration),
    "record": ("record_ns", duration),
    "cool-down": ("cool_down_ns", duration),
    "per-hour": ("per_hour", _number),
    "calls": ("calls", _truth),
    "metrics": ("metrics", address),
    "otlp": ("otlp", _web),
    "statements": ("statements", _dsn),
    "black-box": ("black_box_ns", duration),
    "black-box-size": ("black_box_bytes", _size),
    "webhook": ("webhook", _web),
    "upload": ("upload", _stored),
}


def read(file: Path) -> Settings:
    """Reads the file. Raises Problem that names it and the line."""
    try:
        text = file.read_text("utf-8")
        found = tomllib.loads(text)
    except OSError as error:
        raise Problem("agent-settings-unreadable", path=file, error=error.strerror) from None
    except UnicodeDecodeError:
        raise Problem("settings-not-text", path=file) from None
    except tomllib.TOMLDecodeError as error:
        raise Problem("path-error", path=file, error=_placed(str(error))) from None
    return _settings(_Places(file, text), found)


def _placed(message: str) -> str:
    """`line 3, column 7: …`, as compilers say it."""
    at = re.search(r" \(at (line \d+, column \d+)\)\Z", message)
    return f"{at[1]}: {message[: at.start()]}" if at else message


class _Places(Struct, frozen=True):
    """Where a key is in the file, for messages."""

    file: Path
    text: str

    def problem(self, table: str | None, key: str, what: str) -> Problem:
        line = self._line(table, key)
        where = f"{self.file}: line {line}" if line else f"{self.file}"
        return Problem("setting-wrong", where=where, key=key, what=what)

    def of_trigger(self, trigger: str, key: str | None, what: str) -> Problem:
        """Of a trigger, whose keys are in its own table, or in its line."""
        line = self._line(f"triggers.{trigger}", key) if key else None
        line = line or self._line(None, f"triggers.{trigger}") or self._line("triggers", trigger)
        where = f"{self.file}: line {line}" if line else f"{self.file}"
        named = trigger if key in (None, "when") else f"{trigger}: {key}"
        return Problem("trigger-wrong", where=where, named=named, what=what)

    def _line(self, table: str | None, key: str) -> int | None:
        """The line of a key in a table, or of a table; None if it is written in its own way."""
        inside = table is None
        for number, line in enumerate(self.text.splitlines(), 1):
            head = re.match(r"\s*\[\s*([\w.-]+)\s*\]", line)
            if head and table is None and head[1] == key:
                return number
            if head:
                inside = head[1] == table
            elif inside and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
                return number
        return None


def _settings(places: _Places, found: Mapping[str, Any]) -> Settings:
    for key in found:
        if key not in ("agent", "triggers") or not isinstance(found[key], dict):
            raise places.problem(None, key, "there are the tables [agent] and [triggers]")
    values: dict[str, Any] = {}
    for key, value in found.get("agent", {}).items():
        if key not in _KEYS:
            raise places.problem("agent", key, f"no such key; there are {', '.join(_KEYS)}")
        name, reads = _KEYS[key]
        try:
            values[name] = reads(value)
        except ValueError as error:
            raise places.problem("agent", key, str(error)) from None
    calls = values.get("calls", False)
    triggers = {
        key: _trigger(places, key, value, calls) for key, value in found.get("triggers", {}).items()
    }
    return Settings(**values, triggers=triggers)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("give a name as text")
    return value


#: Keys of a trigger's own table.
_TRIGGER: Mapping[str, Callable[[Any], Any]] = {
    "when": _name,
    "service": _name,
    "container": _name,
    "device": _name,
    "per-hour": _number,
}


def _trigger(places: _Places, key: str, value: Any, calls: bool) -> Condition:
    if not _NAME.match(key):
        raise places.problem("triggers", key, "a name has small letters, digits and hyphens")
    given = {"when": value} if isinstance(value, str) else value
    example = f'`{key} = "{conditions.EXAMPLES[0]}"`, or a table with `when`'
    if not isinstance(given, dict) or "when" not in given:
        raise places.of_trigger(key, None, f"give a condition: {example}")
    for name, one in given.items():
        if name not in _TRIGGER:
            known = ", ".join(_TRIGGER)
            raise places.of_trigger(key, name, f"no such key of a trigger; there are {known}")
        try:
            _TRIGGER[name](one)
        except ValueError as error:
            raise places.of_trigger(key, name, str(error)) from None
    if "service" in given and "container" in given:
        raise places.of_trigger(key, "container", "give `service` or `container`, not both")
    scope = Scope(given.get("service", given.get("container")), given.get("device"))
    try:
        condition = conditions.limited(conditions.read(given["when"]), scope, given.get("per-hour"))
    except conditions.Unreadable as error:
        raise places.of_trigger(key, "when", str(error)) from None
    if condition.calls and not calls:
        what = "this needs every call of the machine traced: `calls = true` in [agent], which costs"
        raise places.problem("triggers", key, f"{what} each call some 150 ns")
    return condition
