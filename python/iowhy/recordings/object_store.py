"""Recordings in an object store (the API of S3): what is below a prefix, copies of it that are read in its place, and what is put there.

A recording there has a path, too: `s3:/BUCKET/KEY`, as pathlib writes `s3://BUCKET/KEY`. Address and keys of the store come from
the environment (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, …), as obstore reads them.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.days import PACK_SUFFIX
from iowhy.recordings.query_limits import private_folder
from iowhy.recordings.sizes import MOST_FILES

if TYPE_CHECKING:  # an extra
    from obstore.store import ClientConfig, S3Store

SCHEME = "s3:"
#: Files that are copied at a time: each waits for the network most of its time.
#: Objects of a fleet: ten thousand recordings in five hundred files each.
MOST_LISTED = 5_000_000
_TOGETHER = 16
_RETRIES = 3
_CHUNK_BYTES = 8 << 20
#: The end of a Parquet file, in which its footer is, as a rule; its last bytes say how long that is (4 bytes) and "PAR1".
_END_BYTES, _FOOTER_TAIL_BYTES, _MOST_FOOTER_BYTES = 64 << 10, 8, 64 << 20
#: A larger file is put in parts, some at a time; what is smaller in one request, of which nothing can be left behind.
_PART_BYTES, _PARTS_TOGETHER = 16 << 20, 2
#: Where a machine of Amazon's hands out keys: it is asked where the environment has none.
_METADATA = "/latest/api/token"
#: For a request that puts so much: 56 KB/s.
_PUT_WITHIN = "300s"


class Stored(Struct, frozen=True):
    """An object: its path, size, and when it was written (ns since 1970)."""

    path: Path
    bytes: int
    written_ns: int


def is_stored(path: Path) -> bool:
    """Whether a path is that of something in an object store."""
    return path.parts[:1] == (SCHEME,)


def path_of(url: str) -> Path:
    """The path of `s3://BUCKET/KEY`. Raises Problem for what names no bucket."""
    path = Path(url)
    if len(path.parts) < 2 or any(part == ".." for part in path.parts):
        raise Problem("not-an-s3-place", url=url)
    return path


def written(path: Path) -> str:
    """A path as people write it."""
    return f"{SCHEME}//{path.relative_to(SCHEME)}" if is_stored(path) else str(path)


def below(folder: Path, most: int = MOST_LISTED) -> Iterator[Stored]:
    """All objects whose key begins with the folder's. Raises Problem that says what the store answered, and for more than `most`."""
    store, prefix = _store(folder.parts[1]), "/".join(folder.parts[2:])
    import obstore

    listed = 0
    with _answers(folder):
        for some in obstore.list(store, f"{prefix}/" if prefix else None):
            listed += len(some)
            if listed > most:
                raise Problem("store-too-large", path=written(folder), most=most)
            for one in some:
                path = Path(SCHEME, folder.parts[1], one["path"])
                yield Stored(path, one["size"], int(one["last_modified"].timestamp()) * 10**9)


def copied(path: Path, outline: bool = False) -> Path:
    """A directory or file with what is stored under a path, made again in a private directory that goes when this process ends.

    With `outline` of the rows' files the footers alone, each in a file of the length that it should have. Raises Problem where nothing is, where the store does not answer, and if there is no room for it.
    """
    import shutil
    import tempfile
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    above = private_folder()
    if above is None:
        raise Problem("no-directory-to-copy", path=written(path))
    folder = Path(tempfile.mkdtemp(prefix="stored-", dir=above))
    try:
        found = [one for one in below(path, MOST_FILES) if _is_plain(one.path.relative_to(path))]
        if not found:
            _copy(Stored(path, 0, 0), folder / path.name)
            return folder / path.name
        to = folder / path.name
        with ThreadPoolExecutor(min(_TOGETHER, len(found))) as pool:
            list(pool.map(lambda one: _copy(one, to / one.path.relative_to(path), outline), found))
        return to
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, FileNotFoundError):
            raise Problem("nothing-stored-there", path=written(path)) from None
        raise Problem(
            "store-copy-failed", path=written(path), error=error.strerror or error
        ) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def reachable(path: Path) -> None:
    """Raises Problem where no store of that name could be asked: obstore, an address or keys are missing. Asks nothing yet."""
    _store(path.parts[1], _PUT_WITHIN)


def put(path: Path, what: Path | bytes) -> None:
    """Stores a file, or what is given, under a path: all of it or nothing, instead of what is there. Raises Problem that says what the
    store answered, and OSError where the file cannot be read."""
    store = _store(path.parts[1], _PUT_WITHIN)
    import obstore

    large = isinstance(what, Path) and what.stat().st_size > _PART_BYTES
    content = what.read_bytes() if isinstance(what, Path) and not large else what
    try:
        with _answers(path):
            obstore.put(
                store,
                "/".join(path.parts[2:]),
                content,
                use_multipart=large,
                chunk_size=_PART_BYTES,
                max_concurrency=_PARTS_TOGETHER,
            )
    except FileNotFoundError as error:
        if isinstance(what, Path) and not what.exists():
            raise
        raise Problem("store-error", path=written(path), first_line=_first_line(error)) from None


def stored_bytes(path: Path) -> bytes | None:
    """What is stored under a path; None: nothing is. Raises Problem that says what the store answered."""
    store = _store(path.parts[1])
    import obstore

    try:
        with _answers(path):
            return bytes(obstore.get(store, "/".join(path.parts[2:])).bytes())
    except FileNotFoundError:
        return None


def remove(paths: Iterable[Path]) -> None:
    """Takes away what is stored under each path. Raises Problem that says what the store answered."""
    for path in paths:
        store = _store(path.parts[1])
        import obstore

        with _answers(path), suppress(FileNotFoundError):
            obstore.delete(store, "/".join(path.parts[2:]))


def _copy(one: Stored, to: Path, outline: bool = False) -> None:
    import obstore

    to.parent.mkdir(parents=True, exist_ok=True)
    store, key = _store(one.path.parts[1]), "/".join(one.path.parts[2:])
    with _answers(one.path), to.open("xb") as file:
        if outline and _is_of_rows(one.path):
            _copy_end(store, key, one.bytes, file)
        else:
            for chunk in obstore.get(store, key).stream(min_chunk_size=_CHUNK_BYTES):
                file.write(chunk)
    # A fleet's verdicts are found again by these (fleet/definitions.py).
    os.utime(to, ns=(one.written_ns, one.written_ns))


def _copy_end(store: "S3Store", key: str, whole: int, file: BinaryIO) -> None:
    """The end of what is stored, with all of a Parquet file's footer, behind nothing."""
    import obstore

    end = bytes(obstore.get_range(store, key, start=max(whole - _END_BYTES, 0), end=whole))
    footer = int.from_bytes(end[-_FOOTER_TAIL_BYTES:][:4], "little") + _FOOTER_TAIL_BYTES
    if len(end) < min(footer, whole, _MOST_FOOTER_BYTES):
        start = whole - min(footer, whole, _MOST_FOOTER_BYTES)
        end = bytes(obstore.get_range(store, key, start=start, end=whole))
    file.truncate(whole)
    file.seek(whole - len(end))
    file.write(end)


def _is_of_rows(path: Path) -> bool:
    """Whether a file holds rows of a table: an index of a pack is next to the folders of those."""
    return path.suffix == ".parquet" and not path.parent.name.endswith(PACK_SUFFIX)


def _is_plain(name: Path) -> bool:
    """Of a file that a recording or a pack may have, and no other."""
    return 0 < len(name.parts) <= 2 and not any(part in (".", "..") for part in name.parts)


@contextmanager
def _answers(path: Path) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except BaseError as error:
        why = _first_line(error)
        if _METADATA in why:
            raise Problem("store-without-keys", path=written(path)) from None
        raise Problem("store-refused", path=written(path), why=why) from None


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:300]


def _store(bucket: str, within: str | None = None) -> "S3Store":
    """`within`: how long a request may take, else obstore's 30 s."""
    settings = ((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))
    return _store_by(tuple(sorted(settings)), bucket, within)


@cache
def _store_by(settings: tuple[tuple[str, str], ...], bucket: str, within: str | None) -> "S3Store":
    """Of the settings that it reads from the environment: with others it is another store."""
    try:
        from obstore.store import S3Store
    except ModuleNotFoundError:
        raise Problem("obstore-missing") from None
    local = dict(settings).get("AWS_ENDPOINT_URL", "").startswith("http://")
    options: ClientConfig = {"allow_http": True} if local else {}
    if within is not None:
        options["timeout"] = within
    return S3Store(
        bucket,
        client_options=options,
        retry_config={"max_retries": _RETRIES},
    )
