"""A file of counts that were measured: each is held once it came out equal in several runs.

    {"version": 1, "commands": {"./load": {"sync_calls": {"values": [10, 10, 10]},
                                           "calls": {"values": [812, 809, 815], "may_grow": "+5 %"}}}}

`values` are those of the last runs, the newest last. A count that differs between them is noise and not held, unless
somebody wrote `may_grow` next to it: then the largest of them holds, and so much more.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy import units
from iowhy.errors import Problem
from iowhy.expect.expectation import Expectation
from iowhy.expect.growth import read_growth
from iowhy.expect.outcome import lost_events
from iowhy.measures import Measure, measures, values
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.written_files import SHARED_FILE, write_whole

VERSION = 1
RUNS = 3
"""A count that is equal in so many runs is held: two would be equal by chance too often."""

_UNITS = ("count", "bytes")  # times and shares of them are never equal
_MOST_BYTES = 16 << 20


class Entry(Struct, frozen=True):
    """The last values of one count; `may_grow` is how a person widened it, as in `compare --fail-on`."""

    values: tuple[int, ...]
    may_grow: str | None = None

    @property
    def steady(self) -> bool:
        """Whether it came out equal often enough."""
        return len(self.values) >= RUNS and len(set(self.values)) == 1

    def with_run(self, value: int) -> "Entry":
        """After one more run."""
        return replace(self, values=(*self.values, value)[-RUNS:])


class Baseline(Struct, frozen=True):
    """Counts by command (or whatever name a run was given) and measure."""

    path: Path
    commands: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)

    def expected(self, name: str) -> list[Expectation]:
        """What a run of that name is held against."""
        found = []
        for key, entry in self.commands.get(name, {}).items():
            steady = (
                entry.steady and measures()[key].state is None
            )  # a file of before may have others
            if entry.values and (steady or entry.may_grow is not None):
                found.append(self._expectation(key, entry))
        return found

    def _expectation(self, key: str, entry: Entry) -> Expectation:
        grows = read_growth(f"{self.path}: {key}: may_grow", f"{key} > {entry.may_grow or '+0'}")
        bound = grows.most(max(entry.values))
        unit = grows.measure.unit
        text = f"{key} <= {units.amount(bound, unit)} ({self.path.name})"
        return Expectation(text, "<=", bound, grows.measure)

    def with_run(self, name: str, counts: Mapping[str, int]) -> "Baseline":
        """After one more run of that name."""
        known = self.commands.get(name, {})
        entries = dict(known) | {
            key: known.get(key, Entry(())).with_run(value) for key, value in counts.items()
        }
        return replace(self, commands={**self.commands, name: dict(sorted(entries.items()))})

    def summary(self, name: str) -> str:
        """What is held by now, in a line."""
        entries = self.commands.get(name, {})
        runs = max((len(one.values) for one in entries.values()), default=0)
        if runs < RUNS:
            return f"{runs} of {RUNS} runs: a count is held once it is equal in {RUNS}"
        held = len(self.expected(name))
        differ = [key for key, one in entries.items() if len(set(one.values)) > 1]
        more = f"; {', '.join(differ)} differed between runs" if differ else ""
        return f"{held} of {len(entries)} counts are held{more}"

    def save(self, option: str = "--baseline") -> None:
        """Writes the file, which `option` named, whole or not at all. Raises Problem where it cannot be written."""
        try:
            write_whole(self.path, self._text().encode(), SHARED_FILE)
        except OSError as error:
            raise Problem(
                "baseline-cannot-be-written",
                path=self.path,
                error=error.strerror or error,
                option=option,
            ) from None

    def _text(self) -> str:
        """JSON with a line for each count: a change of one is a change of one line."""
        commands = [
            f"  {json.dumps(name)}: {{\n"
            + ",\n".join(f"   {json.dumps(key)}: {_as_json(one)}" for key, one in entries.items())
            + "\n  }"
            for name, entries in sorted(self.commands.items())
        ]
        return f'{{\n "version": {VERSION},\n "commands": {{\n' + ",\n".join(commands) + "\n }\n}\n"


def read_baseline(path: Path, *, new: bool = False, update: str = "--update") -> Baseline:
    """The baseline in a file; `new`: an empty one if there is no file; `update`: the option that makes it. Raises Problem."""
    try:
        if new and not path.exists():
            return Baseline(path)
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        made = json.loads(data) if len(data) <= _MOST_BYTES else None
    except FileNotFoundError:
        raise Problem("no-such-baseline", path=path, update=update) from None
    except OSError as error:
        raise Problem("cannot-read", path=path, error=error.strerror or error) from None
    except (ValueError, RecursionError) as error:
        raise Problem("baseline-not-json", path=path, error=error) from None
    return Baseline(path, _commands(path, made))


def counts(recording: Recording) -> dict[str, int]:
    """All counts of a recording that are known; of one that is cut or not whole, or where events were lost, none is."""
    if not recording.manifest.complete:
        return {}
    asked = [one for one in measures().values() if _is_count(recording, one)]
    with recording.damage_named(), Relations(recording) as relations:
        found = {} if relations.facts.mismatches else values(relations, asked)
    return {key: round(value) for key, value in found.items() if value is not None}


def _is_count(recording: Recording, measure: Measure) -> bool:
    # A mean of bytes is a division, and no count.
    return (
        measure.unit in _UNITS
        and measure.state is None
        and "mean" not in measure.name
        and not lost_events(recording, measure)
    )


def _as_json(entry: Entry) -> str:
    more = {} if entry.may_grow is None else {"may_grow": entry.may_grow}
    return json.dumps({"values": entry.values, **more}, ensure_ascii=False)


def _commands(path: Path, made: Any) -> dict[str, dict[str, Entry]]:
    if not isinstance(made, dict) or made.get("version") != VERSION:
        raise Problem("baseline-of-another-version", path=path, version=VERSION)
    commands = made.get("commands")
    if not isinstance(commands, dict):
        raise Problem("baseline-commands-not-counts", path=path)
    return {name: _entries(path, name, entries) for name, entries in commands.items()}


def _entries(path: Path, name: str, entries: Any) -> dict[str, Entry]:
    if not isinstance(entries, dict):
        raise Problem("baseline-not-counts", path=path, name=name)
    return {key: _entry(f"{path}: {name}: {key}", key, one) for key, one in entries.items()}


def _entry(where: str, key: str, made: Any) -> Entry:
    if key not in measures():
        raise Problem("no-such-count", where=where)
    found = made.get("values") if isinstance(made, dict) else None
    may_grow = made.get("may_grow") if isinstance(made, dict) else None
    if not isinstance(found, list) or not all(
        isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**63 for one in found
    ):
        raise Problem("values-not-counts", where=where)
    if may_grow is not None:
        if not isinstance(may_grow, str):
            raise Problem("may-grow-not-text", where=where)
        read_growth(f"{where}: may_grow", f"{key} > {may_grow}")
    return Entry(tuple(found), may_grow)
