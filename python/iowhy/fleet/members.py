"""The recordings of a fleet, some at a time: opened, measured, and what cannot be read left out with its reason."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.fleet.definitions import digest_of, fingerprint
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.day_packs import Entry, entries, in_day_pack, is_day_pack, taken_out
from iowhy.recordings.days import UNKNOWN
from iowhy.recordings.manifest import MANIFEST_MAX_BYTES, parsed_manifest, read_manifest
from iowhy.recordings.object_store import copied, is_stored, written
from iowhy.recordings.packed import SUFFIX
from iowhy.recordings.plain_file import read_plain
from iowhy.relations import RecordedFacts

#: Recordings that one statement is about, and rows of the tables that it reads.
MOST_TOGETHER, MOST_ROWS_TOGETHER = 256, 20_000_000

_HOST = "host="


class Member(Struct, frozen=True):
    """One recording of a fleet. `number` is its place among all that were named."""

    number: int
    path: Path
    recording: Recording
    entry: Entry | None = None
    """Its place in a pack of many; `recording` has no files then."""
    outline: bool = False
    """Of an object store, and of its files of rows only the footers are here."""

    @contextmanager
    def alone(self) -> Iterator[Recording]:
        """The recording with its files: of a pack, taken out of it. Raises Problem."""
        if self.entry is None and not self.outline:
            yield self.recording
            return
        if self.entry is None or self.outline:
            folder = open_recording(self.path).folder
        else:
            folder = taken_out(self.entry)
        try:
            yield Recording(self.path, self.recording.manifest, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def lies(self) -> tuple[Path, Path]:
        """Where its files are here, and of what is stored in an object store the path that they have there."""
        if self.entry is None:
            return self.recording.folder, self.path
        return self.entry.lies or self.entry.pack, self.entry.pack

    @property
    def place(self) -> Path:
        """Where another process can open it: of an object store, the copy."""
        if not is_stored(self.path):
            return self.path
        return (
            self.recording.folder
            if self.entry is None
            else (self.entry.lies or self.path) / self.entry.name
        )

    @property
    def manifest_text(self) -> bytes:
        """The manifest as it was written."""
        if self.entry is not None:
            return self.entry.manifest.encode()
        return read_plain(self.recording.folder / "manifest.json", MANIFEST_MAX_BYTES)

    def fingerprint(self, definitions: Sequence[str]) -> str | None:
        """As fleet/definitions.py has it; of a pack, by the files that hold the rows of all. None where it cannot be read."""
        entry = self.entry
        if entry is None:
            return fingerprint(self.recording, definitions)
        try:
            files = [entry.file(name).stat() for name in sorted(entry.rows)]
        except (OSError, Problem):
            return None
        stamps = [f"{one.st_size} {one.st_mtime_ns}" for one in files]
        return digest_of(definitions, self.manifest_text, f"{entry.number} {stamps}".encode())

    @property
    def host(self) -> str | None:
        """The machine's name; of a paste that says none, the one in its path."""
        named = self.recording.manifest.host.name
        if named is not None:
            return named
        parts = [part for part in self.path.parts if part.startswith(_HOST)]
        name = parts[-1].removeprefix(_HOST) if parts else UNKNOWN
        return None if name == UNKNOWN else name

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
        return utc_text(moment)

    def columns(self) -> Mapping[str, object]:
        """What distinguishes it from others, as the row of `recordings`."""
        manifest = self.recording.manifest
        return {
            "fleet_no": self.number,
            "host": self.host,
            "recording": written(self.path),
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


class LeftOut(Struct):
    """Recordings that could not be read, each with its reason in one line. `counts`: how many were not judged because they are
    the agent's counts. `not_whole`: those that were read, and hold other rows than their manifests count."""

    reasons: dict[Path, str] = field(default_factory=dict)
    counts: int = 0
    not_whole: set[Path] = field(default_factory=set)

    def add(self, path: Path, why: object) -> None:
        """Leave a recording out."""
        text = str(why).strip().splitlines() or ["cannot be read"]
        self.reasons[path] = text[0][:500]


def opened(
    paths: Sequence[Path], left_out: LeftOut, most: int = MOST_TOGETHER, outline: bool = False
) -> Iterator[list[Member]]:
    """The recordings some at a time, in order; what was unpacked for them goes when the next ones are asked for.

    With `outline` of those of object stores only what describes their rows is copied.
    """
    for at in range(0, len(paths), most):
        some = paths[at : at + most]
        packed, copies = _packed(some, outline)
        members = []
        for number, path in enumerate(some, at):
            try:
                members.append(_opened(number, path, packed, outline))
            except (Problem, OSError) as problem:
                left_out.add(path, problem)
        try:
            if members:
                yield members
        finally:
            for one in members:
                if one.recording.unpacked is not None:
                    shutil.rmtree(one.recording.unpacked, ignore_errors=True)
            for copy in copies:
                shutil.rmtree(copy, ignore_errors=True)


def _packed(paths: Sequence[Path], outline: bool) -> tuple[dict[Path, Entry | Problem], list[Path]]:
    """The recordings of packs among some, by path, where a pack cannot be read, the reason by the pack's; and the copies
    of packs in object stores."""
    found: dict[Path, Entry | Problem] = {}
    packs = list({path.parent: None for path in paths if in_day_pack(path)})
    copies = []
    try:
        found |= entries([pack for pack in packs if not is_stored(pack)])
        packs = [pack for pack in packs if is_stored(pack)]
    except Problem:
        pass  # of which one is found below
    for pack in packs:
        try:
            if is_stored(pack):
                copies.append(copied(pack, outline))
                own = entries(copies[-1:])
                found |= {
                    pack / one.name: replace(one, pack=pack, lies=copies[-1])
                    for one in own.values()
                }
            else:
                found |= entries([pack])
        except Problem as problem:
            found[pack] = problem
    return found, copies


def _opened(
    number: int, path: Path, packed: Mapping[Path, Entry | Problem], outline: bool
) -> Member:
    entry = packed.get(path) or packed.get(path.parent)
    if isinstance(entry, Problem):
        raise entry
    if entry is None and outline and is_stored(path):
        if path.name.endswith(SUFFIX):
            raise Problem("spark-reads-no-pack", path=written(path))
        folder = copied(path, outline)
        found = Recording(path, read_manifest(folder / "manifest.json"), folder)
        return Member(number, path, found, outline=True)
    if entry is None:
        if is_day_pack(path):
            entries([path])  # raises: places.py gives its recordings where that can be read
        return Member(number, path, open_recording(path))
    found = Recording(path, parsed_manifest(entry.manifest, path))
    return Member(number, path, found, entry, outline and entry.lies is not None)


def by_facts(
    members: Iterable[tuple[Member, RecordedFacts]], names: Sequence[str]
) -> list[list[tuple[Member, RecordedFacts]]]:
    """The members in groups of which these names mean the same tables and relations."""
    from iowhy.relations.relation import chosen

    groups: dict[tuple[object, ...], list[tuple[Member, RecordedFacts]]] = {}
    for member, facts in members:
        same = tuple(one and one.name for one in (chosen(name, facts) for name in names))
        groups.setdefault(same, []).append((member, facts))
    return list(groups.values())


def utc_text(moment: datetime) -> str:
    """A moment in UTC as `started` has it: texts in the order of time."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _program(argv: Sequence[str]) -> str | None:
    return Path(argv[0]).name[:200] if argv else None
