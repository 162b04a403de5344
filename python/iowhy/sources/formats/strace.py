"""Logs of `strace`: -f, -ttt, -tt, -t, -r, -T, -y, -yy, to a file or a terminal.

Layout: strace(1). A call that others interrupt is printed in two lines (`<unfinished ...>`,
`<... read resumed>`). Durations are those of -T; without it only such calls have one. Descriptors are named by
-y, else by the open that returned them. The lines are read by `iowhy-logs` (logs/src/strace).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from iowhy.sources.format import Block, Claim, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import splitter
from iowhy.sources.tracing.events import INTERVAL_NS
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "strace"
HINT = r"\) += (-?\d|\?|0x)|<unfinished \.\.\.>|resumed>|^strace: Process \d+ "

EVENT = (
    r"\s*(\[pid +\d+\] |\d+ +)?((\d\d:\d\d:\d\d(\.\d+)?|\d+\.\d+) +)?"
    r"([a-z_]\w*\(.*(\) += (-?\d+|0x[0-9a-f]+|\?).*|<unfinished \.\.\.>|strace: Process \d+ attached)"
    r"|<\.\.\. \w+ resumed>.*|\+\+\+ .* \+\+\+|--- .* ---"
    r"|strace: Process \d+ (attached|detached)( with \d+ threads)?)\s*$"
)
_LINE = re.compile(EVENT)
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


def read(block: Block) -> Parsed:
    """A log in a paste."""
    parsed = Parsed(NAME)
    with Workspace(on_disk=False) as space:
        split = splitter.from_lines(NAME, block.lines, block.first_line, block.source, parsed)
        _emit(space, split, block.names, parsed)
    return parsed


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """A log in a file of any size."""
    parsed = Parsed(NAME)
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
    split.attach(space)
    split.load(space, "threads", "call_totals")
    _threads(space, int(split.summary["main"]) or 1)
    first = cast(int, space.rows("SELECT min(start_ns) FROM tids")[0][0])
    base = 0 if parsed.clock == "wall" else first
    last = int(summary["last_ns"])
    parsed.tables["threads"] = space.table(
        "threads",
        f"SELECT tid, tgid, ppid, comm, start_ns - {base} AS start_ns, end_ns - {base} AS end_ns, exit_code FROM tids",
    )
    _files(space, split, names)
    # A thread beyond those that are told apart is its own process.
    parsed.tables["syscalls"] = space.table(
        "syscalls",
        f"""SELECT c.ts_ns - {base} AS ts_ns, coalesce(c.dur_ns, {last} - c.ts_ns) AS dur_ns,
            coalesce(t.tgid, c.tid) AS tgid, coalesce(t.tid, c.tid) AS tid, s.text AS name, c.fd, p.dev, p.ino,
            c."offset", c.bytes, c.durable, c.ret
        FROM {split.sql("calls")} c LEFT JOIN tids t ON t.seen = c.tid LEFT JOIN strings s ON s.number = c.name
            LEFT JOIN paths p ON p.number = c.path""",
        in_order=True,
    )
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


def _threads(space: Workspace, main: int) -> None:
    """The log's threads as `tids`, with `seen`, the number that is in the rows: 0 for the first thread, maybe."""
    # A parent 0 is the first thread, where that has no number of its own, or nobody that is known.
    space.run(f"""CREATE TABLE tids AS
        SELECT seen, tid, tgid,
            CASE WHEN parent <> 0 THEN parent WHEN unnumbered AND tgid <> {main} THEN {main} END AS ppid,
            comm, start_ns, end_ns, exit_code
        FROM (SELECT tid::BIGINT AS seen, CASE tid WHEN 0 THEN {main} ELSE tid::BIGINT END AS tid,
            CASE tgid WHEN 0 THEN {main} ELSE tgid::BIGINT END AS tgid, ppid::BIGINT AS parent,
            (SELECT bool_or(tid = 0) FROM threads) AS unnumbered, comm, start_ns, end_ns, exit_code
            FROM threads)
        ORDER BY seen""")


def _files(space: Workspace, split: Split, names: Names) -> None:
    """`paths`: number of the string, device and inode of each file of a call."""
    used = space.rows(f"""SELECT number, text FROM strings
        WHERE number IN (SELECT path FROM {split.sql("calls")}) ORDER BY number""")
    found = [names.file(str(text)) for _, text in used]
    numbers = [number for number, _ in used]
    devs, inos = [dev for dev, _ in found], [ino for _, ino in found]
    columns = {"number": numbers, "dev": devs, "ino": inos}
    space.put("paths", {name: np.array(values, np.int64) for name, values in columns.items()})


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
        parsed.missing.append("strace -f -ttt -T -y -p {pid}")
    for name in sorted(untimed):
        parsed.measure(name, "calls", float(untimed[name]))
    parsed.note("strace does not distinguish time on a CPU from time waiting inside a call")
