"""Logs of `strace`: -f, -ttt, -tt, -t, -r, -T, -y, -yy, to a file or a terminal.

Layout: strace(1). A call that others interrupt is printed in two lines (`<unfinished ...>`,
`<... read resumed>`). Durations are those of -T; without it only such calls have one. Descriptors are named by
-y, else by the open that returned them. The lines are read by `iowhy-logs` (logs/src/strace.rs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import splitter
from iowhy.sources.tracing.events import INTERVAL_NS
from iowhy.sources.tracing.splitter import NO_FD, UNKNOWN, Split
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
        split = splitter.from_lines(
            space, NAME, block.lines, block.first_line, block.source, parsed
        )
        with split:
            _emit(space, split, block.names, parsed)
    return parsed


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """A log in a file of any size."""
    parsed = Parsed(TOOL)
    with space_for(path) as space:
        split = splitter.from_path(space, NAME, path, parsed, progress)
        with split:
            _emit(space, split, names, parsed)
    return parsed


def _emit(space: Workspace, split: Split, names: Names, parsed: Parsed) -> None:
    told = split.summary
    if not told["calls"]:
        parsed.lines_understood = 0
        return
    parsed.clock = "wall" if told["clock"] == "epoch" else "own"
    parsed.units = _UNITS[told["clock"]]
    threads = told["threads"]
    base = 0 if parsed.clock == "wall" else min(int(t["start_ns"]) for t in threads.values())
    main = int(told["main"]) or 1
    _threads(space, threads, main, base, parsed)
    last = int(told["last_ns"])
    parsed.tables["syscalls"] = mapped(
        _batches(split, _Threads(threads, main), *_files(split, names), base, last), _SCHEMA
    )
    first = "(SELECT min(start_ns) FROM tids)"
    slot = f"second * {INTERVAL_NS}"
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT greatest({slot}, {first}) - {base} AS ts_ns,
            greatest(1, least({slot} + {INTERVAL_NS}, {last}) - greatest({slot}, {first})) AS interval_ns,
            t.tgid, t.tid, c.name, sum(calls) AS calls, sum(errors) AS errors,
            sum(total_ns) AS total_ns, max(max_ns) AS max_ns
        FROM totals c JOIN tids t ON t.seen = c.tid GROUP BY ALL""",
    )
    _notes(told, parsed)


def _threads(
    space: Workspace, threads: dict[str, dict[str, object]], main: int, base: int, parsed: Parsed
) -> None:
    """`tids` (seen: the number in the rows, tid, tgid, start_ns), and the recording's threads."""

    def number(told: object) -> int:
        return int(str(told)) or main

    known = [
        {"seen": int(seen), "tid": number(seen), "tgid": number(t["tgid"])}
        | t
        | {"tgid": number(t["tgid"])}
        for seen, t in threads.items()
    ]
    space.put(
        "tids",
        pa.table(
            {
                key: pa.array([int(str(t[key])) for t in known], pa.int64())
                for key in ("seen", "tid", "tgid", "start_ns")
            }
        ),
    )
    # A parent 0 is the first thread, where that has no number of its own, or nobody that is known.
    parsed.tables["threads"] = [
        {
            "tid": t["tid"],
            "tgid": t["tgid"],
            "ppid": _parent(t, main, "0" in threads),
            "comm": t["comm"],
            "start_ns": int(str(t["start_ns"])) - base,
            "end_ns": None if t["end_ns"] is None else int(str(t["end_ns"])) - base,
            "exit_code": t["exit_code"],
        }
        for t in known
    ]


def _parent(thread: dict[str, object], main: int, unnumbered: bool) -> int | None:
    parent = int(str(thread["ppid"]))
    if parent:
        return parent
    return main if unnumbered and thread["tgid"] != main else None


def _files(split: Split, names: Names) -> tuple[Any, Any]:
    """Device and inode of each string that a call has as its file."""
    used = np.zeros(len(split.strings), dtype=bool)
    for block in split.blocks(b"C"):
        used[block["path"]] = True
    used[0] = False
    devs = np.zeros(len(used), dtype=np.int64)
    inos = np.zeros(len(used), dtype=np.int64)
    for index in np.flatnonzero(used):
        devs[index], inos[index] = names.file(split.strings[index])
    return devs, inos


class _Threads:
    """The thread and the process of the numbers that stand in the rows."""

    def __init__(self, threads: dict[str, dict[str, object]], main: int) -> None:
        seen = np.array([int(number) for number in threads], dtype=np.int64)
        order = np.argsort(seen)
        self._seen = seen[order]
        tgids = np.array([int(str(t["tgid"])) or main for t in threads.values()], dtype=np.int64)
        self._tgids = tgids[order]
        self._main = main

    def of(self, seen: Any) -> tuple[Any, Any]:
        """(tids, tgids); a thread beyond those that are told apart is its own process."""
        tids = np.where(seen == 0, self._main, seen).astype(np.int64)
        at = np.minimum(np.searchsorted(self._seen, seen), len(self._seen) - 1)
        return tids, np.where(self._seen[at] == seen, self._tgids[at], tids)


_SCHEMA = pa.schema(
    [
        (name, pa.string() if name == "name" else pa.int64())
        for name in (
            "ts_ns", "dur_ns", "tgid", "tid", "name", "fd", "dev", "ino", "offset", "bytes", "ret"
        )
    ]
)  # fmt: skip


def _batches(
    split: Split, threads: _Threads, devs: Any, inos: Any, base: int, last: int
) -> Iterator[pa.RecordBatch]:
    words = pa.array(split.strings, pa.large_string())
    for block in split.blocks(b"C"):
        tids, tgids = threads.of(block["tid"])
        open_end = block["dur_ns"] == UNKNOWN
        no_file = block["path"] == 0
        columns = [
            pa.array(block["ts_ns"] - base),
            pa.array(np.where(open_end, last - block["ts_ns"], block["dur_ns"])),
            pa.array(tgids),
            pa.array(tids),
            words.take(pa.array(block["name"])).cast(pa.string()),
            pa.array(block["fd"].astype(np.int64), mask=block["fd"] == NO_FD),
            pa.array(devs[block["path"]], mask=no_file),
            pa.array(inos[block["path"]], mask=no_file),
            *(
                pa.array(np.ascontiguousarray(block[name]), mask=block[name] == UNKNOWN)
                for name in ("offset", "bytes", "ret")
            ),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _notes(told: dict[str, object], parsed: Parsed) -> None:
    untimed = told["untimed"]
    assert isinstance(untimed, dict)
    if told["clock"] == "none":
        parsed.note("the log has no times: calls are laid one after the other")
    if told["strings_full"]:
        parsed.note("the log names too many files: later ones are left without a name")
    count, calls = sum(untimed.values()), int(str(told["calls"]))
    if count:
        why = ": strace ran without -T" if count > calls / 2 else ""
        parsed.note(f"{count:,} of {calls:,} calls have no duration{why}")
    if count or told["clock"] == "none":
        parsed.missing.append("strace -f -ttt -T -y")
    for name in sorted(untimed):
        row = {"tool": TOOL, "subject": name, "metric": "calls", "value": float(untimed[name])}
        parsed.add("measurements", row)
    parsed.note("time on a CPU and time waiting inside a call are not told apart by strace")
