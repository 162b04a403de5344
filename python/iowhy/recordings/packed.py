"""Recordings that are packed into one file (packer.py), unpacked to be read.

A pack is a ZIP archive whose entries are stored: Parquet is compressed already, and what is stored cannot become more
than it is. Only what the packer writes is read: entries
one after another from the beginning, as their local headers have them (APPNOTE.TXT 6.3.10, 4.3.7); the directory at the
end is for other programs (`unzip` makes the recording's directory of it). A pack may come from anybody: names are held
against what a recording has, sizes against what is there, and nothing is written but plain files in a private directory.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from iowhy.errors import Problem
from iowhy.recordings.manifest import MOST_TABLES
from iowhy.recordings.query_limits import private_folder
from iowhy.recordings.sizes import MOST_FILES

SUFFIX = ".zip"

#: Signature, version, flags, method, time, date, CRC-32, both sizes, lengths of the name and of what follows it.
_HEADER = struct.Struct("<4s5H3I2H")
_ENTRY, _DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
_UTF8_NAME = 1 << 11  # the only flag of what is stored
#: Above it a ZIP needs other headers. The recorder's files end long before.
MOST_FILE_BYTES = (1 << 31) - 1
_CHUNK_BYTES = 1 << 20
#: A recording's directory, then what it may hold.
_NAME = re.compile(
    r"([^/]{1,255})/(manifest\.json|experiments/[0-9]{1,9}\.json"
    r"|(?!experiments/)[a-z][a-z0-9_]{0,63}/[0-9]{1,9}\.parquet)"
)


def is_packed(path: Path) -> bool:
    """Whether a path is a plain file that begins as a pack does."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_ENTRY)) == _ENTRY
    except OSError:
        return False


def unpacked(path: Path) -> Path:
    """The directory of a packed recording, made again; it goes when this process ends.

    Raises Problem for what `pack` would not have written, and if there is no room for it.
    """
    import shutil
    import tempfile  # slow to import

    above = private_folder()
    if above is None:
        raise Problem("no-directory-to-unpack", path=path)
    folder = Path(tempfile.mkdtemp(prefix="packed-", dir=above))
    try:
        with path.open("rb") as file:
            names: set[str] = set()
            folders: set[str] = set()
            for header in _headers(path, file):
                names.add(_unpack_entry(path, file, folder, header))
                folders.add(header[2].rpartition("/")[0])
                if len(folders) > MOST_TABLES:
                    raise Problem("packed-too-many-folders", path=path, most_tables=MOST_TABLES)
            changed = os.fstat(file.fileno()).st_mtime_ns
        if (folder / "manifest.json").exists() and len(names) == 1:
            for one in folder.rglob("*"):
                # A fleet's verdicts are found again by these (fleet/definitions.py).
                os.utime(one, ns=(changed, changed))
            return folder
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        why = error.strerror or error
        raise Problem("cannot-be-unpacked", path=path, above=above, error=why) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    raise Problem("packed-not-one-recording", path=path)


def _headers(path: Path, file: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """CRC, length and name of each entry; the file is at its content then, and must be read to its end."""
    for _ in range(MOST_FILES + 1):
        head = file.read(_HEADER.size)
        if head.startswith(_DIRECTORY):
            return
        if len(head) < _HEADER.size or not head.startswith(_ENTRY):
            raise Problem("packed-damaged", path=path)
        _, _, flags, method, _, _, crc, stored, size, name_bytes, extra_bytes = _HEADER.unpack(head)
        raw = file.read(name_bytes)
        if len(raw) < name_bytes:
            raise Problem("packed-cut-off", path=path)
        if flags & ~_UTF8_NAME or method or stored != size or extra_bytes or size > MOST_FILE_BYTES:
            raise Problem("pack-of-another-program", path=path)
        yield crc, size, raw.decode("utf-8", "replace")
    raise Problem("packed-too-many-files", path=path, most_files=MOST_FILES)


def _unpack_entry(path: Path, file: IO[bytes], folder: Path, header: tuple[int, int, str]) -> str:
    """Writes one file; the name of the recording that it is of."""
    crc, size, name = header
    found = _NAME.fullmatch(name)
    if found is None:
        raise Problem("pack-holds-other-files", path=path, name=name[:200])
    target = folder / found[2]
    target.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Problem("packed-member-twice", path=path, name=name[:200]) from None
    with os.fdopen(handle, "wb") as out:
        if copy_bytes(file, out, size, path) != crc:
            raise Problem("packed-member-damaged", path=path, name=name[:200])
    return found[1]


def copy_bytes(source: IO[bytes], target: IO[bytes], size: int, named: Path) -> int:
    """Copies so many bytes; their CRC-32. Raises Problem that names a file which has fewer."""
    crc, left = 0, size
    while left:
        chunk = source.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise Problem("packed-bytes-missing", named=named, left=left)
        crc = zlib.crc32(chunk, crc)
        target.write(chunk)
        left -= len(chunk)
    return crc
