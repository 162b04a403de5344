"""Measures a device here: what `iowhy device-model` does. Reads anywhere, writes only into a file without a name, which is gone with us."""

import itertools
import json
import mmap
import os
import random
import stat
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.model.device_kind import Device
from iowhy.mounts import mounts

KIB, MIB = 1 << 10, 1 << 20
BLOCK = 4 * KIB
#: The file that is written: larger than most caches of disks would make it take too long on the slowest.
FILE_BYTES = 128 * MIB
LEAST_FILE_BYTES = 32 * MIB
#: One series ends after so many requests or seconds.
_TIMES, _SECONDS = 96, 1.5
_DISTANCES = (
    64 * KIB,
    256 * KIB,
    MIB,
    4 * MIB,
    16 * MIB,
    64 * MIB,
    256 * MIB,
    1 << 30,
    1 << 34,
    1 << 38,
)
_DEPTHS = (4, 16, 32)
#: No device here moves more.
_MOST_MB_PER_S = 50_000.0
#: Larger writes, to see what their bytes take.
_LARGE = 256 * KIB
#: A flush after many writes that takes so many times as long as after one, or after none, has something to carry out for each.
_MANY, _DRAINS = 24, 3.0
#: A place that answers in so much less time than one that was written has no data.
_NOWHERE = 1.5


class Place(Struct):
    """Where reads go (`reads`, of `bytes`), and the file that is written."""

    name: str
    reads: int
    bytes: int
    file: int
    file_bytes: int
    buffer: mmap.mmap


def measured(given: Path) -> Device:
    """The device that a folder or block device is on. Raises Problem where it cannot be measured."""
    with _placed(given) as place:
        access = _access(place)
        first = access[0][1]
        each = _series(place.reads, place.bytes, MIB, lambda at: at + MIB, buffer=place.buffer)
        read_rate = min(MIB / max(each - first, 0.1), _MOST_MB_PER_S)
        arm = access[-1][1] > 4 * access[0][1]
        parallel = 1 if arm else _parallel(place, access[-1][1])
        return _with_writes(place, Device(
            name=place.name[:60],
            source=f"measured by iowhy device-model: {FILE_BYTES // MIB} MiB written, reads of {place.bytes // MIB:,} MiB",
            access_us=access,
            read_mb_per_s=read_rate,
            write_mb_per_s=1.0,
            write_us=0.0,
            flush_us=0.0,
            parallel=parallel,
        ))  # fmt: skip


def _access(place: Place) -> tuple[tuple[float, float], ...]:
    """Time of a small read by its distance from the one before; a place further away never takes less."""
    found = [(0.0, _series(place.reads, place.bytes, BLOCK, lambda at: at + BLOCK, place.buffer))]
    for distance in _DISTANCES:
        if distance > place.bytes // 4:
            break

        def then(at: int, far: int = distance) -> int:
            return at + BLOCK + _about(far)

        us = _series(place.reads, place.bytes, BLOCK, then, place.buffer)
        found.append((float(distance), us))
    moved = BLOCK / 1000  # as at 1 GB/s: next to nothing
    return tuple((distance, round(max(us - moved, 0.1), 2)) for distance, us in found)


def _series(
    fd: int, size: int, bytes_: int, then: Callable[[int], int], buffer: mmap.mmap
) -> float:
    """Median time of reads, in µs: what others do here makes some of them slow, and none quick."""
    view = memoryview(buffer)[:bytes_]
    took, at, until = [], _somewhere(size, bytes_), time.perf_counter() + _SECONDS
    os.preadv(fd, [view], at)
    for _ in range(_TIMES):
        at = then(at)
        if at + bytes_ > size:
            at = _somewhere(size // 4, bytes_)
            os.preadv(fd, [view], at)
            at = then(at)
        begin = time.perf_counter()
        os.preadv(fd, [view], at)
        took.append((time.perf_counter() - begin) * 1e6)
        if time.perf_counter() > until:
            break
    return statistics.median(took)


def _about(distance: int) -> int:
    """Not always the same: a disk that turns would be met at the same angle each time."""
    return int(distance * random.uniform(0.5, 1.5)) // BLOCK * BLOCK


def _somewhere(size: int, bytes_: int) -> int:
    return random.randrange(max(1, (size - bytes_) // BLOCK)) * BLOCK


def _parallel(place: Place, alone_us: float) -> int:
    """How many random reads it works on at once: how many more it does in the same time."""
    best = 1.0

    def some(seconds: float) -> int:
        done, until = 0, time.perf_counter() + seconds
        with mmap.mmap(-1, BLOCK) as own:
            while time.perf_counter() < until:
                os.preadv(place.reads, [own], _somewhere(place.bytes, BLOCK))
                done += 1
        return done

    for depth in _DEPTHS:
        with ThreadPoolExecutor(depth) as pool:
            done = sum(pool.map(some, [_SECONDS / 2] * depth))
        best = max(best, done / (_SECONDS / 2) * alone_us / 1e6)
    return max(1, round(best))


def _with_writes(place: Place, made: Device) -> Device:
    """What writes and flushes take."""
    _written(place, BLOCK, 1)
    nothing = _times(lambda: _flushed(place), 12)
    small, _ = _written(place, BLOCK, 16)
    large, _ = _written(place, _LARGE, 16)
    _flushed(place)
    places = itertools.count(BLOCK, BLOCK)
    one = _times(lambda: _after_next(place, next(places)), 12)
    many = _times(lambda: _after_writes(place, _MANY), 4)
    cache_rate = min((_LARGE - BLOCK) / max(large - small, 0.1), _MOST_MB_PER_S)
    drains = many - nothing > _DRAINS * max(one - nothing, nothing, small)
    cache_mib, rate = _filled(place) if drains else (0.0, cache_rate)
    return Device(
        name=made.name,
        source=made.source,
        access_us=made.access_us,
        read_mb_per_s=round(made.read_mb_per_s, 1),
        write_mb_per_s=round(rate, 1),
        write_us=round(max(small - BLOCK / cache_rate, 0.1), 2),
        flush_us=round(nothing, 2),
        parallel=made.parallel,
        cache_mib=cache_mib,
        cache_mb_per_s=round(cache_rate, 1) if cache_mib else None,
        drain_us=round(max(0.0, one - nothing), 2) if cache_mib else 0.0,
    )


def _after_next(place: Place, at: int) -> float:
    """A flush after a write behind the one before, as logs write: of a disk that turns, that place has just passed."""
    os.pwritev(place.file, [memoryview(place.buffer)[:BLOCK]], at)
    return _flushed(place)


def _after_writes(place: Place, writes: int) -> float:
    """A flush after so many writes here and there."""
    _written(place, BLOCK, writes)
    return _flushed(place)


def _written(place: Place, bytes_: int, times: int) -> tuple[float, float]:
    """Time of writes to places apart, in µs, and all their time."""
    view, took = memoryview(place.buffer)[:bytes_], []
    for _ in range(times):
        at = _somewhere(place.file_bytes, bytes_)
        begin = time.perf_counter()
        os.pwritev(place.file, [view], at)
        took.append((time.perf_counter() - begin) * 1e6)
    return _undisturbed(took), sum(took)


def _flushed(place: Place) -> float:
    begin = time.perf_counter()
    os.fdatasync(place.file)
    return (time.perf_counter() - begin) * 1e6


def _times(what: Callable[[], float], times: int) -> float:
    return _undisturbed([what() for _ in range(times)])


def _undisturbed(took: list[float]) -> float:
    """The quicker quarter ends here: others on this machine make some slow, and none quick."""
    return sorted(took)[len(took) // 4]


def _filled(place: Place) -> tuple[float, float]:
    """Of a volatile cache: its size in MiB, and the rate at which it is carried out, by writes in order until they are slow."""
    view = memoryview(place.buffer)
    took: list[float] = []
    _flushed(place)
    for number in range(place.file_bytes // MIB):
        begin = time.perf_counter()
        os.pwritev(place.file, [view], number * MIB)
        took.append((time.perf_counter() - begin) * 1e6)
    took = [statistics.median(took[at : at + 8]) for at in range(len(took) - 8)]
    quick, slow = took[0], statistics.median(took[-len(took) // 4 :])
    if slow < 1.3 * quick:
        return float(len(took)), round(MIB / slow, 1)
    filled = next(at for at, one in enumerate(took) if one > (quick + slow) / 2) + 4
    return max(1.0, round(filled * (1 - quick / slow), 1)), MIB / slow


@contextmanager
def _placed(given: Path) -> Iterator[Place]:
    folder = _folder(given)
    found = os.statvfs(folder)
    size = min(FILE_BYTES, found.f_bavail * found.f_frsize // 2) // MIB * MIB
    if size < LEAST_FILE_BYTES:
        raise Problem("device-model-no-room", path=folder, least=LEAST_FILE_BYTES // MIB)
    file = _file(folder)
    reads = -1
    try:
        buffer = mmap.mmap(-1, MIB)
        buffer.write(random.randbytes(MIB))
        for at in range(0, size, MIB):
            os.pwritev(file, [buffer], at)
        os.fsync(file)
        name, reads, bytes_ = _device(folder)
        place = Place(name, reads if reads >= 0 else file, bytes_ or size, file, size, buffer)
        if _never_written(place):
            place.reads, place.bytes = file, size
        yield place
    except OSError as error:
        raise Problem("device-model-failed", path=folder, error=error.strerror) from None
    finally:
        os.close(file)
        if reads >= 0:
            os.close(reads)


def _never_written(place: Place) -> bool:
    """Whether places of the device answer sooner than those of the file: volumes that grow as they are written read zeros from nowhere."""
    if place.reads == place.file:
        return False
    device = _here_and_there(place.reads, place.bytes, place.buffer)
    return device * _NOWHERE < _here_and_there(place.file, place.file_bytes, place.buffer)


def _here_and_there(fd: int, size: int, buffer: mmap.mmap) -> float:
    """Time of a read of 1 MiB somewhere."""
    return _series(fd, size, MIB, lambda _: _somewhere(size, MIB), buffer)


def _file(folder: Path) -> int:
    """A file without a name, past the page cache."""
    flags = os.O_RDWR | os.O_DIRECT
    try:
        return os.open(folder, flags | os.O_TMPFILE, 0o600)
    except OSError as error:
        refused = error.strerror
    path = folder / f".iowhy-device-model-{os.getpid()}"
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        raise Problem("device-model-failed", path=folder, error=refused) from None
    path.unlink()
    return file


def _folder(given: Path) -> Path:
    """The folder that is written in: that given, or where the device given is mounted."""
    try:
        kind = given.stat()
    except OSError as error:
        raise Problem("device-model-failed", path=given, error=error.strerror) from None
    if stat.S_ISDIR(kind.st_mode):
        return given
    if not stat.S_ISBLK(kind.st_mode):
        raise Problem("device-model-of-what", path=given)
    number = f"{os.major(kind.st_rdev)}:{os.minor(kind.st_rdev)}"
    for one in mounts():
        if one.device == number and one.options[0] == "rw":
            return Path(one.point)
    raise Problem("device-model-not-mounted", path=given)


def _device(folder: Path) -> tuple[str, int, int]:
    """The whole device for reading, if we may, its name and size; -1 and 0 if not: then reads are of the file alone."""
    number = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    name = place.resolve().name if place.exists() else folder.name
    with suppress(OSError):
        reads = os.open(f"/dev/{name}", os.O_RDONLY | os.O_DIRECT)
        return name, reads, os.lseek(reads, 0, os.SEEK_END)
    return name, -1, 0


def as_toml(made: Device) -> str:
    """What `--device` reads."""
    lines = [
        f"name = {json.dumps(made.name)}",
        f"source = {json.dumps(made.source)}",
        f"access_us = {json.dumps(made.access_us)}",
    ]
    for name in ("read_mb_per_s", "write_mb_per_s", "write_us", "flush_us", "parallel", "cache_mib", "cache_mb_per_s", "drain_us"):  # fmt: skip
        value = getattr(made, name)
        if value is not None:
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"
