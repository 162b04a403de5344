"""Logs of `strace`: -f, -ttt, -tt, -t, -r, -T, -y, -yy, to a file or a terminal.

Layout: strace(1). A call that others interrupt is printed in two lines (`<unfinished ...>`,
`<... read resumed>`). Durations are those of -T; without it only such calls have one. Descriptors are named by
-y, else by the open that returned them. The lines are read by `iowhy-logs` (logs/src/strace).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import splitter
from iowhy.sources.tracing.events import INTERVAL_NS
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.workspace import Workspace, mapped, space_for

NAME = "strace"
TOOL = "strace"
HINT = r"\) += (-?\d|\?|0x)|<unfinished \.\.\.>|resumed>|^strace: Process \d+ "

_LINE = re.compile(
    r"\s*(\[pid +\d+\] |\d+ +)?((\d\d:\d\d:\d\d(\.\d+)?|\d+\.\d+) +)?"
    r"([a-z_]\w*\(.*(\) += (-?\d+|0x[0-9a-f]+|\?).*|<unfinished \.\.\.>|strace: Process \d+ attached)"
    r"|<\.\.\. \w+ resumed>.*|\+\+\+ .* \+\+\+|--- .* ---"
    r"|strace: Process \d+ (attached|detached)( with \d+ threads)?)\s*$"
)
_UNITS = {
    "epoch": "times of -ttt, durations of -T in s",
    "day": "times of day (-tt, -t), durations of -T in s",
    "relative": "times since the call before (-r), durations of -T in s",
    "none": "durations of -T in s",
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """A line with a call and its result, or half of one, in strace's layout."""
    if _LINE.match(lines[at][:4096]) is None:
        return None
    # C code and prose have calls too; a second line like it makes it strace.
    near = sum(_LINE.match(line[:4096]) is not None for line in lines[at : at + 4])
    return Claim(0.9 if near > 1 else 0.6, again=True)


def sniff_head(head: bytes) -> float | None:
    """Most of the first whole lines look like strace's."""
    sample = head.decode("utf-8", errors="replace").splitlines()[:-1][:200]
    sample = [line for line in sample if line.strip()]
    if not sample:
        return None
    hits = sum(_LINE.match(line[:4096]) is not None for line in sample)
    return 0.95 if hits >= 0.8 * len(sample) else None


def read(block: Block) -> Parsed:
    """A log in a paste."""
    parsed = Parsed(TOOL)
    with Workspace(on_disk=False) as space:
        split = splitter.from_lines(NAME, block.lines, block.first_line, block.source, parsed)
        _emit(space, split, block.names, parsed)
    return parsed


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """A log in a file of any size."""
    parsed = Parsed(TOOL)
    with space_for(path) as space:
        split = splitter.from_path(NAME, path, parsed, progress)
        _emit(space, split, names, parsed)
    return parsed


def _emit(space: Workspace, split: Split, names: Names, parsed: Parsed) -> None:
    summary = split.summary
    if not summary["calls"]:
        parsed.lines_understood = 0
        return
    parsed.clock = "wall" if summary["clock"] == "epoch" else "own"
    parsed.units = _UNITS[summary["clock"]]
    threads = _threads(split)
    base = 0 if parsed.clock == "wall" else pc.min(threads["start_ns"]).as_py()
    last = int(summary["last_ns"])
    space.put("tids", threads)
    parsed.tables["threads"] = space.table(
        "threads",
        f"SELECT tid, tgid, ppid, comm, start_ns - {base} AS start_ns, end_ns - {base} AS end_ns, exit_code FROM tids",
    )
    parsed.tables["syscalls"] = mapped(
        _batches(split, _Numbers(threads), *_files(split, names), base, last), _SCHEMA
    )
    split.load(space, "call_totals")
    first = "(SELECT min(start_ns) FROM tids)"
    slot = f"second * {INTERVAL_NS}"
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT greatest({slot}, {first}) - {base} AS ts_ns,
            greatest(1, least({slot} + {INTERVAL_NS}, {last}) - greatest({slot}, {first})) AS interval_ns,
            t.tgid, t.tid, c.name, sum(calls) AS calls, sum(errors) AS errors,
            sum(total_ns) AS total_ns, max(max_ns) AS max_ns
        FROM call_totals c JOIN tids t ON t.seen = c.tid GROUP BY ALL""",
    )
    _notes(summary, parsed)


def _threads(split: Split) -> pa.Table:
    """The log's threads, with `seen`, the number that stands in the rows: 0 for the first thread, maybe."""
    main = int(split.summary["main"]) or 1
    threads = split.texts("threads").read_all().sort_by("tid")

    def number(column: str) -> Any:
        values = threads[column].cast(pa.int64())
        return pc.if_else(pc.equal(values, 0), main, values)

    tgids = number("tgid")
    # A parent 0 is the first thread, where that has no number of its own, or nobody that is known.
    unnumbered = pc.any(pc.equal(threads["tid"], 0)).as_py()
    parent = threads["ppid"].cast(pa.int64())
    first = pc.if_else(
        pc.and_(unnumbered, pc.not_equal(tgids, main)), main, pa.scalar(None, pa.int64())
    )
    return pa.table(
        {
            "seen": threads["tid"].cast(pa.int64()),
            "tid": number("tid"),
            "tgid": tgids,
            "ppid": pc.if_else(pc.equal(parent, 0), first, parent),
            "comm": threads["comm"],
            "start_ns": threads["start_ns"],
            "end_ns": threads["end_ns"],
            "exit_code": threads["exit_code"],
        }
    )


def _files(split: Split, names: Names) -> tuple[pa.Array, pa.Array]:
    """Device and inode of each string that a call has as its file."""
    used = np.zeros(len(split.strings), dtype=bool)
    for batch in split.batches("calls"):
        used[batch["path"].drop_null().to_numpy()] = True
    devs = np.zeros(len(used), dtype=np.int64)
    inos = np.zeros(len(used), dtype=np.int64)
    for index in np.flatnonzero(used):
        devs[index], inos[index] = names.file(split.strings[index].as_py())
    return pa.array(devs), pa.array(inos)


class _Numbers:
    """The thread and the process of the numbers that stand in the rows."""

    def __init__(self, threads: pa.Table) -> None:
        self._seen, self._tids, self._tgids = (
            threads[name].to_numpy() for name in ("seen", "tid", "tgid")
        )

    def of(self, seen: pa.Array) -> tuple[pa.Array, pa.Array]:
        """(tids, tgids); a thread beyond those that are told apart is its own process."""
        numbers = seen.to_numpy().astype(np.int64)
        at = np.minimum(np.searchsorted(self._seen, numbers), len(self._seen) - 1)
        known = self._seen[at] == numbers
        return (
            pa.array(np.where(known, self._tids[at], numbers)),
            pa.array(np.where(known, self._tgids[at], numbers)),
        )


_SCHEMA = pa.schema(
    [
        (name, pa.string() if name == "name" else pa.int64())
        for name in (
            "ts_ns", "dur_ns", "tgid", "tid", "name", "fd", "dev", "ino", "offset", "bytes", "ret"
        )
    ]
)  # fmt: skip


def _batches(
    split: Split, threads: _Numbers, devs: pa.Array, inos: pa.Array, base: int, last: int
) -> Iterator[pa.RecordBatch]:
    strings = split.strings.cast(pa.string())
    for batch in split.batches("calls"):
        tids, tgids = threads.of(batch["tid"])
        columns = [
            pc.subtract(batch["ts_ns"], base),
            pc.coalesce(batch["dur_ns"], pc.subtract(last, batch["ts_ns"])),
            tgids,
            tids,
            strings.take(batch["name"]),
            batch["fd"].cast(pa.int64()),
            devs.take(batch["path"]),
            inos.take(batch["path"]),
            *(batch[name] for name in ("offset", "bytes", "ret")),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _notes(summary: dict[str, object], parsed: Parsed) -> None:
    untimed = summary["untimed"]
    assert isinstance(untimed, dict)
    if summary["clock"] == "none":
        parsed.note("the log has no times: calls are laid one after the other")
    if summary["strings_full"]:
        parsed.note("the log names too many files: later ones are left without a name")
    count, calls = sum(untimed.values()), int(str(summary["calls"]))
    if count:
        why = ": strace ran without -T" if count > calls / 2 else ""
        parsed.note(f"{count:,} of {calls:,} calls have no duration{why}")
    if count or summary["clock"] == "none":
        parsed.missing.append("strace -f -ttt -T -y")
    for name in sorted(untimed):
        row = {"tool": TOOL, "subject": name, "metric": "calls", "value": float(untimed[name])}
        parsed.add("measurements", row)
    parsed.note("time on a CPU and time waiting inside a call are not told apart by strace")
