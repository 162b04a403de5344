"""`nfsiostat`: reads and writes of each NFS mount: how many, how large, and how long until the server has answered.

Manual: nfsiostat(8). RTT is from sending to the reply, exe from the call into the client to its end: what is between them waits
in the client's queue. kB are 1024 bytes. The first report is since the mount.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "nfsiostat"
HINT = r"^\S+:\S* mounted on \S+\s*$"

_MOUNT = re.compile(r"(\S+:\S*) mounted on (\S+?):?\s*")
_SIDE = re.compile(r"\s*(reads?|writes?):\s+(ops/s.*)")
#: Title → metric behind read_ or write_, and what one of it is.
_METRICS = {
    "ops/s": ("ops_per_s", 1.0),
    "kB/s": ("bytes_per_s", KIB),
    "Kb/s": ("bytes_per_s", KIB),
    "kB/op": ("bytes_per_op", KIB),
    "avg RTT (ms)": ("rtt_mean_ns", 1e6),
    "avg exe (ms)": ("exe_mean_ns", 1e6),
    "avg queue (ms)": ("queue_mean_ns", 1e6),
}


class _Report(Struct):
    mount: str
    values: dict[str, float] = field(default_factory=dict)


SURE = 0.95
NEAR = (r"\bops?/s\s+rpc bklog", 4)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the mount point. With one report of each mount, since it was mounted."""
    parsed = Parsed(NAME, units="kB of 1024 bytes; ms")
    reports: list[_Report] = []
    columns: list[str] = []
    side = ""
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _MOUNT.fullmatch(text):
            reports.append(_Report(match[2]))
            side = ""
        elif reports and re.fullmatch(r"ops?/s\s+rpc bklog", text):
            side, columns = "rpc", ["ops/s", "rpc bklog"]
        elif reports and (match := _SIDE.fullmatch(line)):
            side = match[1].rstrip("s")
            columns = re.findall(r"avg \w+ \(ms\)|\S+", match[2])
        elif reports and side and _cells(reports[-1], side, columns, text):
            pass
        elif not re.match(r"Linux\s|Timestamp\s*:|-{5,}", text):
            parsed.reject(at, line)
    _emit(parsed, reports, block)
    return parsed


def _cells(report: _Report, side: str, columns: Sequence[str], text: str) -> bool:
    """One row of numbers; "0 (0.0%)" is one cell."""
    cells = re.findall(r"[\d.]+ \([\d.]+%\)|[\d.]+", text)
    if len(cells) != len(columns) or re.search(r"[A-Za-z]", text):
        return False
    for title, cell in zip(columns, cells, strict=True):
        if title in {"retrans", "errors"}:
            share = re.search(r"\(([\d.]+)%\)", cell)
            value = number(share[1]) if share else None
            if value is not None and value <= 100:
                report.values[
                    f"{side}_{'retransmitted' if title == 'retrans' else 'error'}_share"
                ] = value / 100
        elif side == "rpc":
            value = number(cell)
            if value is not None and title == "rpc bklog":
                report.values["backlog"] = value
        elif title in _METRICS and (value := number(cell)) is not None:
            name, unit = _METRICS[title]
            report.values[f"{side}_{name}"] = value * unit
    return True


def _emit(parsed: Parsed, reports: Sequence[_Report], block: Block) -> None:
    mounts = [one.mount for one in reports]
    later = [one for at, one in enumerate(reports) if one.mount in mounts[:at]]
    taken = later or reports
    if later:
        parsed.note("the first report of nfsiostat is since the mount, and left out")
    elif reports:
        parsed.partial = "means since the mount, not of one time"
        parsed.missing.append("nfsiostat 1 10")
    interval = interval_of(block.command) or NS_PER_S
    seen: dict[str, int] = {}
    for one in taken:
        seen[one.mount] = seen.get(one.mount, 0) + 1
        parsed.measures(one.mount, one.values, seen[one.mount] * interval if later else None)
    for mount in dict.fromkeys(mounts):
        _queued(parsed, mount, [one.values for one in taken if one.mount == mount])


def _queued(parsed: Parsed, mount: str, rows: Sequence[dict[str, float]]) -> None:
    """Where most of a call's time passes before it is sent."""
    for side in ("read", "write"):
        calls = sum(row.get(f"{side}_ops_per_s", 0.0) for row in rows)
        if not calls:
            continue
        rtt, exe = (
            sum(
                row.get(f"{side}_ops_per_s", 0.0) * row.get(f"{side}_{name}_mean_ns", 0.0)
                for row in rows
            )
            / calls
            for name in ("rtt", "exe")
        )
        if exe > 0 and rtt <= exe:
            parsed.note(
                f"{mount}: a {side} takes {exe / 1e6:,.3g} ms, of which the server and the way to it {rtt / 1e6:,.3g} ms"
                + ("; the rest waits in the client" if rtt < exe / 2 else "")
            )
