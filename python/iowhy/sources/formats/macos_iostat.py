"""Plain `iostat` of macOS and of the BSDs: KB/t, tps and MB/s of each disk, the CPUs, macOS' load averages.

Manual: iostat(8). MB are 1024 * 1024 bytes; reads and writes are counted together; waiting for a disk counts as idle. The
first row is since boot.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.numbers import KIB, MIB, numbers

NAME = "macos-iostat"
TOOL = "iostat"
HINT = r"^\s*(?:tty\s+)?(?:[a-z]+\d+\s+)*(?:cpu(?:\s+load average)?|[a-z]+\d+)\s*$|^\s*(?:tin\s+tout\s+)?KB/t\s+(?:tps|xfrs)"

_NAMES = re.compile(r"\s*(tty\s+)?((?:[a-z]+\d+\s+)*(?:[a-z]+\d+)?)\s*(cpu)?(\s+load average)?\s*")
_TITLES = re.compile(r"(?:\s|^)KB/t\s+(?:tps|xfrs)\s+MB(?:/s)?(?=\s|$)")
NEAR = (_TITLES.pattern, 2)
_CPU = {"us": "user", "ni": "nice", "sy": "system", "in": "irq", "id": "idle"}


def read(block: Block) -> Parsed:
    """The CPUs into cpu_samples, disks into measurements."""
    parsed = Parsed(TOOL, units="KB/t of 1024 bytes, MB/s of 1024 * 1024; percent of all CPUs")
    disks: list[str] = []
    columns: list[str] = []
    rows: list[dict[str, dict[str, float]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if _TITLES.search(line):
            columns = words
            parsed.host["os"] = "macOS" if "1m" in words else "FreeBSD"
        elif words[0][0].isalpha() and (named := _NAMES.fullmatch(line)) is not None:
            disks = named[2].split()
        elif columns and (row := _row(disks, columns, words)) is not None:
            rows.append(row)
        else:
            parsed.reject(at, line)
    _emit(parsed, rows, block)
    return parsed


def _row(
    disks: Sequence[str], columns: Sequence[str], words: Sequence[str]
) -> dict[str, dict[str, float]] | None:
    """The columns by what they are of: each disk in turn, "cpu", "load"."""
    values = numbers(words)
    if values is None or len(values) != len(columns):
        return None
    found: dict[str, dict[str, float]] = {}
    disk = -1
    for name, value in zip(columns, values, strict=True):
        disk += name == "KB/t"
        if name in {"KB/t", "tps", "xfrs", "MB/s", "MB"}:
            of = disks[disk] if 0 <= disk < len(disks) else f"disk {disk}"
        else:
            of = "cpu" if name in _CPU else "rest"
        found.setdefault(of, {})[name] = value
    return found


def _emit(parsed: Parsed, rows: Sequence[dict[str, dict[str, float]]], block: Block) -> None:
    for row, start, interval in parsed.load(rows, "row of iostat", block, "iostat -w 1 -c 10"):
        end = start + interval
        parsed.note(f"{parsed.host['os']} counts waiting for I/O as idle: iowait is unknown, not 0")
        for of, values in row.items():
            if of == "cpu" and {"us", "sy", "id"} <= values.keys():
                shares = {_CPU[name]: value for name, value in values.items()}
                add_cpu(parsed, shares, start, interval)
            elif "KB/t" in values:
                parsed.measure(of, "operations_per_s", values.get("tps", values.get("xfrs")), end)
                parsed.measure(of, "moved_bytes_per_s", values.get("MB/s"), end, MIB)
                parsed.measure(of, "mean_bytes", values["KB/t"] * KIB, end)
