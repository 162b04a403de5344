"""AIX `filemon`: what files, logical and physical volumes read, wrote and sought.

Layout: the filemon command in IBM's AIX documentation. Sizes of volumes are in blocks of 512 bytes,
those of files in bytes; times are ms.
"""

import re

from iowhy.sources.format import Block, Parsed

NAME = "filemon"
HINT = (
    r"^Most Active (?:Files|Segments|Logical Volumes|Physical Volumes)|^(?:FILE|VOLUME): /"
    r"|^Detailed (?:File|Logical Volume|Physical Volume|VM Segment) Stats|^System: AIX "
    r"|^Cpu utilization:|^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}$"
)

BLOCK = 512
MS = 1_000_000
_SUBJECT = re.compile(r"(FILE|VOLUME|SEGMENT): (\S+)(?:\s.*)?")
_COUNT = re.compile(r"(reads|writes):\s+(\d+)\s+\((\d+) errs\)")
_SIZES = re.compile(
    r"(read|write) sizes \((bytes|blks)\):\s+avg\s+(\d+(?:\.\d+)?)\s+min\s+(\d+(?:\.\d+)?)\s+max\s+(\d+(?:\.\d+)?)(?:\s+sdev\s+\d+(?:\.\d+)?)?"
)
_TIMES = re.compile(
    r"(read|write) times \(msec\):\s+avg\s+(\d+(?:\.\d+)?)\s+min\s+(\d+(?:\.\d+)?)\s+max\s+(\d+(?:\.\d+)?)(?:\s+sdev\s+\d+(?:\.\d+)?)?"
)
_SEQUENCES = re.compile(r"(read|write) sequences:\s+(\d+)")
_SEEKS = re.compile(r"seeks:\s+(\d+)\s+\(\s*(\d+(?:\.\d+)?)%\)")
_THROUGHPUT = re.compile(r"throughput:\s+(\d+(?:\.\d+)?) KB/sec")
_UTILISATION = re.compile(r"utilization:\s+(\d+(?:\.\d+)?)")
_ACTIVE_VOLUME = re.compile(r"(\d+(?:\.\d+)?)\s+(\d+)\s+(\d+)\s+(\d+(?:\.\d+)?)\s+(/\S+)(?:\s+.*)?")
_ACTIVE_FILE = re.compile(r"(\d+(?:\.\d+)?)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)(?:\s+.*)?")
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}")
_SYSTEM = re.compile(r"System: (AIX \S+).*")
_TABLE_HEAD = re.compile(r"(#MBs|util)\s+#.*")
_KNOWN_REST = re.compile(
    r"(avg\s+\d+(?:\.\d+)? min|opens:|total bytes xfrd:|(?:read|write) seq\. lengths:|seek dist|time to next req|"
    r"(?:lseeks|time to open|time to close|segtype|segments):?|Cpu utilization:|"
    r"Most Active|Detailed|\d+\.\d+ secs? in measured interval)"
)
BEGINS = _DATE.pattern
#: A detailed section's title may be cut off.
FIRST = (
    r"Most Active|Detailed|(?:System|Cpu utilization):[\s\S]*^(?:Most Active|Detailed)|[A-Z][a-z]{2} .*\nSystem: AIX"
    rf"|(?:FILE|VOLUME):(?:.*\n){{0,5}}.*{_COUNT.pattern}",
    12,
)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the file or volume."""
    parsed = Parsed(NAME, units="volumes in blocks of 512 bytes, files in bytes, times in ms")
    parsed.host["os"] = "AIX"
    subject: str | None = None
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-", "="}:
            continue
        if match := _SUBJECT.fullmatch(text):
            subject = match[2]
        elif subject is not None and _detail(parsed, subject, text):
            pass
        elif match := _ACTIVE_VOLUME.fullmatch(text):
            parsed.measure(match[5], "busy_share", float(match[1]))
            parsed.measure(match[5], "bytes_per_s", float(match[4]) * 1024)
        elif match := _ACTIVE_FILE.fullmatch(text):
            parsed.measure(match[5], "bytes", float(match[1]) * 1024**2)
            parsed.measure(match[5], "read_count", float(match[3]))
            parsed.measure(match[5], "write_count", float(match[4]))
        elif match := _SYSTEM.fullmatch(text):
            parsed.version = match[1]
        elif _DATE.fullmatch(text):
            pass
        elif _TABLE_HEAD.fullmatch(text) or _KNOWN_REST.match(text):
            if text.startswith(("Most Active", "Detailed")):
                subject = None
        else:
            parsed.reject(at, line)
    _once(parsed)
    return parsed


def _detail(parsed: Parsed, subject: str, text: str) -> bool:
    if match := _COUNT.fullmatch(text):
        parsed.measure(subject, f"{match[1][:-1]}_count", float(match[2]))
        parsed.measure(subject, f"{match[1][:-1]}_errors", float(match[3]))
    elif match := _SIZES.fullmatch(text):
        unit = BLOCK if match[2] == "blks" else 1
        for name, cell in zip(("mean", "min", "max"), match.groups()[2:], strict=True):
            parsed.measure(subject, f"{match[1]}_{name}_bytes", float(cell) * unit)
    elif match := _TIMES.fullmatch(text):
        for name, cell in zip(("mean", "min", "max"), match.groups()[1:], strict=True):
            parsed.measure(subject, f"{match[1]}_{name}_ns", float(cell) * MS)
    elif match := _SEQUENCES.fullmatch(text):
        parsed.measure(subject, f"{match[1]}_sequences", float(match[2]))
    elif match := _SEEKS.fullmatch(text):
        parsed.measure(subject, "seeks", float(match[1]))
        parsed.measure(subject, "seek_share", float(match[2]) / 100)
    elif match := _THROUGHPUT.fullmatch(text):
        parsed.measure(subject, "bytes_per_s", float(match[1]) * 1024)
    elif match := _UTILISATION.fullmatch(text):
        parsed.measure(subject, "busy_share", float(match[1]))
    else:
        return False
    return True


def _once(parsed: Parsed) -> None:
    """The summary and the details give some numbers both: the later, more exact one stays."""
    rows = parsed.tables.get("measurements")
    if isinstance(rows, list):
        last = {(row["subject"], row["metric"]): row for row in rows}
        parsed.tables["measurements"] = list(last.values())
