"""Open a recording and look at its tables through DuckDB."""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.hung_filesystem import must_answer
from iowhy.invocation import quoted
from iowhy.masking import masked, masked_words
from iowhy.recordings.days import PACK_SUFFIX
from iowhy.recordings.manifest import MANIFEST, Manifest, parsed_manifest, read_manifest
from iowhy.recordings.object_store import copied, is_stored
from iowhy.recordings.open_tables import OpenTables
from iowhy.recordings.packed import is_packed, unpacked
from iowhy.recordings.query_errors import is_out_of_memory, is_query_error, removed_while_read
from iowhy.recordings.query_limits import MEMORY_VARIABLE, memory_bytes
from iowhy.recordings.schema import tables

if TYPE_CHECKING:  # slow to import
    import duckdb


class Recording(Struct, frozen=True):
    """A recording on disk: where it was found, and its manifest. `folder` holds its files."""

    path: Path
    manifest: Manifest
    unpacked: Path | None = None

    @property
    def folder(self) -> Path:
        """The directory that holds its files: the recording itself, or where its pack was unpacked."""
        return self.unpacked or self.path

    @property
    def grows(self) -> bool:
        """Whether its recorder still runs, by the number that the manifest has; one from elsewhere has ended."""
        recorder = self.manifest.recorder.pid
        if self.manifest.complete or recorder is None:
            return False
        try:
            return b"iowhy-record" in Path(f"/proc/{recorder}/cmdline").read_bytes()
        except OSError:
            return False

    @property
    def cut_off(self) -> bool:
        """Whether its recorder was killed: its end is missing, and will not come."""
        if self.manifest.complete or self.grows:
            return False
        # One that grew when it was opened may have ended since, as it should.
        grew = self.manifest.recorder.pid is not None and (self.folder / MANIFEST).exists()
        return not (grew and read_manifest(self.folder / MANIFEST).complete)

    def without_secrets(self) -> "Recording":
        """The same with the secrets in its command line masked: for what is passed on."""
        command = replace(self.manifest.command, argv=masked_words(self.manifest.command.argv))
        notes = tuple(map(masked, self.manifest.notes))
        return replace(self, manifest=replace(self.manifest, command=command, notes=notes))

    def ran(self, sensor: str) -> bool:
        """Whether a sensor ran: without it, what it would have recorded is unknown, not 0."""
        return self.manifest.ran(sensor)

    def files(self, table: str) -> list[Path]:
        """The Parquet files of a table, in the order they were closed."""
        folder = self.folder / table
        if folder.is_symlink() or not folder.is_dir():
            return []
        # A link could point anywhere: a recording is hostile input.
        return sorted(
            f
            for f in folder.glob("*.parquet")
            if f.is_file() and not f.is_symlink() and f.name.isprintable()
        )

    def open_tables(self, written: Collection[Path] = ()) -> OpenTables:
        """A connection to the tables, of which none is there yet; the caller closes it. It may write the files `written`.

        Raises Problem where the recording went away.
        """
        files = {name: self.files(name) for name in tables()}
        if not self._is_there():  # else it would be one in which nothing happened
            raise removed_while_read(self.path)
        return OpenTables(self.path, files, written)

    def connection(self) -> "duckdb.DuckDBPyConnection":
        """A connection with one view per table of the schema; the caller closes it.

        A table without files is an empty view of the right types. Raises Problem that names the file
        that cannot be read.
        """
        opened = self.open_tables()
        try:
            opened.need(tables())
        except BaseException:
            opened.close()
            raise
        return opened.connection

    @contextmanager
    def connected(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """`connection()` as a context that closes it and turns damage into a Problem."""
        with self.damage_named(), closing(self.connection()) as connection:
            yield connection

    @contextmanager
    def opened(self, written: Collection[Path] = ()) -> Iterator[OpenTables]:
        """`open_tables()` as a context that closes it and turns damage into a Problem."""
        with self.damage_named(), closing(self.open_tables(written)) as opened:
            yield opened

    @contextmanager
    def damage_named(self) -> Iterator[None]:
        """Turns what DuckDB says of damage, or of memory that does not suffice, or files that go during it, into a Problem."""
        try:
            yield
        except Exception as error:
            # First of all: what is said of a file that went is that it may not be read, or is damaged.
            if isinstance(error, Problem | OSError) or is_query_error(error):
                self._must_be_there(error)
            if not is_query_error(error):
                raise
            first = str(error).splitlines()[0]
            if is_out_of_memory(error):
                raise Problem(
                    "too-little-memory",
                    path=self.path,
                    memory_bytes=memory_bytes() >> 20,
                    first=first,
                    memory_variable=MEMORY_VARIABLE,
                ) from None
            # Of all kinds: what a damaged page makes of a footer or of numbers has no class of its own.
            raise Problem(
                "recording-damaged", path=self.path, first=first, typed=quoted(str(self.path))
            ) from None

    def _must_be_there(self, error: Exception) -> None:
        """Raises Problem where the recording, or the file that an error is about, went away."""
        if not self._is_there():
            raise removed_while_read(self.path) from None
        if isinstance(error, FileNotFoundError) and error.filename is not None:
            file = Path(error.filename)
            if file.is_relative_to(self.folder.resolve()):
                raise removed_while_read(file) from None

    def _is_there(self) -> bool:
        return (self.folder / MANIFEST).exists()


def open_recording(path: str | Path) -> Recording:
    """Open the recording in directory `path`, or packed in a file. Raises Problem when it is none."""
    path = Path(path)
    if is_stored(path):
        return _copied(path)
    must_answer(path)
    if not path.exists():
        if path.parent.name.endswith(PACK_SUFFIX) and path.parent.is_dir():
            return _taken_out(path)
        meant = path.with_name(f"{path.name}.iowhy")
        way_out = (
            f"there is {meant}"
            if meant.is_dir()
            else f"`iowhy run -o {quoted(str(path))} -- CMD` makes one"
        )
        raise Problem("recording-not-found", path=path, way_out=way_out)
    if is_packed(path):
        folder = unpacked(path)
        return Recording(path, read_manifest(folder / MANIFEST), folder)
    if path.name.endswith(PACK_SUFFIX):
        raise Problem("pack-of-several", path=path, typed=quoted(str(path)))
    if not path.is_dir():
        raise Problem("not-a-recording", path=path, typed=quoted(str(path)))
    if not _is_text(str(path.resolve())):
        raise Problem("path-not-utf-8", path=path)
    return Recording(path, read_manifest(path / MANIFEST))


def _copied(path: Path) -> Recording:
    """A recording in an object store, by a copy of it."""
    if path.parent.name.endswith(PACK_SUFFIX):
        return replace(_taken_out(copied(path.parent) / path.name), path=path)
    folder = copied(path)
    if is_packed(folder):
        whole, folder = folder, unpacked(folder)
        whole.unlink()
    return Recording(path, read_manifest(folder / MANIFEST), folder)


def _taken_out(path: Path) -> Recording:
    """A recording of a pack of many."""
    from iowhy.recordings.day_packs import found_entry, taken_out  # of use for fleets only

    one = found_entry(path)
    return Recording(path, parsed_manifest(one.manifest, path), taken_out(one))


def _is_text(name: str) -> bool:
    """Whether a name of the filesystem, any bytes, is UTF-8: Python keeps other bytes as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
