"""OpenZFS' `zpool iostat`: plain, -v (each device), -l (waits), -q (queues), -y, -p.

Manual: zpool-iostat(8). Numbers have letters of powers of 1024; waits are means over the interval: disk_wait is
the device's own, total_wait includes ZFS' queues. Requests in queues (pending) and at the devices (active) are those of
the moment of the report. The first report is since boot unless -y left it out.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S, size

NAME = "zpool-iostat"
TOOL = "zpool iostat"
HINT = r"^\s*capacity\s+operations\s+bandwidth|^pool\s+alloc\s+free\s+read\s+write"
SURE = 0.95

_TITLES = re.compile(r"pool\s+alloc\s+free\s+read\s+write\s+read\s+write\b")
NEAR = (r"^\s*" + _TITLES.pattern, 2)
_WAIT = re.compile(r"([\d.]+)(ns|us|ms|s|m)")
_WAIT_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": NS_PER_S, "m": 60 * NS_PER_S}
#: Rows that stand for several devices below them.
_GROUPS = re.compile(
    r"(?:mirror|raidz\d?|draid\d*|spare|replacing|logs|cache|special|dedup)(?:[-:]\S+)?"
)
#: The waits of which a device's counters are computed.
_DISK = ("disk_wait_read_ns", "disk_wait_write_ns")


class _Report(Struct):
    rows: dict[str, tuple[list[float], dict[str, float]]] = field(default_factory=dict)


def read(block: Block) -> Parsed:
    """Devices into disk_samples (their mean queue and utilisation are not in the text), waits and queues into measurements."""
    parsed = Parsed(TOOL, units="powers of 1024, per second")
    reports: list[_Report] = []
    groups: list[str] = []
    columns: list[str] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] == "capacity":
            groups = words[3:]
        elif _TITLES.match(line.strip()):
            columns = _columns(groups, words[7:])
            reports.append(_Report())
        elif set(line.strip()) <= {"-", " "}:
            pass
        elif reports and len(words) >= 7 and (row := _row(words, columns)) is not None:
            if words[0] in reports[-1].rows:  # without titles between: the next report
                reports.append(_Report())
            if not _GROUPS.fullmatch(words[0]):
                reports[-1].rows[words[0]] = row
        elif not reports or len(words) < 7 or set(words[1:]) != {"-"}:
            parsed.reject(at, line)
    _emit(parsed, [report for report in reports if report.rows], block)
    return parsed


def _columns(groups: Sequence[str], titles: Sequence[str]) -> list[str]:
    """Metrics of the columns behind the six plain ones: two for each group, one for scrub's and trim's waits."""
    names = []
    left = list(groups)
    for title in titles:
        if not left:
            break
        if title in {"pend", "activ"}:
            names.append(f"{left[0]}_{'pending' if title == 'pend' else 'active'}")
        else:
            names.append(f"{left[0]}_{title}_ns")
        if title in {"write", "activ", "wait"}:
            left.pop(0)
    return names


def _row(
    words: Sequence[str], columns: Sequence[str]
) -> tuple[list[float], dict[str, float]] | None:
    cells = [size(word) for word in words[3:7]]
    values = [value for value in cells if value is not None]
    if len(values) < 4:
        return None
    found: dict[str, float] = {}
    for name, word in zip(columns, words[7:], strict=False):
        if not name.endswith("_ns"):
            count = size(word)
            if count is not None:
                found[name] = count
        elif match := _WAIT.fullmatch(word):
            found[name] = float(match[1]) * _WAIT_UNITS[match[2]]
    return values, found


def _emit(parsed: Parsed, reports: Sequence[_Report], block: Block) -> None:
    command = block.command or ()
    skips = any(re.fullmatch(r"-[a-zA-Z]*y[a-zA-Z]*", word) for word in command)
    if reports and not skips:
        parsed.note(
            "the first report of zpool iostat is an average since boot, and not taken for load"
        )
        reports = reports[1:]
    if not reports:
        parsed.missing.append("zpool iostat -vly 1 10")
        return
    interval = parsed.length_ns(interval_of(command), reports)
    # With -v a pool's row is the sum of its devices': counted once.
    names = list(dict.fromkeys(name for report in reports for name in report.rows))
    devices = names[1:] if len(names) > 1 and _nested(block) else names
    seconds = interval / NS_PER_S
    for at, report in enumerate(reports):
        for name, (values, more) in report.rows.items():
            for metric, value in more.items():
                parsed.measure(name, metric, value, (at + 1) * interval)
            if name not in devices:
                continue
            reads, writes, read, written = (one * seconds for one in values)
            counters = {
                "reads": reads,
                "writes": writes,
                "read_bytes": read,
                "written_bytes": written,
            }
            if any(metric in more for metric in _DISK):
                counters["read_ns"] = more.get("disk_wait_read_ns", 0.0) * reads
                counters["write_ns"] = more.get("disk_wait_write_ns", 0.0) * writes
            key = {"dev": block.names.disk(name)}
            parsed.intervals.add("disk_samples", key, at * interval, interval, counters)


def _nested(block: Block) -> bool:
    """Whether rows are indented below a pool's."""
    return any(
        re.match(r"\s+\S+\s+(?:-|[\d.]+[KMGTPE]?)\s", line) and "capacity" not in line
        for line in block.lines
    )
