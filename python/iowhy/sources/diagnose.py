"""Put what other tools printed into one recording.

Each file is taken apart or streamed (`reading`), its parts are laid on one time line (`time_line`), rates are
aggregated into the counters that the schema has (`aggregate`), and the pieces of each table are merged (`merge`).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from iowhy import tables
from iowhy.errors import Problem
from iowhy.recordings.manifest import Clock as ClockPair
from iowhy.recordings.manifest import Host, Input, Manifest, Sensor
from iowhy.recordings.recording import Recording
from iowhy.recordings.stored_rows import StoredRows
from iowhy.recordings.writer import Rows, write_recording
from iowhy.sources import aggregate, hosts, merge, reading, recognised, time_line
from iowhy.sources.deduplicate import deduplicate_calls
from iowhy.sources.format import Parsed, Part, Progress
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import STUMBLED
from iowhy.sources.reading import Unread
from iowhy.sources.target import restrict


class Diagnosis(Struct, frozen=True):
    """The recording, the parts it was made of, the lines left over, and commands that would say more."""

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
    host: str | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Read the files ("-" is standard input) into a new recording at `output`.

    `cpus` is the number of CPUs of the machine, for tools that do not print it; `pids` are the processes whose
    time counts, with all that they fork, where the texts say of others too; `host` is the machine that is judged
    where the texts are of several. Raises Problem when a file cannot
    be read, or nothing in any file is understood.
    """
    only = reading.named(as_format)
    names = Names(pids)
    parts: list[Part] = []
    unread: list[Unread] = []
    dropped = 0
    for file in files:
        found, lines, more = reading.read(file, names, only, progress or reading.silent)
        parts += found
        unread += lines
        dropped += more
    for part in parts:
        unread += [Unread(part.file, number, text) for number, text in part.parsed.rejects]
        dropped += part.parsed.rejects_dropped
    unread.sort(key=lambda one: (files.index(one.file) if one.file in files else 0, one.line))
    failed = [part for part in parts if part.parsed.lines_understood <= 0]
    parts = [part for part in parts if part.parsed.lines_understood > 0]
    known = recognised.tools(one.text for one in unread)
    if not parts:
        raise _nothing(files, failed, known)
    for form in formats():
        mine = [part for part in parts if part.format == form.name]
        if mine and form.together is not None:
            form.together(mine, names)
    parts, different = hosts.of_one(parts, host)
    if pids:
        restrict(parts, names.rows()["threads"], pids)
    notes = [*different, *deduplicate_calls(parts)]
    notes += [note for part in failed for note in part.parsed.notes]
    notes += [tool.sentence() for tool in known]
    recording = _record(parts, names, files, output, cpus, notes)
    commands = [command for part in parts for command in part.parsed.missing]
    missing = tuple(dict.fromkeys([*commands, *(tool.instead for tool in known)]))
    return Diagnosis(recording, tuple(parts), tuple(unread), dropped, missing)


def _nothing(
    files: Sequence[str], failed: Sequence[Part], known: Sequence[recognised.Tool]
) -> Problem:
    """What to say when no line of any file was understood."""
    where = ", ".join(files)
    for part in failed:
        if part.parsed.problem is not None:
            return part.parsed.problem
    if known:
        return Problem(
            "log-known-unread", where=where, known="; ".join(tool.sentence() for tool in known)
        )
    notes = [note for part in failed for note in part.parsed.notes if STUMBLED in note]
    if notes:
        return Problem("log-stumbled", where=where, notes=notes[0])
    return Problem("log-not-recognised", where=where)


def _record(
    parts: Sequence[Part],
    names: Names,
    files: Sequence[str],
    output: Path,
    cpus: int | None,
    notes: list[str],
) -> Recording:
    offsets, wall, time_notes = time_line.offsets(parts)
    host, host_notes = _host(parts, cpus)
    notes = [*notes, *time_notes, *host_notes]
    rows, sum_notes = aggregate.aggregate(parts, offsets, host.cpus)
    notes += sum_notes
    merge.disambiguate(parts)
    for note in [note for part in parts for note in part.parsed.notes]:
        if note not in notes:
            notes.append(note)
    whole = _tables(parts, names, offsets, rows)
    end_ns = _end_ns(parts, offsets, rows)
    manifest = Manifest.made(
        source="diagnose",
        mode="paste",
        argv=["iowhy", "diagnose", *files],
        start_ns=None if end_ns is None else 0,
        end_ns=end_ns,
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
                partial=part.parsed.partial,
                tables=_filled(part.parsed),
                figures=part.parsed.figures,
                skipped=part.parsed.skipped,
            )
            for part in parts
        ],
        notes=notes,
    )
    if wall is not None:
        manifest = replace(manifest, clock=ClockPair(monotonic_ns=0, wall_ns=wall))
    return write_recording(output, manifest, whole)


def _filled(parsed: Parsed) -> tuple[str, ...]:
    """The tables that one part has rows for."""
    tables = {name for name, rows in parsed.tables.items() if len(rows)}
    tables |= {columns.table for columns in parsed.intervals.groups()}
    return tuple(sorted(tables | {snapshot.table for snapshot in parsed.snapshots}))


def _tables(
    parts: Sequence[Part],
    names: Names,
    offsets: Sequence[int],
    counters: Mapping[str, StoredRows],
) -> dict[str, Rows]:
    """Each table of the recording: aggregated counters, the parts' own rows, and names."""
    pieces: dict[str, list[Rows]] = defaultdict(list)
    for table, aggregated in counters.items():
        pieces[table].append(aggregated)
    for part, offset in zip(parts, offsets, strict=True):
        for table, given in part.parsed.tables.items():
            pieces[table].append(time_line.shift(table, given, offset))
    for table, named in names.rows().items():
        if named:
            pieces[table].append(named)
    return {table: merge.merge(table, of_table) for table, of_table in pieces.items()}


def _end_ns(
    parts: Sequence[Part], offsets: Sequence[int], counters: Mapping[str, StoredRows]
) -> int | None:
    """The last time on the time line; None when nothing has one."""
    ends = [
        span[1] + offset
        for part, offset in zip(parts, offsets, strict=True)
        if (span := time_line.span_of(part.parsed)) is not None
    ]
    ends += [int(table.value("max(ts_ns)")) for table in counters.values() if len(table)]
    return max(ends) if ends else None


def _host(parts: Sequence[Part], cpus: int | None) -> tuple[Host, list[str]]:
    """What the texts say of the machine; when they disagree, the first one counts."""
    facts: dict[str, object] = {}
    notes: list[str] = []
    for part in parts:
        for name, value in part.parsed.host.items():
            if name in facts and facts[name] != value and name in {"kernel", "cpus"}:
                note = f"the inputs are of different machines: {name} is {facts[name]} and {value}"
                if note not in notes:
                    notes.append(note)
            facts.setdefault(name, value)
    if cpus is not None:
        facts["cpus"] = cpus
    return Host(**facts), notes  # type: ignore[arg-type]


def _sensors(filled: set[str]) -> list[Sensor]:
    sensors = []
    for name, sensor in tables.sensors().items():
        ran = any(table in filled for table in sensor.substitute_tables)
        sensors.append(Sensor(name, ran, None if ran else "none of the inputs says it"))
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
