"""FreeBSD `gstat`: queue, operations, times and use of each GEOM provider; its screens, -b and -B; with -d and -o.

Manual: gstat(8). kBps are KiB a second; ms are means for an operation; dT is the length of the interval.
"""

import re
from collections.abc import Mapping, Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_disk
from iowhy.sources.numbers import NS_PER_S, row

NAME = "gstat"
HINT = r"^\s*L\(q\)\s+ops/s\s+r/s|^dT: [\d.]+s\s+w: [\d.]+s"
SURE = 0.95
NEAR = (r"L\(q\)", 2)

_ELAPSED = re.compile(r"dT:\s*(\d{1,6}\.\d{1,6})s?\s+w:\s*[\d.]+s?.*")
#: Each rate's own kBps and ms follow it.
_RENAMED = {
    "kBps": "kB/s",
    "ms/r": "r_await",
    "ms/w": "w_await",
    "ms/d": "d_await",
    "ms/o": "f_await",
    "o/s": "f/s",
}
#: Partitions, slices and labels: what they do is in their disk's row too.
_PART = re.compile(
    r".+\d(?:p\d+|s\d+[a-h]?)(?:\.\w+)?|.+\.(?:eli|nop|journal)|(?:gpt|gptid|ufs|ufsid|label|diskid|msdosfs|zvol|mirror|stripe|raid3|concat)/.+"
)


def read(block: Block) -> Parsed:
    """Into disk_samples, of whole disks."""
    parsed = Parsed(NAME, units="KiB per second, times in ms", host={"os": "FreeBSD"})
    columns: list[str] = []
    elapsed = interval_of(block.command)
    screens: list[tuple[int | None, dict[str, dict[str, float]]]] = []
    for at, line in parsed.lines(block):
        # gstat-rs names whose rate it is behind it: `kB/s r`.
        words = re.sub(r"\bkB/s ([rwd])\b", r"\1kB/s", line.replace("|", " ")).split()
        if length := _ELAPSED.fullmatch(line.strip()):
            elapsed = round(float(length[1]) * NS_PER_S) or elapsed
        elif words[:1] == ["L(q)"]:
            columns = _columns(words)
            screens.append((elapsed, {}))
        elif (
            screens
            and (found := row(columns[:-1], words[: len(columns) - 1])) is not None
            and len(words) >= len(columns)
            and words[len(columns) - 1][0].isalpha()
        ):
            if words[len(columns) - 1] in screens[-1][1]:
                screens.append((elapsed, {}))  # of -B the titles came once
            screens[-1][1][words[len(columns) - 1]] = found
        else:
            parsed.reject(at, line)
    _emit(parsed, screens, block)
    return parsed


def _columns(words: Sequence[str]) -> list[str]:
    """The titles as iostat's: `kBps` is of the operation before it."""
    letter = ""
    found = []
    for word in words:
        letter = word[0] if word in {"r/s", "w/s", "d/s", "o/s"} else letter
        name = _RENAMED.get(word, word)
        found.append(f"{letter}{name}" if word == "kBps" else name)
    return found


def _emit(
    parsed: Parsed,
    screens: Sequence[tuple[int | None, Mapping[str, dict[str, float]]]],
    block: Block,
) -> None:
    if screens and any(elapsed is None for elapsed, _ in screens):
        parsed.note("the interval of gstat is not shown: 1 s is assumed")
    if len(screens) < 2:
        parsed.missing.append("iostat -x -w 1 -c 10")
    if len(screens) == 1:
        parsed.partial = "one screen of gstat"
    start = 0
    for elapsed, rows in screens:
        interval = elapsed or NS_PER_S
        wholes = [name for name in rows if not _PART.fullmatch(name)] or list(rows)
        for name in wholes:
            one = dict(rows[name])
            one["%util"] = one.pop("%busy", 0.0)
            add_disk(parsed, block.names, name, one, start, interval, "L(q)")
        start += interval
