"""Put what other tools printed into one recording.

Each file is taken apart (`paste`) or streamed, its parts are laid on one time line, rates are summed up into
the counters that the schema has, and where two tools tell the same thing one of them is taken.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iowhy.errors import Problem
from iowhy.recording.manifest import Clock as ClockPair
from iowhy.recording.manifest import Host, Input, Manifest, Sensor
from iowhy.recording.recording import Recording
from iowhy.recording.schema import tables as schema_tables
from iowhy.recording.writer import write_recording
from iowhy.sources.calls_once import one_truth_of_calls
from iowhy.sources.chosen import keep
from iowhy.sources.copies import intervals_of_copies
from iowhy.sources.format import Format, Parsed, Progress, formats
from iowhy.sources.intervals import NO_LEVEL, Columns, Intervals
from iowhy.sources.names import Names
from iowhy.sources.numbers import NS_PER_S
from iowhy.sources.paste import PASTE_MAX_BYTES, Part, decode, split, too_large

#: Above this a file goes to a format that streams it, when one recognises its beginning.
STREAM_FROM_BYTES = 16 * 1024 * 1024
HEAD_BYTES = 64 * 1024

#: The live sensors, each with the table whose rows can stand in for it.
SENSORS = {
    "syscalls": ("syscalls", "syscall_totals"),
    "thread_time": ("thread_time",),
    "waits": ("waits",),
    "stacks": ("stacks",),
    "block_requests": ("block_requests",),
    "page_cache": ("page_cache",),
    "lookups": (),
    "writeback": ("writeback",),
    "dirty_throttle": ("dirty_throttle",),
    "journal_jbd2": ("journal_commits",),
    "journal_xfs": (),
    "allocations_ext4": ("allocations",),
    "allocations_xfs": (),
    "allocations_btrfs": (),
    "extents": ("extents",),
    "files": ("files",),
    "cpu_samples": ("cpu_samples",),
    "memory_samples": ("memory_samples",),
    "vm_samples": ("vm_samples",),
    "disk_samples": ("disk_samples",),
    "pressure_samples": ("pressure_samples",),
    "cgroup_samples": ("cgroup_samples",),
    "process_io": ("process_io",),
}


@dataclass(frozen=True)
class Unread:
    """A line that nothing understood."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Diagnosis:
    """The recording, the parts it was made of, the lines left over, and commands that would tell more."""

    recording: Recording
    parts: tuple[Part, ...]
    unread: tuple[Unread, ...]
    unread_dropped: int
    missing: tuple[str, ...]


def diagnose(
    files: Sequence[str],
    output: Path,
    *,
    as_format: str | None = None,
    cpus: int | None = None,
    pids: Collection[int] = (),
    progress: Progress | None = None,
) -> Diagnosis:
    """Read the files ("-" is standard input) into a new recording at `output`.

    `cpus` is the number of CPUs of the machine, for tools that do not print it; `pids` are the processes whose
    time counts, with all that they fork, where the texts tell of others too. Raises Problem when a file cannot
    be read, or nothing in any file is understood.
    """
    only = _named(as_format)
    names = Names(pids)
    parts: list[Part] = []
    unread: list[Unread] = []
    dropped = 0
    for file in files:
        found, lines, more = _read(file, names, only, progress or _silent)
        parts += found
        unread += lines
        dropped += more
    for part in parts:
        unread += [Unread(part.file, number, text) for number, text in part.parsed.rejects]
        dropped += part.parsed.rejects_dropped
    parts = [part for part in parts if part.parsed.lines_understood > 0]
    if not parts:
        known = ", ".join(form.name for form in formats())
        raise Problem(
            f"{', '.join(files)}: no tool's output was recognised in it; "
            f"name the format with --as (one of {known})"
        )
    if pids:
        keep(parts, names.rows()["threads"], pids)
    notes = one_truth_of_calls(parts)
    unread.sort(key=lambda one: (files.index(one.file) if one.file in files else 0, one.line))
    recording = _record(parts, names, files, output, cpus, notes)
    missing = tuple(dict.fromkeys(m for part in parts for m in part.parsed.missing))
    return Diagnosis(recording, tuple(parts), tuple(unread), dropped, missing)


def _silent(done: int, total: int) -> None:
    """No progress shown."""
    del done, total


def _named(name: str | None) -> Format | None:
    if name is None:
        return None
    for form in formats():
        if form.name == name:
            return form
    known = ", ".join(form.name for form in formats())
    raise Problem(f"--as {name}: no such format; known are {known}")


def _read(
    file: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    if file == "-":
        return _spooled(sys.stdin.buffer, file, names, only, progress)
    if Path(file).is_fifo():  # bash's <(iostat -x 1 10)
        with Path(file).open("rb") as pipe:
            return _spooled(pipe, file, names, only, progress)
    return _read_path(Path(file), file, names, only, progress)


def _spooled(
    pipe: BinaryIO, shown: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    """Read what has no size yet by way of a temporary file."""
    with tempfile.NamedTemporaryFile(prefix="iowhy-diagnose-") as spool:
        try:
            shutil.copyfileobj(pipe, spool, 1 << 20)
            spool.flush()
        except OSError as error:
            raise Problem(f"{shown}: cannot be kept in {spool.name}: {error.strerror}") from None
        return _read_path(Path(spool.name), shown, names, only, progress)


def _read_path(
    path: Path, shown: str, names: Names, only: Format | None, progress: Progress
) -> tuple[list[Part], list[Unread], int]:
    try:
        # A pipe or device would block or never end; only a regular file has a size to trust.
        if not path.is_file():
            if not path.exists():
                raise Problem(f"{shown}: no such file")
            if (path / "manifest.json").is_file():
                raise Problem(f"{shown}: is a recording: iowhy why {shown}")
            raise Problem(f"{shown}: not a regular file")
        length = path.stat().st_size
        with path.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise Problem(f"{shown}: cannot be read: {error}") from None
    if not head.strip():
        raise Problem(f"{shown}: is empty")
    if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        raise Problem(f"{shown}: is compressed; decompress it first (zcat FILE | iowhy diagnose -)")
    form = only or _streaming(head, length)
    if (
        form is not None
        and form.stream is not None
        and (form.read is None or length > STREAM_FROM_BYTES)
    ):
        parsed = form.stream(path, names, progress)
        return [Part(shown, form.name, 1, parsed.lines_understood, parsed)], [], 0
    if only is not None and only.read is None:
        raise Problem(f"{shown}: {only.name} cannot be read from text")
    if length > PASTE_MAX_BYTES:
        raise too_large(shown, length)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Problem(f"{shown}: cannot be read: {error.strerror or error}") from None
    result = split(decode(data, shown), shown, names, only)
    lines = [Unread(shown, number, text) for number, text in result.unread]
    return result.parts, lines, result.unread_dropped


def _streaming(head: bytes, length: int) -> Format | None:
    """The format that recognises a whole file by its beginning, if that is how to read it."""
    best: tuple[float, Format] | None = None
    for form in formats():
        if form.sniff_head is None or (form.read is not None and length <= STREAM_FROM_BYTES):
            continue
        sure = form.sniff_head(head)
        if sure is not None and sure >= 0.5 and (best is None or sure > best[0]):
            best = (sure, form)
    return best[1] if best else None


# --- one time line ------------------------------------------------------------------------------


def _offsets(parts: Sequence[Part]) -> tuple[list[int], int | None, list[str]]:
    """What to add to each part's times so that all begin near 0; the wall time of 0; notes.

    Dated parts keep their distances. Undated ones start at 0, and a second undated output of the same tool comes
    after the first: two outputs of one tool are hardly ever of the same seconds.
    """
    spans = [_span(part.parsed) for part in parts]
    base: dict[str, int] = {}
    for part, span in zip(parts, spans, strict=True):
        if span is not None and part.parsed.clock != "own":
            clock = part.parsed.clock
            base[clock] = min(base.get(clock, span[0]), span[0])
    after: dict[str, int] = defaultdict(int)
    offsets = []
    for part, span in zip(parts, spans, strict=True):
        if span is None:
            offsets.append(0)
        elif part.parsed.clock != "own":
            offsets.append(-base[part.parsed.clock])
        else:
            offset = after[part.format] - min(span[0], 0)
            offsets.append(offset)
            after[part.format] = offset + max(span[1], span[0] + NS_PER_S)
    notes = []
    clocks = {part.parsed.clock for part, span in zip(parts, spans, strict=True) if span}
    if len(clocks) > 1:
        notes.append("not all inputs are dated: they are taken to begin at the same time")
    elif clocks == {"own"} and len({part.format for part in parts}) > 1:
        notes.append("the inputs are not dated: they are taken to begin at the same time")
    return offsets, base.get("wall"), notes


def _span(parsed: Parsed) -> tuple[int, int] | None:
    """First and last time in a part (with what begins then), None when nothing in it is dated."""
    low: list[int] = []
    high: list[int] = []
    for columns in parsed.intervals.groups():
        starts = np.array(columns.starts)
        low.append(int(starts.min()))
        high.append(int((starts + np.array(columns.lengths)).max()))
    for name, rows in parsed.tables.items():
        for column in _time_columns(name):
            lengths = ("interval_ns", "dur_ns") if column == "ts_ns" else ()
            if isinstance(rows, pa.Table):
                if column in rows.column_names and rows.num_rows:
                    times = rows.column(column)
                    extremes = pc.min_max(times).as_py()
                    if extremes["min"] is None:
                        continue
                    low.append(extremes["min"])
                    high.append(extremes["max"])
                    for length in set(lengths) & set(rows.column_names):
                        ends = pc.max(pc.add(times, rows.column(length))).as_py()
                        high += [] if ends is None else [ends]
            else:
                for row in rows:
                    time = row.get(column)
                    if isinstance(time, int):
                        low.append(time)
                        high.append(time)
                        for length in lengths:
                            extra = row.get(length)
                            if isinstance(extra, int):
                                high.append(time + extra)
    return (min(low), max(high)) if low else None


#: Columns that hold a point in time (durations and sums end in _ns too).
TIMES = ("ts_ns", "queue_ns", "issue_ns", "complete_ns", "start_ns", "end_ns")
_NOT_TIMES = {("disk_samples", "queue_ns")}


def _time_columns(table: str) -> list[str]:
    known = schema_tables().get(table)
    if known is None:
        return []
    names = {column.name for column in known.columns}
    return [c for c in TIMES if c in names and (table, c) not in _NOT_TIMES]


def _shift(
    table: str, rows: list[dict[str, object]] | pa.Table, offset: int
) -> list[dict[str, object]] | pa.Table:
    columns = _time_columns(table)
    if offset == 0 or not columns:
        return rows
    if isinstance(rows, pa.Table):
        for column in columns:
            if column in rows.column_names:
                at = rows.column_names.index(column)
                moved = pc.add(rows.column(column), pa.scalar(offset, pa.int64()))
                rows = rows.set_column(at, column, moved)
        return rows
    shifted = []
    for row in rows:
        moved_row = dict(row)
        for column in columns:
            if row.get(column) is not None:
                moved_row[column] = cast(int, row[column]) + offset
        shifted.append(moved_row)
    return shifted


# --- sums ---------------------------------------------------------------------------------------


_Key: TypeAlias = tuple[str, tuple[tuple[str, object], ...]]


@dataclass
class _Series:
    """All intervals of one table and key from one part, in time order; arrays of one length."""

    format: str
    starts: Any
    lengths: Any
    counters: dict[str, Any]
    levels: dict[str, Any]

    def worth(self) -> tuple[int, int]:
        return len(self.starts), len(self.counters)

    def span(self) -> tuple[int, int]:
        return int(self.starts[0]), int(self.starts[-1] + self.lengths[-1])


def _series(form: str, groups: Sequence[Columns], offset: int, cpus: int | None) -> _Series:
    """Groups of one table and key as one series; what some intervals lack is NaN, or NO_LEVEL."""

    def joined(
        name: str, of: Callable[[Columns], Mapping[str, array[Any]]], none: float, kind: type
    ) -> Any:
        return np.concatenate(
            [
                np.array(of(group)[name], kind)
                if name in of(group)
                else np.full(len(group.starts), none, kind)
                for group in groups
            ]
        )

    starts = np.concatenate([np.array(group.starts, np.int64) for group in groups]) + offset
    order = np.argsort(starts, kind="stable")
    lengths = np.concatenate([np.array(group.lengths, np.int64) for group in groups])
    counters = {
        name: joined(name, lambda group: group.counters, np.nan, np.float64)[order]
        for name in dict.fromkeys(name for group in groups for name in group.counters)
    }
    levels = {
        name: joined(name, lambda group: group.levels, NO_LEVEL, np.int64)[order]
        for name in dict.fromkeys(name for group in groups for name in group.levels)
    }
    first = groups[0]
    if first.table == "cpu_samples" and dict(first.key).get("cpu") == -1 and cpus:
        # Tools print all CPUs' mean in percent; the kernel's counters are the sum.
        counters = {name: values * cpus for name, values in counters.items()}
    return _Series(form, starts[order], lengths[order], counters, levels)


def _sum_up(
    parts: Sequence[Part], offsets: Sequence[int], cpus: int | None
) -> tuple[dict[str, list[pa.Table]], list[str]]:
    groups: dict[_Key, list[_Series]] = defaultdict(list)

    def gather(form: str, intervals: Intervals, offset: int, count: int | None) -> None:
        mine: dict[_Key, list[Columns]] = defaultdict(list)
        for columns in intervals.groups():
            mine[columns.table, columns.key].append(columns)
        for key, found in mine.items():
            groups[key].append(_series(form, found, offset, count))

    for part, offset in zip(parts, offsets, strict=True):
        own = part.parsed.host.get("cpus")
        gather(part.format, part.parsed.intervals, offset, own if isinstance(own, int) else cpus)
    copied, notes = intervals_of_copies(parts)
    gather("/proc", copied, 0, None)
    rows: dict[str, list[pa.Table]] = defaultdict(list)
    for (table, key_items), series in groups.items():
        chosen: list[_Series] = []
        for candidate in sorted(series, key=_Series.worth, reverse=True):
            start, end = candidate.span()
            clash = next((c for c in chosen if start < c.span()[1] and c.span()[0] < end), None)
            if clash is None:
                chosen.append(candidate)
            else:
                note = (
                    f"{table} of {candidate.format} left out: {clash.format} covers the same time"
                )
                if note not in notes:
                    notes.append(note)
        chosen.sort(key=lambda c: c.span())
        rows[table].append(_counters(table, dict(key_items), chosen))
    return rows, notes


#: Counters are signed 64-bit.
_COUNTER_MAX = 2.0**62


def _counters(table: str, key: dict[str, object], series: Sequence[_Series]) -> pa.Table:
    """Cumulative rows: one at the start of each stretch of time, one at the end of each interval."""
    names = [
        name
        for name in series[0].counters
        if all(name in one.counters and not np.isnan(one.counters[name]).any() for one in series)
    ]
    levels = dict.fromkeys(name for one in series for name in one.levels)
    starts = np.concatenate([one.starts for one in series])
    ends = starts + np.concatenate([one.lengths for one in series])
    changes = {name: np.concatenate([one.counters[name] for one in series]) for name in names}
    # More than a counter can hold is damage, not load.
    sound = np.ones(len(starts), dtype=bool)
    for values in changes.values():
        if np.abs(np.cumsum(values)).max() > _COUNTER_MAX:
            sound &= np.abs(values) <= _COUNTER_MAX / len(values)
    starts, ends = starts[sound], ends[sound]
    begins = np.ones(len(starts), dtype=bool)
    begins[1:] = starts[1:] > ends[:-1]
    # Where each interval's row comes, and, before it, the row of a stretch that begins with it.
    at = np.arange(len(starts)) + np.cumsum(begins)
    first = at[begins] - 1
    count = len(starts) + len(first)

    def laid(values: Any, before: Any, kind: type = np.int64) -> Any:
        whole: Any = np.empty(count, kind)
        whole[at], whole[first] = values, before
        return whole

    columns: dict[str, pa.Array] = {"ts_ns": pa.array(laid(ends, starts[begins]))}
    schema = schema_tables()[table].arrow_schema
    for name, value in key.items():
        columns[name] = pa.array([value] * count, schema.field(name).type)
    for name in levels:
        told = np.concatenate(
            [one.levels.get(name, np.full(len(one.starts), NO_LEVEL)) for one in series]
        )
        whole = laid(told[sound], NO_LEVEL)
        columns[name] = pa.array(whole, mask=whole == NO_LEVEL)
    for name, values in changes.items():
        sums = np.cumsum(values[sound])
        before = (sums - values[sound])[begins]
        before[:1] = 0.0
        # What is summed up before a stretch is the sum of the interval before it, to the bit.
        places = np.flatnonzero(begins)[1:] - 1
        before[1:] = sums[places]
        columns[name] = pa.array(np.rint(laid(sums, before, np.float64)).astype(np.int64))
    return pa.table(columns)


# --- the recording ------------------------------------------------------------------------------


def _record(
    parts: Sequence[Part],
    names: Names,
    files: Sequence[str],
    output: Path,
    cpus: int | None,
    notes: list[str],
) -> Recording:
    offsets, wall, time_notes = _offsets(parts)
    host, host_notes = _host(parts, cpus)
    notes = [*notes, *time_notes, *host_notes]
    rows, sum_notes = _sum_up(parts, offsets, host.cpus)
    notes += sum_notes
    merged: dict[str, list[list[dict[str, object]] | pa.Table]] = defaultdict(list)
    for table, made in rows.items():
        merged[table] += made
    _tell_apart(parts)
    for part, offset in zip(parts, offsets, strict=True):
        for table, given in part.parsed.tables.items():
            merged[table].append(_shift(table, given, offset))
        for note in part.parsed.notes:
            if note not in notes:
                notes.append(note)
    for table, named in names.rows().items():
        if named:
            merged[table].append(named)
    whole = {table: _joined(table, pieces) for table, pieces in merged.items()}
    ends = [
        span[1] + offset
        for part, offset in zip(parts, offsets, strict=True)
        if (span := _span(part.parsed)) is not None
    ]
    ends += [
        int(pc.max(table.column("ts_ns")).as_py())
        for made in rows.values()
        for table in made
        if table.num_rows
    ]
    manifest = Manifest.made(
        source="diagnose",
        mode="paste",
        argv=["iowhy", "diagnose", *files],
        start_ns=0 if ends else None,
        end_ns=max(ends) if ends else None,
        host=host,
        sensors=_sensors({table for table, given in whole.items() if len(given)}),
        inputs=[
            Input(
                file=part.file,
                tool=part.parsed.tool,
                version=part.parsed.version,
                lines=part.lines,
                first_line=part.first_line,
                units=part.parsed.units,
            )
            for part in parts
        ],
        notes=notes,
    )
    if wall is not None:
        manifest = replace(manifest, clock=ClockPair(monotonic_ns=0, wall_ns=wall))
    return write_recording(output, manifest, whole)


def _tell_apart(parts: Sequence[Part]) -> None:
    """Name the file in a measurement's subject when two files have an undated one of the same name.

    Two runs of a benchmark, before and after, are two numbers and not one with two values.
    """
    files: dict[tuple[object, object, object], set[str]] = defaultdict(set)
    undated = [
        (part, row)
        for part in parts
        for row in _plain_rows(part.parsed.tables.get("measurements", []))
        if row.get("ts_ns") is None
    ]
    for part, row in undated:
        files[row["tool"], row["subject"], row["metric"]].add(part.file)
    clashing = {key[:2] for key, names in files.items() if len(names) > 1}
    for part, row in undated:
        if (row["tool"], row["subject"]) in clashing:
            row["subject"] = f"{row['subject']} [{Path(part.file).name}]"


def _plain_rows(rows: list[dict[str, object]] | pa.Table) -> list[dict[str, object]]:
    return [] if isinstance(rows, pa.Table) else rows


def _joined(
    table: str, pieces: Sequence[list[dict[str, object]] | pa.Table]
) -> list[dict[str, object]] | pa.Table:
    if len(pieces) == 1:
        return _fitting(table, pieces[0])
    if not any(isinstance(piece, pa.Table) for piece in pieces):
        return [row for piece in pieces for row in cast(list[dict[str, object]], piece)]
    schema = schema_tables()[table].arrow_schema
    arrow = [
        piece if isinstance(piece, pa.Table) else pa.Table.from_pylist(piece, schema=schema)
        for piece in pieces
    ]
    return pa.concat_tables([_fitting(table, piece) for piece in arrow], promote_options="default")


def _fitting(
    table: str, piece: list[dict[str, object]] | pa.Table
) -> list[dict[str, object]] | pa.Table:
    """An Arrow table with the schema's types, so that pieces of one table can be joined."""
    if not isinstance(piece, pa.Table) or table not in schema_tables():
        return piece
    schema = schema_tables()[table].arrow_schema
    fields = [schema.field(name) for name in piece.column_names if name in schema.names]
    unknown = [name for name in piece.column_names if name not in schema.names]
    if unknown:
        return piece
    return piece.cast(pa.schema(fields))


def _host(parts: Sequence[Part], cpus: int | None) -> tuple[Host, list[str]]:
    """What the texts tell of the machine; when they disagree, the first one counts."""
    facts: dict[str, object] = {}
    notes: list[str] = []
    for part in parts:
        for name, value in part.parsed.host.items():
            if name in facts and facts[name] != value and name in {"name", "kernel", "cpus"}:
                note = f"the inputs are of different machines: {name} is {facts[name]} and {value}"
                if note not in notes:
                    notes.append(note)
            facts.setdefault(name, value)
    if cpus is not None:
        facts["cpus"] = cpus
    return Host(**facts), notes  # type: ignore[arg-type]


def _sensors(filled: set[str]) -> list[Sensor]:
    sensors = []
    for name, stand_ins in SENSORS.items():
        ran = any(table in filled for table in stand_ins)
        sensors.append(Sensor(name, ran, None if ran else "none of the inputs tells it"))
    return sensors


def describe(parts: Sequence[Part]) -> list[Mapping[str, object]]:
    """The parts for `--json` and the table on the terminal."""
    return [
        {
            "file": part.file,
            "first_line": part.first_line,
            "lines": part.lines,
            "format": part.format,
            "tool": part.parsed.tool,
            "version": part.parsed.version,
            "units": part.parsed.units,
        }
        for part in parts
    ]
