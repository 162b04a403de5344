"""What servers write into their logs about storage: syncs, checkpoints, health checks that took long. One line of the table for each kind.

The texts are those of the servers' sources. Several lines of one kind are one fact: how many, and the longest.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _lines
from iowhy.units import duration, size

NAME = "app-log"
TOOL = "server log"


class Kind(Struct, frozen=True):
    """A kind of line: whose, what it is about ("a sync of …"), and its pattern; a group `took` (or `ms`, `s`, `bytes`) is how long or how much, `apart` the seconds
    from one to the next, of which the least counts.

    `least_ns`: the line is only written if it took longer.
    """

    server: str
    what: str
    pattern: re.Pattern[str]
    least_ns: float | None = None


def _kind(server: str, what: str, pattern: str, least_s: float | None = None) -> Kind:
    return Kind(server, what, re.compile(pattern), None if least_s is None else least_s * 1e9)


KINDS = (
    _kind("Redis", "a sync of the append-only file", r"Asynchronous AOF fsync is taking too long", 2),
    _kind("ZooKeeper", "a sync of the transaction log", r"fsync-ing the write ahead log in \S+ took (?P<ms>\d+)ms"),
    _kind("etcd", "a sync of the WAL", r"sync duration of (?P<took>[\dhmsµu.]+), expected less than"),
    _kind("etcd", "a sync of the WAL", r'"msg":"slow fdatasync".*?"took":"(?P<took>[^"]+)"'),
    _kind("etcd", "applying a request", r'"msg":"apply request took too long".*?"took":"(?P<took>[^"]+)"'),
    _kind("etcd", "applying a request", r"etcdserver: (?:read-only range )?request .* took too long \((?P<took>[^)]+)\)"),
    _kind("etcd", "a heartbeat, as the disk is slow", r"leader failed to send out heartbeat on time.*?(?:exceeded-duration\":\"|exceeded the \S+ timeout for )(?P<took>[\dhmsµu.]+)"),
    _kind("PostgreSQL", "a sync of one file at a checkpoint", r"(?:checkpoint|restartpoint) complete: .*?longest=(?P<s>[\d.]+) s"),
    _kind("PostgreSQL", "a temporary file", r'temporary file: path ".*?", size (?P<bytes>\d+)'),
    _kind("PostgreSQL", "checkpoints that come too often", r"checkpoints are occurring too frequently \((?P<apart>\d+)\s+seconds? apart\)?"),
    _kind("PostgreSQL", "a commit", r"duration: (?P<ms>[\d.]+) ms +(?:statement|execute [^:]*): *(?i:commit|end)\b"),
    _kind("PostgreSQL", "a statement", r"duration: (?P<ms>[\d.]+) ms +(?:statement|execute [^:]*): "),
    _kind("k3s", "a statement of its datastore", r"Slow SQL ?\(started: .*?\(total time: (?P<took>[\dhmsµu.]+)\)"),
    _kind("MongoDB", "reading for a query from the disk", r'"msg":"Slow query".*"timeReadingMicros":(?P<us>\d+)'),
    _kind("MongoDB", "a query", r'"msg":"Slow query".*"durationMillis":(?P<ms>\d+)'),
    _kind("InnoDB", "a pass of the page cleaner", r"page_cleaner: \d+ms intended loop took (?P<ms>\d+)ms"),
    _kind("InnoDB", "a wait for a semaphore", r"--Thread \d+ has waited at .* for (?P<s>[\d.]+) seconds"),
    _kind("Kafka", "a new segment of the log", r"Rolled new log segment at offset \d+ in (?P<ms>\d+) ms"),
    _kind("Kafka", "a snapshot of producers", r"Wrote producer snapshot at offset .* in (?P<ms>\d+) ms"),
    _kind("Kafka", "an error of its log's disk", r"KafkaStorageException|Error while (?:flushing|writing|appending).*log"),
    _kind("Elasticsearch", "a health check of the disk", r"health check of \[.*?\] took \[(?P<ms>\d+)ms\] which is above the warn threshold"),
    _kind("Elasticsearch", "writing the cluster state", r"writing cluster state took \[(?P<ms>\d+)ms\]"),
    _kind("Elasticsearch", "a full disk", r"(?:flood stage|high|low) disk watermark \[[^\]]*\] exceeded on"),
    _kind("kubelet", "looking at containers (PLEG)", r"PLEG is not healthy: pleg was last seen active (?P<took>[\dhms.]+) ago"),
    _kind("kubelet", "counting the files of containers", r"(?:du and find|disk usage and inodes count) on following dirs took (?P<took>[\dhmsµ.]+)"),
    _kind("MongoDB", "a checkpoint", r"Checkpoint (?:has been running|ran) for (?P<s>\d+) seconds and wrote"),
    _kind("Cassandra", "a sync of the commit log", r"commit log syncs over the past .* with average duration of (?P<ms>[\d.]+)ms"),
    _kind("YugabyteDB", "a sync of the WAL", r"Time spent Fsync log took a long time: real (?P<s>[\d.]+)s"),
    _kind("Ceph", "an operation of an OSD", r"slow operation observed for \S+ latency = (?P<s>[\d.]+)s?"),
    _kind("Ceph", "an operation of an OSD", r"slow request (?P<s>[\d.]+) seconds old"),
    _kind("systemd-oomd", "memory pressure above its limit", r"[Mm]emory pressure .*?(?:is|being) (?P<percent>[\d.]+)% > [\d.]+%"),
)  # fmt: skip
#: A word of each kind: all patterns would be looked for at each letter of each line.
HINT = (
    r"\b(?:took|sync duration|fsync is|slow (?:fdatasync|operation|request)|Slow (?:SQL|query)|duration: [\d.]+ ms|too long|longest=|temporary file: path|too frequently|waited at"
    r"|loop took|Rolled new|snapshot at|KafkaStorage|Error while|disk watermark|heartbeat on time|PLEG|Checkpoint (?:has|ran)"
    r"|commit log syncs|Fsync log|[Mm]emory pressure)"
)
_CLOCK = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?")
_DAY = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}|\d{1,2} [A-Z][a-z]{2} \d{4}")
_NS = {"us": 1e3, "ms": 1e6, "s": 1e9, "apart": 1e9}


class Found(Struct):
    """Lines of one kind: how many, the longest, when."""

    lines: int = 0
    worst: float = 0.0
    times: list[float] = []


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Any line that it understands; others belong to the log around them."""
    found = any(one.pattern.search(lines[at]) for one in KINDS)
    return Claim(0.7, again=True) if found else None


def read(block: Block) -> Parsed:
    """Into measurements: subject is the server, metric what took long, as a count and the longest; and a note of each."""
    parsed = Parsed(TOOL, units="lines of a log; the longest of each kind")
    found: dict[tuple[str, str], tuple[Kind, Found]] = {}
    for at, line in parsed.lines(block):
        for kind in KINDS:
            if match := kind.pattern.search(line):
                _, one = found.setdefault((kind.server, kind.what), (kind, Found()))
                one.lines += 1
                one.worst = _worse(kind, one, _amount(kind, match))
                if (when := _seconds(line)) is not None:
                    one.times.append(when)
                break
        else:
            # Other lines of a log are not its storage's: only what has no time at all is listed.
            if _CLOCK.search(line) is None:
                parsed.reject(at, line)
    for kind, one in found.values():
        say(parsed, kind, one)
    parsed.missing.append("iostat -x 1 10")
    return parsed


def _worse(kind: Kind, one: Found, amount: float) -> float:
    """The longest; of what comes too often the shortest."""
    often = "apart" in kind.pattern.groupindex and one.lines > 1
    return min(one.worst, amount) if often else max(one.worst, amount)


def _amount(kind: Kind, match: re.Match[str]) -> float:
    for name, text in match.groupdict().items():
        if name == "took":
            return _lines.duration_ns(text) or 0.0
        return float(text) * _NS.get(name, 1.0)
    return kind.least_ns or 0.0


def _seconds(line: str) -> float | None:
    """The time of day of a line, or its whole date."""
    clock = _CLOCK.search(line)
    if clock is None:
        return None
    of_day = int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3]) + float(f"0.{clock[4] or 0}")
    day = _DAY.search(line)
    for form in ("%Y-%m-%d", "%Y/%m/%d", "%d %b %Y") if day else ():
        try:
            return datetime.strptime(day[0], form).timestamp() + of_day  # type: ignore[index]
        except ValueError:
            continue
    return of_day


def say(parsed: Parsed, kind: Kind, one: Found) -> None:
    """One kind of line into measurements and a note."""
    server, what, groups = kind.server, kind.what, kind.pattern.groupindex
    metric = re.sub(r"\W+", "_", what)
    parsed.measure(server, f"{metric}_count", float(one.lines))
    words = what
    if "bytes" in groups:
        parsed.measure(server, f"{metric}_bytes", one.worst)
        words += f" of {size(one.worst)}"
    elif "percent" in groups:
        parsed.measure(server, f"{metric}_share", one.worst / 100)
        words += f": {one.worst:.0f} %"
    elif "apart" in groups:
        parsed.measure(server, f"{metric}_apart_ns", one.worst)
        words += f", {duration(one.worst)} apart"
    elif one.worst:
        parsed.measure(server, f"{metric}_{'least_' if kind.least_ns else ''}ns", one.worst)
        words += f" took {'over ' if kind.least_ns else ''}{duration(one.worst)}"
    times = sorted(one.times)
    span = times[-1] - times[0] if len(times) > 1 else 0.0
    if 0 < span < 86400 * 366:
        parsed.measure(server, f"{metric}_span_s", span)
    often = "once" if one.lines == 1 else f"{one.lines:,} times"
    within = f" in {duration(span * 1e9)}" if 0 < span < 86400 * 366 else ""
    longest = "" if one.lines == 1 or kind.least_ns or "apart" in groups else " at most"
    parsed.note(f"{server}: {words}{longest}, {often}{within}")
