"""The recordings of a fleet, some at a time: opened, measured, and what cannot be read left out with its reason."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording import Recording, open_recording
from iowhy.relations import RecordedFacts

#: Recordings that one statement is about, and rows of the tables that it reads.
MOST_TOGETHER, MOST_ROWS_TOGETHER = 256, 20_000_000

_HOST = "host="


@dataclass(frozen=True)
class Member:
    """One recording of a fleet. `number` is its place among all that were named."""

    number: int
    path: Path
    recording: Recording

    @property
    def host(self) -> str | None:
        """The machine's name; of a paste that tells none, the one in its path."""
        named = self.recording.manifest.host.name
        if named is not None:
            return named
        parts = [part for part in self.path.parts if part.startswith(_HOST)]
        return parts[-1].removeprefix(_HOST) if parts else None

    @property
    def started(self) -> str | None:
        """When it began, in UTC (ISO 8601, milliseconds); None where no clock was recorded."""
        manifest = self.recording.manifest
        wall, monotonic = manifest.clock.wall_ns, manifest.clock.monotonic_ns
        if wall is None:
            return None
        begin = manifest.command.start_ns
        if begin is not None and monotonic is not None:
            wall += begin - monotonic
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall // 1000)
        except OverflowError:
            return None
        return written(moment)

    def columns(self) -> Mapping[str, object]:
        """What tells it from others, as the row of `recordings`."""
        manifest = self.recording.manifest
        return {
            "fleet_no": self.number,
            "host": self.host,
            "recording": str(self.path),
            "started": self.started,
            "kernel": manifest.host.kernel,
            "machine": manifest.host.machine,
            "cpus": manifest.host.cpus,
            "memory_bytes": manifest.host.memory_bytes,
            "iowhy": manifest.iowhy,
            "mode": manifest.command.mode,
            "command": _program(manifest.command.argv),
            "elapsed_ns": manifest.elapsed_ns,
        }


#: The columns of `recordings` and their types.
COLUMNS = {
    "fleet_no": "BIGINT",
    "host": "VARCHAR",
    "recording": "VARCHAR",
    "started": "VARCHAR",
    "kernel": "VARCHAR",
    "machine": "VARCHAR",
    "cpus": "BIGINT",
    "memory_bytes": "BIGINT",
    "iowhy": "VARCHAR",
    "mode": "VARCHAR",
    "command": "VARCHAR",
    "elapsed_ns": "BIGINT",
}


@dataclass
class LeftOut:
    """Recordings that could not be read, each with its reason in one line."""

    reasons: dict[Path, str] = field(default_factory=dict)

    def add(self, path: Path, why: object) -> None:
        """Leave a recording out."""
        text = str(why).strip().splitlines() or ["cannot be read"]
        self.reasons[path] = text[0][:500]


def opened(
    paths: Sequence[Path], left_out: LeftOut, most: int = MOST_TOGETHER
) -> Iterator[list[Member]]:
    """The recordings some at a time, in order; what was unpacked for them goes when the next ones are asked for."""
    for at in range(0, len(paths), most):
        members = []
        for number, path in enumerate(paths[at : at + most], at):
            try:
                members.append(Member(number, path, open_recording(path)))
            except (Problem, OSError) as problem:
                left_out.add(path, problem)
        try:
            if members:
                yield members
        finally:
            for one in members:
                if one.recording.unpacked is not None:
                    shutil.rmtree(one.recording.unpacked, ignore_errors=True)


def by_facts(
    members: Iterable[tuple[Member, RecordedFacts]], conditions: Sequence[str]
) -> list[list[tuple[Member, RecordedFacts]]]:
    """The members in groups for which the same `-- when` conditions of relations hold."""
    from iowhy.relations.relation import holds

    groups: dict[tuple[bool, ...], list[tuple[Member, RecordedFacts]]] = {}
    for member, facts in members:
        same = tuple(holds(one, facts) for one in conditions)
        groups.setdefault(same, []).append((member, facts))
    return list(groups.values())


def written(moment: datetime) -> str:
    """A moment in UTC as `started` has it: texts in the order of time."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _program(argv: Sequence[str]) -> str | None:
    return Path(argv[0]).name[:200] if argv else None
