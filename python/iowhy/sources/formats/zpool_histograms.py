"""OpenZFS' `zpool iostat -w` (latencies) and `-r` (request sizes): histograms by kind of request.

Manual: zpool-iostat(8). A latency's row is named by the largest value in it, 2^n - 1 ns, rounded down to a unit ("1us" is
up to 1023 ns); a size's row by its smallest (include/sys/fs/zfs.h: L_HISTO, RQ_HISTO). The first histogram of a pool is
since boot unless -y left it out.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S, size

NAME = "zpool-histograms"
TOOL = "zpool iostat"
HINT = r"^\s*\S+\s+(?:total_wait\s+disk_wait|sync_read\s+sync_write)\b"

_GROUPS = re.compile(r"\s*(\S+)((?:\s+[a-z]+_?[a-z]+){2,10})\s*")
_LABEL = re.compile(r"(\d{1,18})(ns|us|ms|s)?")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": NS_PER_S, None: 1}


class _Histogram(Struct):
    """Of one pool or device: its columns, and for each row the range and the counts."""

    of: str
    groups: list[str]
    columns: list[str] = field(default_factory=list)
    latencies: bool = True
    rows: list[tuple[int, int, list[float]]] = field(default_factory=list)


SURE = 0.95
FIRST = (r".*\n\s*(?:latency|req_size)\b", 2)


def read(block: Block) -> Parsed:
    """Into histograms, metrics zfs_KIND_ns and zfs_KIND_bytes, and measurements: bounds of percentiles."""
    parsed = Parsed(TOOL, units="ns; bytes; powers of 1024, also in counts")
    found: list[_Histogram] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if set(line.strip()) <= {"-", " "}:
            continue
        groups = _GROUPS.fullmatch(line)
        if groups and re.search(r"_wait\b|_read\b", line):
            found.append(_Histogram(groups[1], groups[2].split()))
        elif found and words[0] in {"latency", "req_size"}:
            found[-1].latencies = words[0] == "latency"
            found[-1].columns = _columns(found[-1].groups, words[1:])
        elif not found or not _row(found[-1], words):
            parsed.reject(at, line)
    _emit(parsed, [one for one in found if one.rows], block)
    return parsed


def _columns(groups: Sequence[str], titles: Sequence[str]) -> list[str]:
    """Each column's name: a pair has its group's, a single one ("scrub") its own."""
    names = []
    left = list(groups)
    for at, title in enumerate(titles):
        if title in {"read", "write", "ind", "agg"}:
            first = title in {"read", "ind"}
            group = left[0] if left else str(at)
            names.append(f"{group}_{title}")
            if not first and left:
                left.pop(0)
        else:
            names.append(title)
    return names


def _row(of: _Histogram, words: Sequence[str]) -> bool:
    counts = [size(word) for word in words[1:]]
    values = [count for count in counts if count is not None]
    if not of.columns or len(values) != len(of.columns) or len(words) != len(of.columns) + 1:
        return False
    if of.latencies:
        label = _LABEL.fullmatch(words[0])
        if label is None:
            return False
        bits = (int(label[1]) * _UNITS[label[2]]).bit_length()
        if bits > 50:
            return False
        of.rows.append((1 << bits >> 1, 1 << bits, values))
    else:
        low = size(words[0])
        if low is None or not 1 <= low <= 2**40:
            return False
        of.rows.append((int(low), 2 * int(low), values))
    return True


def _emit(parsed: Parsed, found: Sequence[_Histogram], block: Block) -> None:
    skips = any(re.fullmatch(r"-[a-zA-Z]*y[a-zA-Z]*", word) for word in block.command or ())
    heads = [(one.of, one.latencies) for one in found]
    later = [one for at, one in enumerate(found) if heads[at] in heads[:at]]
    if not skips and later:
        parsed.note("the first histogram of zpool iostat is of all time since boot, and left out")
        found = later
    elif not skips and found:
        parsed.partial = "counts since boot, not of one time"
        parsed.missing.append("zpool iostat -wy 10 1")
    for one in found:
        for index, name in enumerate(one.columns):
            whole = [row for row in one.rows if len(row[2]) == len(one.columns)]
            counts = [(low, high, values[index]) for low, high, values in whole if values[index]]
            for low, high, count in counts:
                metric = f"zfs_{name}_{'ns' if one.latencies else 'bytes'}"
                parsed.bucket(metric, low, high, round(count), one.of)
            if one.latencies and counts:
                _percentiles(parsed, one.of, name, counts)


def _percentiles(
    parsed: Parsed, subject: str, name: str, counts: Sequence[tuple[int, int, float]]
) -> None:
    """The bucket's end below which the median and the 99th percentile are."""
    total = sum(count for _, _, count in counts)
    for label, share in (("p50", 0.5), ("p99", 0.99)):
        upto = 0.0
        for _, high, count in counts:
            upto += count
            if upto >= share * total:
                parsed.measure(subject, f"{name}_{label}_below_ns", float(high))
                if label == "p99" and name.startswith("disk_wait"):
                    parsed.note(
                        f"zpool iostat -w: 99 % of {total:,.0f} {name.removeprefix('disk_wait_')}s of {subject}'s "
                        f"disks take less than {high / 1e6:,.3g} ms"
                    )
                break
