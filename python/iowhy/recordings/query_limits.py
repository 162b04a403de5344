"""What an analysis may take of the machine: a recording that is small on disk may be large in memory."""

import atexit
import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.quantities import positive_size_bytes
from iowhy.recordings.sql_text import text_literal

if TYPE_CHECKING:  # slow to import
    import duckdb

MEMORY_VARIABLE = "IOWHY_MEMORY"
"""Sets the memory that queries may take, as a size (2GiB)."""

LEAST_MEMORY_BYTES = 128 << 20
#: Address space that a query of DuckDB's threads takes at least.
LEAST_ADDRESS_BYTES = 2 << 30
#: By itself a quarter of what is free, up to this: what is more goes to temporary files. With the program itself, what
#: reading Parquet takes beside it, and the rows that are shown, no analysis takes more than 1 GiB.
MOST_MEMORY_BYTES = 640 << 20
MOST_THREADS = 8
#: What a thread that sorts or groups holds at least; with less for each, a query may end though it could have spilled.
THREAD_BYTES = 128 << 20
#: What does not fit the memory is kept in a private directory that goes with the connection.
MOST_SPILLED_BYTES = 8 << 30
#: Such directories, and the file in each that is locked as long as its process lives.
PREFIX, LOCK = "iowhy-", ".in-use"
#: The one of this process, and who made it.
_made: list[tuple[Path, int]] = []


def bound(connection: "duckdb.DuckDBPyConnection") -> None:
    """Limits memory, threads and temporary files of a connection. Raises Problem for a senseless size."""
    memory = memory_bytes()
    threads = max(1, min(len(os.sched_getaffinity(0)), MOST_THREADS, memory // THREAD_BYTES))
    folder = private_folder()
    # Without a place for it nothing is spilled, and what needs more memory is a message.
    spilled = "" if folder is None else str(folder / os.urandom(6).hex())
    connection.execute(f"SET memory_limit = '{memory}B'")
    connection.execute(f"SET threads = {threads}")
    connection.execute(f"SET temp_directory = {text_literal(spilled)}")
    connection.execute(f"SET max_temp_directory_size = '{MOST_SPILLED_BYTES}B'")


@cache
def private_folder() -> Path | None:
    """A directory of this process and its user alone, for spilled rows (DuckDB makes its own readable to everybody)
    and for what is unpacked; None if none can be made."""
    made = _new_folder()
    if made is None:
        return None
    _made.append((made, os.getpid()))
    for left in _left_behind(made.parent):
        _remove(left)
    atexit.register(remove_private_folder)
    return made


def remove_left_behind() -> None:
    """Removes those of the user's processes that were killed."""
    for place in _places():
        for left in _left_behind(place):
            _remove(left)


def _places() -> list[Path]:
    places = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    return [Path(place).absolute() for place in (*filter(None, places), "/tmp", "/var/tmp")]


def _new_folder() -> Path | None:
    """A new one in the first place where one can be made, as `tempfile.mkdtemp` does, which is slow to import."""
    for place in _places():
        made = place / f"{PREFIX}{os.urandom(8).hex()}"
        with suppress(OSError):
            made.mkdir(mode=0o700)
            _hold(made)
            return made
    return None


def _hold(made: Path) -> None:
    """Says until this process ends, however it does, that the directory is in use: held before anybody finds it by that name."""
    part = made / f"{LOCK}.part"
    fcntl.flock(os.open(part, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)
    part.rename(made / LOCK)


def remove_private_folder() -> None:
    """Removes it where this process made one, and not a child that was forked."""
    for made, maker in _made:
        if os.getpid() == maker:
            _remove(made)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        if [*folder.iterdir()] == [folder / LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
            return
    import shutil  # slow to import, and seldom is anything else in it

    shutil.rmtree(folder, ignore_errors=True)


def _left_behind(folder: Path) -> Iterator[Path]:
    """The user's own directories of processes that were killed."""
    for lock in folder.glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):
            made = lock.parent
            if made.is_symlink() or made.lstat().st_uid != os.getuid():
                continue
            file = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield made
            finally:
                os.close(file)


def memory_bytes() -> int:
    """The memory that queries may take."""
    asked = os.environ.get(MEMORY_VARIABLE)
    if asked:
        return max(LEAST_MEMORY_BYTES, positive_size_bytes(MEMORY_VARIABLE, asked))
    return max(LEAST_MEMORY_BYTES, min(_available_bytes() // 4, MOST_MEMORY_BYTES))


def _available_bytes() -> int:
    """MemAvailable of /proc/meminfo (proc_meminfo(5))."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration, ValueError):
        return 1 << 30


def must_have_room() -> None:
    """Raises Problem where `ulimit -v` allows less address space than DuckDB's threads take, which would end in a fault."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < LEAST_ADDRESS_BYTES:
        raise Problem(
            "address-space-too-small",
            most=most >> 20,
            least_address_bytes=LEAST_ADDRESS_BYTES >> 20,
        )
