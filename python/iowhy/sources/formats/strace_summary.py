"""The table of `strace -c` (and -C, -w, -U columns): calls, errors and time per system call.

Layout: strace(1). Without -w (--summary-wall-clock), seconds are CPU time spent in the kernel, and no waiting is
in them. The table looks the same either way: it is CPU time unless the command line in the paste has the option.
"""

from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "strace-c"
TOOL = "strace"
HINT = r"% time\s"
#: What would tell the waiting that a table without -w leaves out.
ELAPSED = "strace -f -c -w -p {pid}"

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

#: Letters of strace's options that take a value.
_WITH_VALUE = "abeEIoOpPsSuUX"
SURE = 0.95
BEGINS = ""
FIRST = (r".*syscall.*\n\s*-[- ]*$", 2)


def read(block: Block) -> Parsed:
    """Into syscall_totals: all threads together, as thread 0 of process 0."""
    elapsed = _wall_clock(block.command or ())
    parsed = Parsed(TOOL, units="elapsed seconds (-w)" if elapsed else "seconds of system CPU time")
    columns: list[str] = []
    rows: list[dict[str, float | str]] = []
    titles = ""
    for n, line in parsed.lines(block):
        text = line.rstrip()
        if "syscall" in text and "calls" in text:
            titles = text
        elif set(text) <= {"-", " "} and titles:
            columns = _columns(titles)
        elif columns and (row := _row(columns, text)) is not None:
            if row["name"] != "total":
                rows.append(row)
        elif not (columns and text.endswith(" total")):  # some versions leave its cells empty
            parsed.reject(n, line)
    _emit(parsed, rows, elapsed=elapsed, shown=block.command is not None)
    return parsed


def _wall_clock(command: Sequence[str]) -> bool:
    """Whether strace's own options, and not those of the command behind them, have -w."""
    words = iter(command[1:])
    for word in words:
        if word == "--summary-wall-clock":
            return True
        if word == "--" or not word.startswith("-") or word == "-":
            return False
        if word.startswith("--"):
            continue
        for at, letter in enumerate(word[1:], 1):
            if letter == "w":
                return True
            if letter in _WITH_VALUE:
                # The value is the rest of the word (-ewrite) or, where nothing is left, the next one.
                if at == len(word) - 1:
                    next(words, None)
                break
    return False


def _columns(titles: str) -> list[str]:
    words = titles.replace("% time", "%time").split()
    return [_TITLES.get(word, f"other{at}") for at, word in enumerate(words)]


def _row(columns: Sequence[str], text: str) -> dict[str, float | str] | None:
    """By the order of its words: only the cell of errors may be empty."""
    cells = text.split()
    if len(cells) == len(columns) - 1 and "errors" in columns:
        cells.insert(columns.index("errors"), "")
    if len(cells) != len(columns):
        return None
    row: dict[str, float | str] = {}
    for name, cell in zip(columns, cells, strict=True):
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
    parsed: Parsed, rows: list[dict[str, float | str]], *, elapsed: bool, shown: bool
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
                "cpu_ns": None if elapsed else total,
            },
        )
    if not rows:
        return
    if elapsed:
        parsed.missing.append("strace -f -ttt -T -y -p {pid}")
        return
    unless = (
        "" if shown else " (had it -w, which nothing here shows: put its command line above it)"
    )
    parsed.note(f"strace -c without -w counts system CPU time: waiting is not in it{unless}")
    parsed.missing.append(ELAPSED)
