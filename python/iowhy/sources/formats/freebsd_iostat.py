"""FreeBSD `iostat -x`: extended statistics per disk, old (wait svc_t) and new (ms/r ms/w) columns.

Manual: iostat(8) of FreeBSD. kr/s and kw/s are KiB; times are ms; the first report is since boot.
"""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_disk
from iowhy.sources.numbers import numbers

NAME = "freebsd-iostat"
TOOL = "iostat"
HINT = r"^\s*extended device statistics|^device\s+r/[si]\s+w/[si]\s+kr/[si]"

#: Its columns that iostat of Linux has under another name.
_RENAMED = {"kr/s": "rkB/s", "kw/s": "wkB/s", "ms/r": "r_await", "ms/w": "w_await", "svc_t": "await", "%b": "%util"}  # fmt: skip
NEAR = (r"^\s*device\s+r/s\s+w/s\s(?!.*actv)", 2)


def read(block: Block) -> Parsed:
    """Into disk_samples."""
    parsed = Parsed(TOOL, units="KiB per second, times in ms", host={"os": "FreeBSD"})
    columns: list[str] = []
    reports: list[dict[str, dict[str, float]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] == "extended":
            continue
        if words[:2] == ["device", "r/s"]:
            columns = [_RENAMED.get(word, word) for word in words[1:]]
            reports.append({})
            continue
        values = numbers(words[1:])
        if reports and values is not None and len(values) >= len(columns) > 0:
            # tty and cpu columns (-C) may follow; they have no place here.
            reports[-1][words[0]] = dict(zip(columns, values, strict=False))
        else:
            parsed.reject(at, line)
    more = "iostat -x -w 1 -c 10"
    for report, start, interval in parsed.load(reports, "report of iostat", block, more):
        for name, row in report.items():
            add_disk(parsed, block.names, name, row, start, interval, "qlen")
    return parsed
