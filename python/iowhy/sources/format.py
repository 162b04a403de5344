"""What a foreign format's module provides, and what it hands back.

A module in `iowhy.sources.formats` is found by being there. It has

    NAME: str       the name for `--as`, in words and dashes ("freebsd-vmstat")
    TOOL: str       the program that prints it, as people type it ("vmstat"), if it differs from its name

and one or more of these ways in:

    HINT: str       a regular expression; only at lines that it matches (re.search) is `sniff` asked
    def sniff(lines: Sequence[str], at: int) -> Claim | None
                    does an output of mine begin at lines[at]? Look ahead only a few lines.
    SURE: float, BEGINS: str, NEAR: tuple[str, int], FIRST: tuple[str, int]
                    without `sniff`, a line that HINT matches is mine, this sure (0.9), if one of the next N lines, itself
                    the first, has NEAR's pattern, and FIRST's matches the next N lines together; what BEGINS matches
                    begins an output within one, too
    def read(block: Block) -> Parsed
                    the block runs from the claimed line to the next claim, prompt or end of file

    def sniff_head(head: bytes) -> float | None
                    is a whole file mine, by its first 64 KiB? (0..1) For big logs and binary files.
    EVENT: str, OTHER: str
                    without `sniff_head` and NEAR: what a line matches that is one event; other lines may be between them
    def stream(path: Path, names: Names, progress: Progress) -> Parsed
                    reads such a file with bounded memory
    def together(parts: Sequence[Part], names: Names) -> None
                makes one output of what several files of this format say, if one alone does not suffice

    LONG_LINES: bool = False
                keep lines longer than `LINE_CHARACTERS` (JSON); formats that stream always do

    COMMAS_PART: bool = False
                a comma parts two numbers (CSV, the device 8,160): it is not a decimal sign and groups no thousands

    HISTOGRAMS: bool = False
                its output are histograms: one more without a title belongs to a block under way

A module with `sniff_head` alone (binary) needs no `sniff`. For a big text log have both: in a file
that is one log, `stream` is taken; in a paste, `read`.

A reader never raises on bad text: what it does not understand goes to `Parsed.rejects`, with the
line number. It may raise `iowhy.errors.Problem` when the whole input cannot be used.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.clock import interval_of
from iowhy.sources.intervals import Interval as Interval
from iowhy.sources.intervals import Intervals
from iowhy.sources.names import Names
from iowhy.sources.numbers import NS_PER_S

#: Called with (bytes done, bytes in all) now and then by `stream`.
Progress = Callable[[int, int], None]

#: What `ts_ns` of the rows counts from. "wall": the Unix epoch; "boot": the traced machine's
#: CLOCK_MONOTONIC; "own": the start of this output, because it is not dated.
Clock = Literal["wall", "boot", "own"]

Report = TypeVar("Report")

#: Lines of tables are short; longer ones are cut before a reader's regular expressions meet them.
LINE_CHARACTERS = 2000
#: How many rejected lines are kept with their text; beyond it they are only counted.
REJECTS_KEPT = 1000


def as_word(text: str) -> str:
    """A word of a command in `Parsed.missing`, as it is."""
    return quoted(text).replace("{", "{{").replace("}", "}}")


class Claim(Struct, frozen=True):
    """A format recognises its output at a line.

    `sure` (0..1) decides between formats that claim the same line. `again` says that these lines
    may as well be a header repeated inside a running output: a block that is already this format's
    goes on, instead of a second one being begun.
    """

    sure: float
    again: bool = False


class Block(Struct, frozen=True):
    """Lines of one tool: `lines[i]` is line `first_line + i` of `source`.

    Lines come without line ends, carriage returns, NULs and terminal colours. `command` is the
    command line typed at a prompt before them, when the paste shows one.
    """

    lines: Sequence[str]
    first_line: int
    source: str
    names: Names
    command: tuple[str, ...] | None = None


class Snapshot(Struct, frozen=True):
    """Counters since boot as one copy of a /proc file has them; two copies make an interval.

    `copy` numbers the copies of one file within its block (0, 1, …). The copies may as well be in two
    files: before and after.
    """

    table: str
    key: Mapping[str, object]
    copy: int
    counters: Mapping[str, int]
    levels: Mapping[str, int | None] = field(default_factory=dict)


class Parsed(Struct):
    """What one output says.

    `tables`: rows by table of schema.toml (all required columns present), or rows that are stored.
    `intervals`: rates, to be summed up into the *_samples tables; both use the same `clock`.
    `units`: what the numbers were read as, in words ("kB/s are 1000 bytes").
    `snapshots`: counters since boot, of which the differences count.
    `host`: facts for the manifest: name, kernel, machine, os (text), cpus, memory_bytes,
    page_bytes.
    `notes`: what a reader of the verdict should know ("first report left out: since boot").
    `missing`: what this output would have shown with other options, as a command ("iostat -x 1"), in which `{pid}` is
    the process that is looked at; one with a word in braces that nobody knows is not named (`as_word` writes others).
    `partial`: why this output shows only a part of what happened ("only calls above 10 ms"), None: it is whole.
    `problem`: what kept the whole of it from being read, raised when nothing else was.
    """

    tool: str
    version: str | None = None
    units: str | None = None
    clock: Clock = "own"
    tables: dict[str, list[dict[str, object]] | StoredRows] = field(default_factory=dict)
    intervals: Intervals = field(default_factory=Intervals)
    snapshots: list[Snapshot] = field(default_factory=list)
    host: dict[str, object] = field(default_factory=dict)
    lines_understood: int = 0
    rejects: list[tuple[int, str]] = field(default_factory=list)
    rejects_dropped: int = 0
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    partial: str | None = None
    problem: Problem | None = None
    #: Of its tables' rows: how many lines of figures are among its lines and were not understood, and how many were.
    skipped: int = 0
    figures: int = 0

    def add(self, table: str, row: dict[str, object]) -> None:
        """Append one row to a table that holds plain rows."""
        rows = self.tables.setdefault(table, [])
        assert isinstance(rows, list)
        rows.append(row)

    def measure(
        self,
        subject: str,
        metric: str,
        value: float | None,
        ts_ns: int | None = None,
        unit: float = 1,
    ) -> None:
        """Append a summary number to measurements; an unknown one (or one that is no number) is left out."""
        if value is not None and math.isfinite(value):
            row = {"ts_ns": ts_ns, "tool": self.tool, "subject": subject, "metric": metric}
            self.add("measurements", {**row, "value": float(value * unit)})

    def measures(
        self, subject: str, values: Mapping[str, float | None], ts_ns: int | None = None
    ) -> None:
        """Append numbers of one subject, by metric."""
        for metric, value in values.items():
            self.measure(subject, metric, value, ts_ns)

    def bucket(
        self,
        metric: str,
        low: int,
        high: int | None,
        count: int,
        dev: str | None = None,
        comm: str | None = None,
    ) -> None:
        """Append one row to histograms."""
        of = {"ts_ns": None, "metric": metric, "dev": dev, "comm": comm}
        self.add("histograms", {**of, "low": low, "high": high, "count": count})

    def lines(self, block: Block) -> Iterator[tuple[int, str]]:
        """Number and text of the lines that are not empty; one is understood unless it is rejected before the next is asked for."""
        for number, line in enumerate(block.lines, block.first_line):
            if line.strip():
                rejected = len(self.rejects) + self.rejects_dropped
                yield number, line
                self.lines_understood += rejected == len(self.rejects) + self.rejects_dropped

    def length_ns(self, known: int | None, load: object, times: Sequence[int] = ()) -> int:
        """How long an interval is: as `known`, else the mean between `times`, else 1 s, which is noted if there is any load."""
        if known is None and len(times) > 1:
            known = round((times[-1] - times[0]) / (len(times) - 1)) or None
        if known is None and load:
            self.note(f"the interval of {self.tool} is not shown: 1 s is assumed")
        return known or NS_PER_S

    def load(
        self, reports: Sequence[Report], what: str, block: Block, more: str
    ) -> Iterator[tuple[Report, int, int]]:
        """Each report but the first, which is since boot, with its start and length; `more` is the command that gives some."""
        if reports:
            self.note(f"the first {what} is an average since boot, and not taken for load")
        if len(reports) < 2:
            self.missing.append(more)
        length = self.length_ns(interval_of(block.command), reports[1:])
        for at, report in enumerate(reports[1:]):
            yield report, at * length, length

    def request(
        self,
        dev: int | None,
        times: tuple[int, int, int],
        sector: int | None,
        size: int,
        op: str,
        flags: Sequence[str],
        tid: int,
        kind: str = "",
    ) -> None:
        """Append one row to block_requests; `times`: queued, issued, completed; `kind`: of what it is, if that is known."""
        kind = kind or ("flush" if op == "flush" else "unknown")
        queue, issue, complete = times
        row: dict[str, object] = {
            "queue_ns": queue,
            "issue_ns": issue,
            "complete_ns": complete,
            "dev": dev,
        }
        row |= {"sector": sector, "bytes": size, "op": op, "flags": list(flags), "tgid": tid}
        self.add("block_requests", {**row, "tid": tid, "owner_kind": kind, "in_scope": True, "error": 0})  # fmt: skip

    def reject(self, number: int, text: str) -> None:
        """Note a line that was not understood; its text is cut to 200 characters."""
        if len(self.rejects) < REJECTS_KEPT:
            self.rejects.append((number, text[:200]))
        else:
            self.rejects_dropped += 1

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)


class Format(Struct, frozen=True):
    """One module of `iowhy.sources.formats`, with the ways in that it has."""

    name: str
    tool: str
    hint: re.Pattern[str] | None
    sniff: Callable[[Sequence[str], int], Claim | None] | None
    read: Callable[[Block], Parsed] | None
    sniff_head: Callable[[bytes], float | None] | None
    stream: Callable[[Path, Names, Progress], Parsed] | None
    long_lines: bool
    commas_part: bool
    histograms: bool
    together: "Callable[[Sequence[Part], Names], None] | None"


class Part(Struct, frozen=True):
    """One tool's output in one file, and what it says."""

    file: str
    format: str
    first_line: int
    lines: int
    parsed: Parsed
