"""Recordings that `iowhy fleet pack` put together: those of one day and host in one directory, `recordings.iowhy-pack/`.

    index.parquet              a row for each recording: its number, name and manifest, the rows of its tables, and the
                               folder in which the rows are
    000002/TABLE.parquet       the rows of all of them, in the order of their numbers, which are in `recording_no`

A recording in it has the path `recordings.iowhy-pack/NAME.iowhy`, which is not a directory: opened alone, its rows are written
into a private one. A new index takes the place of the old one when all that it names is there, so that who reads sees
one or the other. A pack may come from anybody: only plain files of these names are read.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.days import PACK_SUFFIX
from iowhy.recordings.manifest import MANIFEST_MAX_BYTES
from iowhy.recordings.object_store import is_stored
from iowhy.recordings.open_tables import file_sizes, listed, reading
from iowhy.recordings.query_errors import is_query_error
from iowhy.recordings.query_limits import private_folder
from iowhy.recordings.sizes import must_be_bounded
from iowhy.recordings.sql_text import text_literal

INDEX = "index.parquet"
#: The column of every table of a pack that says of which recording a row is.
NUMBER = "recording_no"
INDEX_COLUMNS = {
    NUMBER: "BIGINT",
    "folder": "VARCHAR",
    "name": "VARCHAR",
    "manifest": "VARCHAR",
    "rows": "VARCHAR",
    "experiments": "VARCHAR[]",
    "source": "VARCHAR",
    "verdict": "VARCHAR",
}
MOST_PACKED = 100_000

_TABLE = re.compile(r"(?!experiments\Z)[a-z][a-z0-9_]{0,63}")
_FOLDER = re.compile(r"[0-9]{1,9}")
_NAME = re.compile(r"[^/\0]{1,255}")


class Entry(Struct, frozen=True):
    """A recording in a pack. `rows`: of each table that has any; `source`: what it was made of (fleet/packing.py).

    `verdict`: what it says, and by which definitions (fleet/verdicts.py), where that was known. `lies`: where the pack's files are, other
    than its own path: a copy of what is in an object store.
    """

    pack: Path
    number: int
    folder: str
    name: str
    manifest: str
    rows: Mapping[str, int]
    experiments: tuple[str, ...]
    source: str
    verdict: str | None = None
    lies: Path | None = None

    @property
    def path(self) -> Path:
        """What the recording is called."""
        return self.pack / self.name

    def file(self, table: str) -> Path:
        """The file that holds its rows of a table, and those of others. Raises Problem if that is not a plain file."""
        file = (self.lies or self.pack) / self.folder / f"{table}.parquet"
        if file.is_symlink() or file.parent.is_symlink() or not file.is_file():
            raise Problem("pack-file-missing", path=file)
        return file


def is_day_pack(path: Path) -> bool:
    """Whether a directory is a pack that is whole: one that is under way has no index."""
    index = path / INDEX
    return path.name.endswith(PACK_SUFFIX) and index.is_file() and not index.is_symlink()


def in_day_pack(path: Path) -> bool:
    """Whether a path is that of a recording in a pack."""
    return path.parent.name.endswith(PACK_SUFFIX) and (is_stored(path) or is_day_pack(path.parent))


def names(packs: Sequence[Path]) -> dict[Path, list[str]]:
    """The names of the recordings of each pack. Raises Problem that names a pack whose index cannot be read."""
    found: dict[Path, list[str]] = {pack: [] for pack in packs}
    for pack, name in _read(packs, "name"):
        found[pack].append(_checked(pack, "name", name, _NAME))
    return found


def entries(packs: Sequence[Path]) -> dict[Path, Entry]:
    """All recordings of some packs, by their paths. Raises Problem that names a pack whose index cannot be read."""
    found = {}
    for pack, *values in _read(packs, ", ".join(f'"{name}"' for name in INDEX_COLUMNS)):
        one = _entry(pack, dict(zip(INDEX_COLUMNS, values, strict=True)))
        found[one.path] = one
    return found


def _read(packs: Sequence[Path], columns: str) -> Iterator[tuple[Path, ...]]:
    """Columns of the rows of several indexes, each with its pack in front."""
    of = {str((pack / INDEX).resolve()): pack for pack in packs}
    if not of:
        return
    try:
        with closing(reading(list(of))) as connection:
            must_be_bounded(file_sizes(connection, list(of)))
            # Packs that an older iowhy made have no verdicts.
            rows = connection.execute(
                f"""SELECT filename, {columns} FROM (
                    SELECT * FROM read_parquet({listed(list(of))}, filename = true, union_by_name = true)
                    UNION ALL BY NAME SELECT NULL::VARCHAR AS verdict WHERE false
                ) ORDER BY filename, {NUMBER}"""
            ).fetchmany(len(of) * MOST_PACKED)
    except Exception as error:
        if not isinstance(error, Problem) and not is_query_error(error):
            raise
        if len(packs) > 1:
            for pack in packs:
                yield from _read([pack], columns)
            return
        raise Problem(
            "pack-unreadable", path=packs[0] / INDEX, error=str(error).splitlines()[0][:200]
        ) from None
    for row in rows:
        yield of[row[0]], *row[1:]


def _entry(pack: Path, values: Mapping[str, object]) -> Entry:
    number, rows = values[NUMBER], values["rows"]
    if not isinstance(number, int) or not 0 <= number < MOST_PACKED:
        raise Problem("pack-number-wrong", pack=pack / INDEX, number=NUMBER, recording=number)
    manifest = _checked(pack, "manifest", values["manifest"])
    experiments = values["experiments"] or []
    counted = json.loads(rows) if isinstance(rows, str) else None
    if not isinstance(counted, dict) or len(manifest) > MANIFEST_MAX_BYTES:
        raise Problem("pack-recording-changed", pack=pack / INDEX, number=number)
    assert isinstance(experiments, list)
    return Entry(
        pack,
        number,
        _checked(pack, "folder", values["folder"], _FOLDER),
        _checked(pack, "name", values["name"], _NAME),
        manifest,
        {
            _checked(pack, "table", table, _TABLE): count
            for table, count in counted.items()
            if isinstance(count, int) and not isinstance(count, bool) and count > 0
        },
        tuple(_checked(pack, "experiment", one) for one in experiments),
        _checked(pack, "source", values["source"]),
        None if values["verdict"] is None else _checked(pack, "verdict", values["verdict"]),
    )


def _checked(pack: Path, what: str, value: object, form: re.Pattern[str] | None = None) -> str:
    if not isinstance(value, str) or (form is not None and form.fullmatch(value) is None):
        raise Problem("pack-index-wrong", pack=pack / INDEX, what=what, value=value)
    return value


def table_names(folder: Path) -> list[str]:
    """The tables that a recording's directory has, also those that only a newer iowhy knows."""
    return sorted(one.name for one in folder.iterdir() if _TABLE.fullmatch(one.name))


def found_entry(path: Path) -> Entry:
    """The recording at a path in a pack. Raises Problem."""
    found = entries([path.parent])
    if path not in found:
        raise Problem("pack-no-such-recording", path=path, parent=path.parent)
    return found[path]


def taken_out(one: Entry) -> Path:
    """The directory of a recording of a pack, made again; it goes when this process ends.

    Raises Problem for damage, and if there is no room for it.
    """
    import shutil
    import tempfile  # slow to import

    above = private_folder()
    if above is None:
        raise Problem("no-directory-to-unpack", path=one.path)
    folder = Path(tempfile.mkdtemp(prefix="packed-", dir=above))
    try:
        (folder / "manifest.json").write_text(one.manifest)
        if one.experiments:
            (folder / "experiments").mkdir()
        for number, text in enumerate(one.experiments, 1):
            (folder / "experiments" / f"{number:06}.json").write_text(text)
        _take_out(one, folder)
        changed = ((one.lies or one.pack) / INDEX).stat().st_mtime_ns
        for made in folder.rglob("*"):
            # A fleet's verdicts are found again by these (fleet/definitions.py).
            os.utime(made, ns=(changed, changed))
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise Problem(
                "cannot-be-unpacked",
                path=one.path,
                above=above,
                error=error.strerror or error,
            ) from None
        if isinstance(error, Exception) and is_query_error(error):
            raise Problem("path-error", path=one.path, error=str(error).splitlines()[0]) from None
        raise
    return folder


def _take_out(one: Entry, folder: Path) -> None:
    """Writes the recording's rows of each table that has any."""
    sources = {table: str(one.file(table).resolve()) for table in one.rows}
    made = {table: str(folder / table / "000001.parquet") for table in one.rows}
    # What may be read may be written: nothing but this writes there.
    with closing(reading([*sources.values(), *made.values()])) as connection:
        if sources:
            must_be_bounded(file_sizes(connection, list(sources.values())))
        for table, source in sources.items():
            (folder / table).mkdir(mode=0o700)
            connection.execute(
                f"""COPY (
                    SELECT * EXCLUDE ({NUMBER}) FROM read_parquet({listed([source])}) WHERE {NUMBER} = {one.number}
                ) TO {text_literal(made[table])} (FORMAT parquet)"""
            )
