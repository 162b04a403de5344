"""What the files of a PostgreSQL are, by its catalogue's own files: of a server that lets nobody in (12 and later).

Rows that a transaction has replaced may be there still; the last one of a file counts.
"""

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from iowhy.proc_stat import PROC

_PAGE = 8192
_MOST_BYTES = 64 << 20
#: Numbers of catalogues, which no version changes (include/catalog/pg_*.h).
_NAMESPACES, _CLASSES, _INDEXES = 2615, 1259, 2610
_MAP_MAGIC = 0x592717  # relmapper.c
_NORMAL = 1  # itemid.h, LP_NORMAL
# htup_details.h: both marks of the insertion make it frozen.
_INSERTION, _INSERT_FAILED, _DELETED = 0x0300, 0x0200, 0x0400
#: Kinds of relation that have files.
_TABLES, _INDEX, _TOAST = "rmS", "i", "t"


def objects(pid: int, most: int, proc: Path = PROC) -> list[dict[str, str]]:
    """Of a server's databases, below the folder in which it works."""
    here, found = proc / str(pid) / "cwd", []
    with suppress(OSError, ValueError, LookupError, struct.error):
        folder = here.readlink()
        version = int(_read(here / "PG_VERSION").split(b".")[0])
        databases = sorted((here / "base").iterdir()) if version >= 12 else []
        places = {0: folder / "base"} | _spaces(here, version)
        for database in databases:
            with suppress(OSError, ValueError, LookupError, struct.error):
                found += [
                    {"path": str(place / database.name / str(file)), "object": name}
                    for (space, file), name in _names(database, version).items()
                    if (place := places.get(space))
                ]
    return found[:most]


def tablespaces(folder: Path) -> dict[str, Path]:
    """What is behind their links, by number: that is what the kernel names. One in place is a folder."""
    return {number: _root(folder) / to for number, to in _links(folder).items()}


def _links(folder: Path) -> dict[str, Path]:
    """Where they lead, below the root of who works in this folder."""
    links = folder.glob("pg_tblspc/[0-9]*")
    found = {link.name: link.readlink() for link in links if link.is_symlink()}
    return {number: to.relative_to("/") for number, to in found.items() if to.is_absolute()}


def _root(folder: Path) -> Path:
    """A changed one has its path here; a container's is /."""
    with suppress(OSError):
        return (folder.parent / "root").readlink()
    return Path("/")


def _spaces(folder: Path, version: int) -> dict[int, Path]:
    """Where tablespaces have this version's databases."""
    here, root = folder.parent / "root", _root(folder)
    within = (
        (int(number), next((here / to).glob(f"PG_{version}_*"), None), root / to)
        for number, to in _links(folder).items()
    )
    return {number: to / below.name for number, below, to in within if below is not None}


def _names(database: Path, version: int) -> dict[tuple[int, int], str]:
    """By number of the tablespace, 0 for the database's own, and file."""
    files = _mapped(database)
    # relallfrozen came with 18.
    toast_at = 112 if version >= 18 else 108
    found, names, toasts = {}, {}, {}
    for number, row in _rows(database, files[_CLASSES]):
        schema, file, space = struct.unpack_from("<I16xII", row, 68)
        kind, names[number] = chr(row[toast_at + 7]), _text(row[4:68])
        toasts[struct.unpack_from("<I", row, toast_at)[0]] = number
        files.setdefault(number, file)
        if files[number] and kind in _TABLES + _INDEX + _TOAST:
            found[space, files[number]] = number, kind, schema
    schemas = {number: _text(row[4:68]) for number, row in _rows(database, files[_NAMESPACES])}
    tables = {
        number: struct.unpack_from("<I", row, 4)[0]
        for number, row in _rows(database, files[_INDEXES])
    }
    return {
        file: _named(number, kind, schemas.get(schema, "?"), names, tables, toasts)
        for file, (number, kind, schema) in found.items()
    }


def _named(
    number: int,
    kind: str,
    schema: str,
    names: dict[int, str],
    tables: dict[int, int],
    toasts: dict[int, int],
) -> str:
    if kind == _INDEX:
        return f"{names[number]} (index of {names.get(tables.get(number, 0), '?')})"
    if kind == _TOAST and number in toasts:
        return f"TOAST of {names[toasts[number]]}"
    return f"{schema}.{names[number]}"


def _mapped(database: Path) -> dict[int, int]:
    """Files of the catalogues that have no row of their own for it (pg_filenode.map)."""
    data = _read(database / "pg_filenode.map")
    magic, count = struct.unpack_from("<II", data)
    if magic != _MAP_MAGIC:
        raise ValueError(magic)
    return dict(struct.iter_unpack("<II", data[8 : 8 + 8 * count]))


def _rows(database: Path, file: int) -> Iterator[tuple[int, bytes]]:
    """Rows of a catalogue, each by the number that it begins with."""
    data = _read(database / str(file))
    for at in range(0, len(data) - _PAGE + 1, _PAGE):
        page = data[at : at + _PAGE]
        (lower,) = struct.unpack_from("<H", page, 12)
        for (item,) in struct.iter_unpack("<I", page[24 : max(24, lower) // 4 * 4]):
            offset, flags, length = item & 0x7FFF, item >> 15 & 3, item >> 17
            row = page[offset : offset + length]
            if flags != _NORMAL or len(row) < 24:
                continue
            (marks,), begin = struct.unpack_from("<H", row, 20), row[22]
            valid = marks & _INSERTION != _INSERT_FAILED and not marks & _DELETED
            if valid and len(row) >= begin + 8:
                # A row is as long as its columns without a null.
                body = row[begin:].ljust(128, b"\0")
                yield struct.unpack_from("<I", body)[0], body


def _text(name: bytes) -> str:
    text = name.split(b"\0", 1)[0].decode(errors="replace")
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def _read(file: Path) -> bytes:
    """A plain file: its folder is that of whoever runs the server."""
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(opened, "rb") as source:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError(file)
        return source.read(_MOST_BYTES)
