"""The table of `strace -c` (and -C, -w, -U columns): calls, errors and time per system call.

Layout: strace(1). Without -w, seconds are CPU time spent in the kernel, not elapsed time; the table does not
say which it is, the command line does.
"""

from __future__ import annotations

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.numbers import number

NAME = "strace-c"
TOOL = "strace"
HINT = r"% time\s"

#: Columns by their titles; "% time" is one title of two words.
_TITLES = {
    "%time": "share",
    "seconds": "seconds",
    "usecs/call": "mean_us",
    "calls": "calls",
    "errors": "errors",
    "syscall": "name",
    "shortest": "shortest",
    "longest": "longest",
    "stime": "seconds",
    "max-time": "longest",
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The line of titles, above one of dashes."""
    if at + 1 < len(lines) and set(lines[at + 1].strip()) == {"-", " "} and "syscall" in lines[at]:
        return Claim(0.95)
    return None


def read(block: Block) -> Parsed:
    """Into syscall_totals: all threads together, as thread 0 of process 0."""
    command = block.command or ()
    elapsed = any(word.startswith("-") and "w" in word for word in command) or any(
        word == "--summary-wall-clock" for word in command
    )
    cpu_only = bool(command) and not elapsed
    parsed = Parsed(TOOL, units="seconds of system CPU time" if cpu_only else "seconds, as -w says")
    columns: list[tuple[str, int, int]] = []
    rows: list[dict[str, float | str]] = []
    titles = ""
    for n, line in enumerate(block.lines, block.first_line):
        text = line.rstrip()
        if not text.strip():
            continue
        if "syscall" in text and "calls" in text:
            titles = text
            parsed.lines_understood += 1
        elif set(text) <= {"-", " "} and titles:
            # The dashes show where a column begins and ends: an empty cell has no word.
            columns = _columns(titles, text)
            parsed.lines_understood += 1
        elif columns and (row := _row(columns, text)) is not None:
            parsed.lines_understood += 1
            if row["name"] != "total":
                rows.append(row)
        else:
            parsed.reject(n, line)
    _emit(parsed, rows, cpu_only=cpu_only, elapsed=elapsed)
    return parsed


def _columns(titles: str, dashes: str) -> list[tuple[str, int, int]]:
    found = []
    start = 0
    for at, word in enumerate(dashes.split(" ")):
        end = start + len(word)
        title = titles[start:end].replace(" ", "")
        # Titles are longer than a narrow column at the line's end only.
        found.append((_TITLES.get(title, f"other{at}"), start, end))
        start = end + 1
    return found


def _row(columns: list[tuple[str, int, int]], text: str) -> dict[str, float | str] | None:
    row: dict[str, float | str] = {}
    last = len(columns) - 1
    for at, (name, start, end) in enumerate(columns):
        cell = text[start:].strip() if at == last else text[start:end].strip()
        if name == "name":
            if not cell or not cell.replace("_", "").isalnum():
                return None
            row[name] = cell
        elif cell:
            value = number(cell)
            if value is None:
                return None
            row[name] = value
    return row if "name" in row and "calls" in row and "seconds" in row else None


def _emit(
    parsed: Parsed, rows: list[dict[str, float | str]], *, cpu_only: bool, elapsed: bool
) -> None:
    for row in rows:
        total = round(float(row["seconds"]) * 1e9)
        longest = row.get("longest")
        parsed.add(
            "syscall_totals",
            {
                "ts_ns": 0,
                "interval_ns": max(1, sum(round(float(r["seconds"]) * 1e9) for r in rows)),
                "tgid": 0,
                "tid": 0,
                "name": row["name"],
                "calls": int(row["calls"]),
                "errors": int(row.get("errors", 0)),
                "total_ns": total,
                "max_ns": None if longest is None else round(float(longest) * 1e9),
                "cpu_ns": total if cpu_only else None,
            },
        )
    if not rows:
        return
    if cpu_only:
        parsed.note("strace -c without -w counts system CPU time: waiting is not in it")
    elif not elapsed:
        parsed.note("strace -c was read as elapsed time (-w); without -w it is system CPU time")
    parsed.missing.append("strace -c -w" if not elapsed else "strace -f -ttt -T -y")
