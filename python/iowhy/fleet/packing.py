"""Puts the recordings of each day and host together (recording/day_packs.py says how they are then).

A pack grows: what is new is put behind what it holds, in files of its own folder, and the index that names that folder takes
the place of the old one when all of it is on the disk. Until then the pack is what it was, so that a call that is killed at any moment
leaves nothing half; the next one takes away what was begun and goes on. A recording that is there already is not packed again.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.fleet.members import LeftOut, Member, opened
from iowhy.fleet.table_files import TableFiles, must_fit, table_files
from iowhy.fleet.verdicts import carried, to_carry
from iowhy.recordings.day_packs import (
    INDEX,
    INDEX_COLUMNS,
    MOST_PACKED,
    NUMBER,
    Entry,
    entries,
    is_day_pack,
    table_names,
)
from iowhy.recordings.days import PACK, day_folder
from iowhy.recordings.experiments import EXPERIMENT_MAX_BYTES
from iowhy.recordings.folder_lock import alone_in
from iowhy.recordings.manifest import parsed_manifest
from iowhy.recordings.open_tables import file_sizes, listed, reading
from iowhy.recordings.packer import without_secrets
from iowhy.recordings.plain_file import read_plain, synced
from iowhy.recordings.query_errors import is_query_error
from iowhy.recordings.schema import tables
from iowhy.recordings.sizes import must_be_bounded
from iowhy.recordings.sql_text import text_literal

LOCK = ".packing"
#: Below it an error of writing is the disk's.
_LEAST_FREE_BYTES = 16 << 20


class Packed(Struct, frozen=True):
    """What became of one day and host: recordings that its pack holds, and those of them that are new."""

    pack: Path
    recordings: int
    new: int


class _Source(Struct, frozen=True):
    """A recording that is to be packed. `digest` is equal for copies of it, `made` for what it was before it went on."""

    path: Path
    started: str | None
    name: str
    digest: str
    made: str


def pack_fleet(
    paths: Sequence[Path],
    to: Path,
    left_out: LeftOut,
    judge: bool = False,
    keep_secrets: bool = False,
) -> Iterator[Packed]:
    """Packs the recordings into packs below `to`, day by day and host by host; what cannot be read is left out.

    With their verdicts, where these are known; with `judge` they are made if they are not, also of what is packed already.
    Without `keep_secrets` the secrets in command lines are masked in what is new. Raises Problem where it cannot write, or where another call packs into the same folder.
    """
    passed_on = str if keep_secrets else _masked
    with alone_in(to, LOCK, "another `iowhy fleet pack` works there"):
        groups: dict[Path, list[_Source]] = {}
        for together in opened(paths, left_out):
            for member in together:
                folder = day_folder(member.started and member.started[:10], member.host)
                if (
                    member.entry is None
                    or member.entry.pack.resolve() != (to / folder / PACK).resolve()
                ):
                    groups.setdefault(folder, []).append(_source(member))
        for folder, sources in sorted(groups.items()):
            sources.sort(key=lambda one: (one.started or "", one.path))
            try:
                yield _pack(to / folder / PACK, sources, left_out, judge, passed_on)
            except OSError as error:
                raise Problem(
                    "path-error", path=to / folder, error=error.strerror or error
                ) from None


def _source(member: Member) -> _Source:
    whole = hashlib.sha256(member.manifest_text)
    if member.entry is not None:
        return _Source(
            member.path,
            member.started,
            member.path.name,
            member.entry.source,
            _made_of(member.entry.manifest, member.path),
        )
    for name in table_names(member.recording.folder):
        sizes = [file.stat().st_size for file in member.recording.files(name)]
        whole.update(f"{name} {sizes}\n".encode())
    name = f"{member.path.name.removesuffix('.zip').removesuffix('.iowhy')}.iowhy"
    text = member.manifest_text.decode()
    return _Source(
        member.path, member.started, name, whole.hexdigest()[:40], _made_of(text, member.path)
    )


def _made_of(manifest: str, path: Path) -> str:
    """What stays the same while a recording grows."""
    found = parsed_manifest(manifest, path)
    return f"{found.clock} {found.command.start_ns} {found.host.name}"


def _masked(text: str) -> str:
    """A manifest, a result or a verdict without secrets."""
    return without_secrets(text.encode()).decode("utf-8", "replace")


def _pack(
    pack: Path,
    sources: Sequence[_Source],
    left_out: LeftOut,
    judge: bool,
    passed_on: Callable[[str], str],
) -> Packed:
    """One pack with what is new in it."""
    try:
        there = list(entries([pack]).values()) if is_day_pack(pack) else []
    except Problem as problem:
        for source in sources:
            left_out.add(source.path, problem)
        return Packed(pack, 0, 0)
    _clear(pack, there)
    known = {one.source for one in there}
    new = {one.digest: one for one in reversed(sources) if one.digest not in known}
    ordered = [one for one in sources if new.get(one.digest) is one]
    unjudged = [one.path for one in there if carried(one) is None]
    asked = [*unjudged, *(one.path for one in ordered)]
    found = {path: passed_on(text) for path, text in to_carry(asked, judge).items()}
    there = [replace(one, verdict=found.get(one.path, one.verdict)) for one in there]
    if not ordered:
        if found:
            _publish(pack, there)
        return Packed(pack, len(there), 0)
    if len(there) + len(ordered) > MOST_PACKED:
        raise Problem("pack-too-large", pack=pack, most_packed=MOST_PACKED)
    pack.mkdir(parents=True, exist_ok=True)
    # One that was still being recorded is there anew.
    replaced = {(one.name, one.made) for one in ordered}
    staying = [one for one in there if (one.name, _made_of(one.manifest, one.path)) not in replaced]
    folder = pack / f"{max((int(one.folder) for one in there), default=0) + 1:06}"
    added = [
        replace(
            one,
            manifest=passed_on(one.manifest),
            experiments=tuple(map(passed_on, one.experiments)),
        )
        for one in _written(folder, staying, ordered, left_out)
    ]
    if not added:
        shutil.rmtree(folder, ignore_errors=True)
        return Packed(pack, len(there), 0)
    of = {one.digest: found.get(one.path) for one in ordered}
    added = [replace(one, verdict=of.get(one.source)) for one in added]
    _publish(pack, [*(replace(one, folder=folder.name) for one in staying), *added])
    _clear(pack, added)
    return Packed(pack, len(staying) + len(added), len(added))


def _clear(pack: Path, there: Sequence[Entry]) -> None:
    """Takes away what the index does not name: begun and never finished, or replaced."""
    named = {INDEX, *(one.folder for one in there)}
    for one in pack.iterdir() if pack.is_dir() else ():
        if one.name not in named:
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one)
            else:
                one.unlink()


def _written(
    folder: Path, kept: Sequence[Entry], sources: Sequence[_Source], left_out: LeftOut
) -> list[Entry]:
    """Writes the rows of what is kept and of the sources; what it says of those sources that could be read."""
    paths = [one.path for one in sources]
    first = max((one.number for one in kept), default=-1) + 1
    for together in opened(paths, left_out, len(paths)):
        # From here on a recording's number is the one that it has in the pack.
        of = {first + at: sources[one.number] for at, one in enumerate(together)}
        members = [replace(one, number=first + at) for at, one in enumerate(together)]
        try:
            counted = _write(folder, kept, members)
        except Exception as error:
            _must_be_damage(folder, error)
            members = [one for one in members if _can_be_read(folder, one, left_out)]
            if not members:
                return []
            try:
                counted = _write(folder, kept, members)
            except Exception as again:
                _must_be_damage(folder, again)
                for member in members:
                    left_out.add(member.path, f"{folder.parent}: {again}")
                return []
        return [_entry(folder, of[one.number], one, counted.get(one.number, {})) for one in members]
    return []


def _must_be_damage(folder: Path, error: Exception) -> None:
    """Raises what no recording is to blame for."""
    if isinstance(error, Problem):
        return
    if not is_query_error(error):
        raise error
    usage = shutil.disk_usage(folder)
    if usage.free < _LEAST_FREE_BYTES or "No space left" in str(error):
        raise Problem(
            "no-space-left", path=folder, error=str(error).splitlines()[0][:200]
        ) from None


def _can_be_read(folder: Path, member: Member, left_out: LeftOut) -> bool:
    alone = folder.with_name(f"{folder.name}-alone")
    try:
        _write(alone, (), [member])
    except Exception as error:
        _must_be_damage(folder, error)
        left_out.add(member.path, error)
        return False
    finally:
        shutil.rmtree(alone, ignore_errors=True)
    return True


def _write(
    folder: Path, kept: Sequence[Entry], members: Sequence[Member]
) -> dict[int, dict[str, int]]:
    """Writes a file for each table that any of them has, and waits until they are on the disk; the rows of each
    recording, by its number, in each table."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = {name for one in kept for name in one.rows}
    for member in members:
        names.update(member.entry.rows if member.entry else table_names(member.recording.folder))
    ordered = sorted(names)
    before = {name: TableFiles() for name in ordered}
    for one in kept:
        for name in one.rows:
            before[name].shared.setdefault(str(one.file(name).resolve()), {})[one.number] = (
                one.number
            )
    new = table_files(members, ordered)
    paths = {
        name: str((folder / f"{name}.parquet").resolve())
        for name in ordered
        if new[name].files() or before[name].files()
    }
    sources = [file for lies in (before, new) for one in lies.values() for file in one.files()]
    found: dict[int, dict[str, int]] = {}
    # What may be read may be written: nothing but this writes there.
    with closing(reading([*sources, *paths.values()])) as connection:
        must_be_bounded(file_sizes(connection, [file for one in new.values() for file in one.own]))
        for name, path in paths.items():
            if name in tables():
                must_fit(connection, tables()[name], [*before[name].files(), *new[name].files()])
            rows = _rows(before[name], new[name])
            connection.execute(
                f"COPY ({rows}) TO {text_literal(path)} (FORMAT parquet, COMPRESSION zstd)"
            )
            for number, counted in connection.execute(
                f"SELECT {NUMBER}, count(*) FROM read_parquet({listed([path])}) GROUP BY {NUMBER}"
            ).fetchall():
                found.setdefault(number, {})[name] = counted
    _on_disk(folder)
    return found


def _rows(before: TableFiles, added: TableFiles) -> str:
    """Rows in the order of the numbers of their recordings, and within each as it was recorded."""
    parts = [_of_packs(before.shared)] if before.shared else []
    if added.own:
        numbers = ", ".join(map(str, added.own.values()))
        parts.append(
            f"SELECT CAST([{numbers}][CAST(file_index AS BIGINT) + 1] AS BIGINT) AS {NUMBER}, * "
            f"FROM read_parquet({listed(list(added.own))}, union_by_name = true)"
        )
    parts += [_of_packs(added.shared)] if added.shared else []
    return " UNION ALL BY NAME ".join(parts)


def _of_packs(shared: Mapping[str, Mapping[int, int]]) -> str:
    """Rows of packs with the numbers that they are to have."""
    lists = ", ".join(
        "[" + ", ".join(str(found.get(at, "NULL")) for at in range(max(found) + 1)) + "]"
        for found in shared.values()
    )
    return (
        f"SELECT * REPLACE (CAST([{lists}][CAST(file_index AS BIGINT) + 1][{NUMBER} + 1] AS BIGINT) AS {NUMBER}) "
        f"FROM read_parquet({listed(list(shared))}, union_by_name = true) "
        f"WHERE [{lists}][CAST(file_index AS BIGINT) + 1][{NUMBER} + 1] IS NOT NULL"
    )


def _entry(folder: Path, source: _Source, member: Member, rows: Mapping[str, int]) -> Entry:
    if member.entry is not None:
        experiments = member.entry.experiments
    else:
        files = [
            one
            for one in sorted((member.recording.folder / "experiments").glob("*.json"))
            if one.is_file()
        ]
        experiments = tuple(
            read_plain(one, EXPERIMENT_MAX_BYTES).decode("utf-8", "replace") for one in files
        )
    return Entry(
        folder.parent,
        member.number,
        folder.name,
        source.name,
        member.manifest_text.decode(),
        rows,
        experiments,
        source.digest,
    )


def _publish(pack: Path, all_: Sequence[Entry]) -> None:
    """Puts a new index instead of the old one."""
    taken: set[str] = set()
    fresh = pack / f".{INDEX}"
    with closing(reading([str(fresh.resolve())])) as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in INDEX_COLUMNS.items())
        connection.execute(f"CREATE TABLE found ({columns})")
        for one in all_:
            name = _free(one.name, taken)
            taken.add(name)
            row = [
                one.number,
                one.folder,
                name,
                one.manifest,
                json.dumps(dict(one.rows)),
                list(one.experiments),
                one.source,
                one.verdict,
            ]
            connection.execute(f"INSERT INTO found VALUES ({', '.join('?' * len(row))})", row)
        connection.execute(
            f"COPY (SELECT * FROM found ORDER BY {NUMBER}) TO {text_literal(str(fresh.resolve()))} (FORMAT parquet, COMPRESSION zstd)"
        )
    synced(fresh)
    fresh.replace(pack / INDEX)
    for folder in (pack, *list(pack.parents)[:3]):
        synced(folder)


def _free(name: str, taken: set[str]) -> str:
    """NAME.iowhy, NAME-2.iowhy, …"""
    stem = name.removesuffix(".iowhy")
    return next(
        n for n in chain([name], (f"{stem}-{at}.iowhy" for at in count(2))) if n not in taken
    )


def _on_disk(folder: Path) -> None:
    for file in folder.iterdir():
        synced(file)
    synced(folder)
