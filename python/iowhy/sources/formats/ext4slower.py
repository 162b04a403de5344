"""bcc's `ext4slower`, `xfsslower`, `btrfsslower`, `nfsslower`, `zfsslower`, `fileslower`, and libbpf's `fsslower`.

Columns: ext4slower(8): TIME, COMM, PID, T (R read, W write, O open, S sync), BYTES, OFF_KB, LAT(ms), FILENAME;
fileslower(8): TIME(s), COMM, TID, D, BYTES, LAT(ms), FILENAME. Only operations slower than a threshold (10 ms) are in it.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S, number

NAME = "ext4slower"
TOOL = "ext4slower xfsslower btrfsslower fileslower fsslower"
HINT = r"^TIME\S*\s+COMM\s+(TID|PID)\s+[TD]\s+BYTES.*LAT.*FILENAME"
SURE = 0.97

#: Its first line with a threshold of 0 ms: then all operations are listed.
_WHOLE = re.compile(r"Tracing \S+ operations\s*(?:\.|$)")
#: The operation's letter → the call that it most likely was.
CALLS = {"R": "read", "W": "write", "O": "openat", "S": "fsync", "F": "fsync"}


def read(block: Block) -> Parsed:
    """All operations (a threshold of 0) into syscalls; else, as slow ones are no base of shares, measurements."""
    tool = block.command[0] if block.command else "ext4slower or alike"
    parsed = Parsed(tool, units="KiB, milliseconds")
    titles: list[str] = []
    rows: list[dict[str, object]] = []
    for n, line in parsed.lines(block):
        words = line.split()
        if words[0].startswith("TIME"):
            titles = [re.sub(r"\(.*\)", "", word) for word in words]
        elif re.match(r"Tracing .*(slower|operations|reads and writes)", line):
            pass
        elif titles and (row := _row(titles, line, block)) is not None:
            rows.append(row)
        else:
            parsed.reject(n, line)
    first = min((int(str(row["ts_ns"])) for row in rows), default=0)
    whole = any(_WHOLE.match(line) for line in block.lines[:4]) or "0" in (block.command or ())[1:]
    if whole:
        for row in rows:
            row["ts_ns"] = int(str(row["ts_ns"])) - first
            parsed.add("syscalls", row)
    elif rows:
        _slow(parsed, rows)
        parsed.partial = "only operations slower than the tool's threshold"
        parsed.missing.append("strace -f -ttt -T -y -p {pid}")
    return parsed


def _slow(parsed: Parsed, rows: Sequence[dict[str, object]]) -> None:
    """Number, time and longest of the slow operations of each kind."""
    durations: dict[str, list[int]] = {}
    for row in rows:
        durations.setdefault(str(row["name"]), []).append(int(str(row["dur_ns"])))
    for name, times in durations.items():
        parsed.measure(name, "slow_calls", float(len(times)))
        parsed.measure(name, "slow_total_ns", float(sum(times)))
        parsed.measure(name, "slow_max_ns", float(max(times)))
        parsed.note(
            f"{len(times):,} {name} calls above the threshold of {parsed.tool} take {sum(times) / 1e6:,.0f} ms, the "
            f"longest {max(times) / 1e6:,.1f} ms: of which time they are a part is not in the text"
        )


def _row(titles: Sequence[str], line: str, block: Block) -> dict[str, object] | None:
    # A name may have spaces; the operation's letter behind the process id says where it ends.
    match = re.fullmatch(
        r"(\S+)\s+(\S.*?)\s+(\d+)\s+([A-Z])\s+(\d+|-)\s+"
        + (r"(\d+)\s+" if "OFF_KB" in titles else "()")
        + r"([\d.]+)\s+(.*?)\s*",
        line.strip(),
    )
    if match is None:
        return None
    when = _time(match[1])
    latency = number(match[7])
    if when is None or latency is None:
        return None
    tid, letter, name = int(match[3]), match[4], match[8]
    block.names.thread(tid, tid, match[2])
    dev, ino = block.names.file(name) if name else (None, None)
    size = None if match[5] == "-" else int(match[5])
    moved = letter in "RW"
    dur = round(latency * 1e6)
    return {
        # The line is printed when the operation ends.
        "ts_ns": when - dur,
        "dur_ns": dur,
        "tgid": tid,
        "tid": tid,
        "name": CALLS.get(letter, "other"),
        "dev": dev,
        "ino": ino,
        "offset": int(match[6]) * 1024 if match[6] and moved else None,
        "bytes": size if moved else None,
        "ret": size if moved else 0,
    }


def _time(text: str) -> int | None:
    """Nanoseconds of "12:34:56" or of seconds with a fraction."""
    if match := re.fullmatch(r"(\d\d):(\d\d):(\d\d)", text):
        return (int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])) * NS_PER_S
    seconds = number(text)
    return None if seconds is None else round(seconds * 1e9)
