"""fio's logs (`write_lat_log`, `write_iops_log`, `write_bw_log`): a line for each I/O, or for each window of `log_avg_msec`.

fio's documentation, "Log File Formats": time (ms), value, direction, block size; of newer versions offset and priority. Latencies are ns
since fio 3.0, bandwidths KiB/s. A line does not say which of them its value is, the file's name does: JOB_bw.1.log. Windows have no
block size, so rates and times of the requests need all three logs; of single I/Os the latencies alone have everything.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.sources.format import Parsed, Part, Progress, as_word
from iowhy.sources.names import Names
from iowhy.sources.numbers import KIB, NS_PER_S

NAME = "fio-log"
TOOL = "fio"

MS = 1_000_000
#: Times from here on are of the calendar (`log_unix_epoch`).
EPOCH_MS = 10**11
#: Slices that single I/Os are counted in, and how many of them at most: then they are of a second.
SLICE_NS, SLICES = 100 * MS, 6_000
#: More than damage could make of a time.
MOST_SLICES = 1_000_000
DIRECTIONS = ("read", "write")
_LINE = re.compile(
    rb"(\d{1,15}), (\d{1,18}), ([012]), (\d{1,12})(?:, (?:0x)?[0-9a-f]{1,20}){0,2}\s*"
)
_FILE = re.compile(r"(?P<job>.+)_(?P<kind>bw|iops|lat|clat)(?:\.(?P<nth>\d+))?\.log")
#: In this order a number is taken, if several logs have it.
_KINDS = ("lat", "clat", "iops", "bw")
_ALL = "fio --write_lat_log={0} --write_iops_log={0} --write_bw_log={0} --log_avg_msec=1000"


class _Lines(Struct):
    """Of one direction: time (ms), value and block size of each line."""

    times: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[int]" = field(default_factory=lambda: array("q"))
    sizes: "array[int]" = field(default_factory=lambda: array("q"))


def sniff_head(head: bytes) -> float | None:
    """Its first lines are such lines; the last one may be cut off."""
    lines = head.splitlines()[:300]
    lines = lines[:-1] if len(lines) > 2 and not head.endswith(b"\n") else lines
    good = sum(_LINE.fullmatch(line) is not None for line in lines)
    return 0.8 if good >= 2 and good >= 0.9 * len(lines) else None


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Into measurements by time; `together` makes a disk's counters of those of one job."""
    parsed = Parsed(NAME, units="ms; latencies in ns (before fio 3.0 in µs), KiB/s")
    by_direction = tuple(_Lines() for _ in range(3))
    done, size = 0, path.stat().st_size
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            done += len(line)
            found = _LINE.fullmatch(line)
            if found is not None:
                time, value, direction, block = map(int, found.groups())
                of = by_direction[direction]
                of.times.append(time)
                of.values.append(value)
                of.sizes.append(block)
                parsed.lines_understood += 1
            elif line.strip():
                parsed.reject(number, line.decode(errors="replace").rstrip())
            if number % 100_000 == 0:
                progress(done, size)
    named = _FILE.fullmatch(path.name)
    if named is None:
        parsed.problem = Problem("fio-log-unnamed")
        parsed.lines_understood = 0
        return parsed
    first = min((of.times[0] for of in by_direction if of.times), default=0)
    parsed.clock = "wall" if first >= EPOCH_MS else "own"
    subject = f"{named['job']}.{named['nth'] or 1}"
    for way, of in zip(DIRECTIONS, by_direction, strict=False):
        series = _single if any(of.sizes) else _windows
        for metric, ends, numbers in series(of, named["kind"]):
            for end, number_there in zip(ends, numbers, strict=True):
                parsed.measure(subject, f"{way}_{metric}", float(number_there), int(end))
    return parsed


_Series = tuple[str, Sequence[int], Sequence[float]]


def _windows(of: _Lines, kind: str) -> Iterator[_Series]:
    """What a window's line says, at its end."""
    length = _length_ns(of.times)
    if length is None:
        return
    metric, unit = {"bw": ("bytes_per_s", KIB), "iops": ("iops", 1.0)}.get(kind, ("lat_ns", 1.0))
    if metric == "lat_ns":  # written when the next I/O completes, which may be late
        yield metric, [one * MS for one in of.times], [float(one) for one in of.values]
        return
    ends = np.rint(np.array(of.times, np.float64) * MS / length).astype(np.int64) * length
    yield metric, ends.tolist(), (np.array(of.values, np.float64) * unit).tolist()


def _length_ns(times: Sequence[int]) -> int | None:
    """The length of windows."""
    apart = np.diff(np.unique(np.array(times, np.int64)))
    if not len(apart):
        return (times[0] or 1000) * MS if times else None
    # Times are a little off, and fio's lengths are round.
    half = float(np.median(apart))
    return max(1, round(half / 10) * 10 if half >= 100 else round(half)) * MS


def _single(of: _Lines, kind: str) -> Iterator[_Series]:
    """Single I/Os, counted in slices; of latencies what was in flight, too."""
    ends_ns = np.array(of.times, np.float64) * MS
    begin = (
        float(np.floor(ends_ns.min() / NS_PER_S) * NS_PER_S)
        if ends_ns.min() > EPOCH_MS * MS
        else 0.0
    )
    length = SLICE_NS if ends_ns.max() - begin <= SLICES * SLICE_NS else NS_PER_S
    place = ((ends_ns - begin) // length).astype(np.int64)
    number = max(2, int(place.max()) + 1)
    if number > MOST_SLICES:
        return
    edges = begin + np.arange(number + 1, dtype=np.float64) * length
    ends = edges[1:].astype(np.int64).tolist()
    per_s = NS_PER_S / length
    counts = np.bincount(place, minlength=number)
    yield "iops", ends, (counts * per_s).tolist()
    moved = np.bincount(place, np.array(of.sizes, np.float64), number)
    yield "bytes_per_s", ends, (moved * per_s).tolist()
    if kind not in ("lat", "clat"):
        return
    took = np.array(of.values, np.float64)
    starts, done = np.sort(ends_ns - took), np.sort(ends_ns)
    yield "lat_ns", ends, (np.bincount(place, took, number) / np.maximum(counts, 1)).tolist()
    begun, ended = np.searchsorted(starts, edges, "right"), np.searchsorted(done, edges, "right")
    yield "in_flight", ends, (begun - ended)[1:].tolist()
    # Time in flight up to each edge: since each of those that had begun, without that since those that had ended.
    sums = [np.concatenate(([0.0], np.cumsum(of_all - begin))) for of_all in (starts, done)]
    area = (begun - ended) * (edges - begin) - sums[0][begun] + sums[1][ended]
    yield "queue_length", ends, (np.diff(area) / length).tolist()
    yield "busy_share", ends, (np.diff(_covered(ends_ns - took, ends_ns, edges)) / length).tolist()


def _covered(starts: Any, ends: Any, edges: Any) -> Any:
    """How long anything was in flight, up to each edge."""
    order = np.argsort(starts)
    starts, latest = starts[order], np.maximum.accumulate(ends[order])
    fresh = np.concatenate(([True], starts[1:] > latest[:-1]))
    first = np.flatnonzero(fresh)
    from_, to = starts[first], latest[np.append(first[1:] - 1, len(starts) - 1)]
    upto = np.cumsum(to - from_)
    times = np.column_stack((from_, to)).ravel()
    return np.interp(edges, times, np.column_stack((upto - (to - from_), upto)).ravel())


def together(parts: Sequence[Part], names: Names) -> None:
    """Logs of one job, and of its processes, as the counters of what they asked."""
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        named = _FILE.fullmatch(Path(part.file).name)
        if named is not None:
            jobs.setdefault(named["job"], []).append(part)
    for job, logs in jobs.items():
        logs.sort(key=_rank)
        _counters(job, logs, names)


def _rank(part: Part) -> int:
    named = _FILE.fullmatch(Path(part.file).name)
    return len(_KINDS) if named is None else _KINDS.index(named["kind"])


def _counters(job: str, logs: Sequence[Part], names: Names) -> None:
    """Into disk_samples of the first log, if rates and times are all there; then it is not among the measurements."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for part in logs:
        own: dict[tuple[str, str], dict[int, float]] = {}
        rows = part.parsed.tables.get("measurements", [])
        assert isinstance(rows, list)
        for row in rows:
            series = str(row["subject"]), str(row["metric"])
            own.setdefault(series, {})[int(str(row["ts_ns"]))] = float(str(row["value"]))
        found = own | found
    subjects = {subject for subject, _ in found}
    whole = [
        (subject, direction)
        for subject in sorted(subjects)
        for direction in DIRECTIONS
        if all(
            (subject, f"{direction}_{one}") in found for one in ("iops", "bytes_per_s", "lat_ns")
        )
    ]
    ends = sorted({end for one in whole for end in found[one[0], f"{one[1]}_iops"]})
    length = int(np.median(np.diff(ends))) if len(ends) > 1 else 0
    if not length or (ends[-1] - ends[0]) // length > MOST_SLICES:
        logs[0].parsed.missing.append(_ALL.format(as_word(job)))
        return
    exact = all((one, f"{way}_busy_share") in found for one, way in whole)
    silent: set[int] = set()
    for subject, way in () if exact else whole:
        rates, times = found[subject, f"{way}_iops"], found[subject, f"{way}_lat_ns"]
        placed, late = _placed(rates, times, length)
        found[subject, f"{way}_lat_ns"] = placed
        silent |= late
    parsed = logs[0].parsed
    key = {"dev": names.disk(job)}
    if not exact:
        parsed.note(
            f"{job}: how much of the time it was busy follows from the mean times of its I/Os"
        )
    for end in range(ends[0], ends[-1] + 1, length):
        at = {one: found[one].get(end, 0.0) for one in found}
        counters, levels = _interval(at, whole, length, exact)
        if end in silent and not counters["reads"] + counters["writes"]:
            counters |= {"queue_ns": length, "busy_ns": length}
        parsed.intervals.add("disk_samples", key, end - length, length, counters, levels)
    for part in logs:
        part.parsed.tables.pop("measurements", None)


def _placed(
    rates: dict[int, float], times: dict[int, float], length: int
) -> tuple[dict[int, float], set[int]]:
    """Mean times by the windows in which I/Os completed, and windows in which one was under way and none completed.

    A mean is written when the next I/O completes, and includes it: one that took so long that nothing else completed.
    """
    placed: dict[int, float] = {}
    silent: set[int] = set()
    ends = iter(sorted(end for end, rate in rates.items() if rate > 0))
    before = 0
    for at, mean in sorted(times.items()):
        end = next((one for one in ends if one > before - length / 2), None)
        if end is None:
            break
        before = at
        late, whole = at - end, mean * rates[end] * length / NS_PER_S
        if late >= length and whole >= late:
            silent |= set(range(end + length, at + 1, length))
            mean *= 1 - late / whole
        placed[end] = mean
    return placed, silent


def _interval(
    at: dict[tuple[str, str], float], whole: Sequence[tuple[str, str]], length: int, exact: bool
) -> tuple[dict[str, float], dict[str, int | None]]:
    """Counters and levels of one interval, of all processes of the job."""
    counters = dict.fromkeys(
        ("reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns"), 0.0
    )
    queue = busy = flight = 0.0
    seconds = length / NS_PER_S
    for subject, way in whole:
        count = at[subject, f"{way}_iops"] * seconds
        counters[f"{way}s"] += count
        counters["read_bytes" if way == "read" else "written_bytes"] += (
            at[subject, f"{way}_bytes_per_s"] * seconds
        )
        counters[f"{way}_ns"] += count * at[subject, f"{way}_lat_ns"]
        if exact:
            queue += at[subject, f"{way}_queue_length"] * length
            busy = max(busy, at[subject, f"{way}_busy_share"] * length)
            flight += at[subject, f"{way}_in_flight"]
    if not exact:
        queue = counters["read_ns"] + counters["write_ns"]
        busy = min(queue, length)
    return counters | {"queue_ns": queue, "busy_ns": busy}, {
        "in_flight": int(flight)
    } if exact else {}
