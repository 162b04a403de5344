"""What the agent has counted since it began, as metrics show it: bounded, whatever runs on the machine."""

from collections.abc import Sequence

from msgspec import Struct, field

from iowhy.agent.conditions import device_name
from iowhy.agent.counted import Count, Interval, Latency

S = 10**9
#: Containers and services that have metrics of their own; all others together are OTHER.
SERVICES = 100
OTHER = "other"
#: Statements of databases that have metrics of their own, and of each text what these have.
STATEMENTS, STATEMENT_CHARACTERS = 100, 200
#: Groups whose use is remembered, and after how long it counts half.
KNOWN = 1000
HALF_S = 600.0
#: Who has no metrics of its own gets those of who has used less than this part as much lately.
LESS = 0.5
#: Histograms, of all keys together; what comes after that is only counted as left out.
HISTOGRAMS = 2000
#: Ends of the buckets: every second power of two, which the kernel's buckets end at too.
BOUNDS_NS = tuple(2**power for power in range(10, 37, 2))


class Histogram(Struct):
    """Times: those up to each bound (not summed over bounds; the last is above all), all of them, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_NS) + 1))
    sum_ns: int = 0
    bytes: int = 0

    def add(self, row: Latency) -> None:
        """Adds the times of a row."""
        at = 0
        for up_to, count in zip(row.up_to_ns, row.counts, strict=True):
            while at < len(BOUNDS_NS) and up_to > BOUNDS_NS[at]:
                at += 1
            self.counts[at] += count
        self.sum_ns += row.sum_ns
        self.bytes += row.bytes


#: Whose something is: service (what a container in a pod, too, is called), namespace, pod, container; empty where there is none.
Group = tuple[str, str, str, str]
#: Measure, name, then the group, device; empty where there is none.
Key = tuple[str, str, str, str, str, str, str]


class Totals(Struct):
    """Counters since the agent began, and the last levels. Keys are labels of metrics."""

    histograms: dict[Key, Histogram] = field(default_factory=dict)
    left_out: int = 0
    disk_bytes: dict[tuple[str, str], int] = field(default_factory=dict)
    disk_operations: dict[tuple[str, str], int] = field(default_factory=dict)
    disk_busy_s: dict[str, float] = field(default_factory=dict)
    cache_bytes: dict[tuple[str, str, str, str, str], int] = field(default_factory=dict)
    stalled_s: dict[tuple[str, str], float] = field(default_factory=dict)
    waiting: int | None = None
    lost: int = 0
    unkept: int = 0
    triggers: dict[str, int] = field(default_factory=dict)
    suppressed: dict[tuple[str, str], int] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], int] = field(default_factory=dict)
    kept_bytes: int = 0
    sent: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Seconds of sessions by statement, its text, and the server's kind of wait.
    statement_s: dict[tuple[str, str, str], float] = field(default_factory=dict)
    to_upload: int = 0
    groups: set[Group] = field(default_factory=set)
    #: How much each group has used lately: ns of waiting, and bytes.
    used: dict[Group, float] = field(default_factory=dict)

    def ran(self, shares: Sequence[tuple[str, str, str, float]]) -> None:
        """Adds what sessions of databases did; statements beyond the first STATEMENTS are OTHER."""
        known = {key[0] for key in self.statement_s}
        for id_, text, wait, seconds in shares:
            if id_ not in known and len(known) >= STATEMENTS:
                id_, text = OTHER, OTHER
            known.add(id_)
            key = id_, text[:STATEMENT_CHARACTERS], wait
            self.statement_s[key] = self.statement_s.get(key, 0.0) + seconds

    def add(self, interval: Interval) -> None:
        """Adds one interval."""
        self._rank(interval)
        for row in interval.latencies:
            key = (row.measure, row.name or "", *self._group(row), _place(interval, row))
            if key not in self.histograms and len(self.histograms) >= HISTOGRAMS:
                self.left_out += row.count
                continue
            self.histograms.setdefault(key, Histogram()).add(row)
        for count in interval.counts:
            of = (count.name, *self._group(count))
            self.cache_bytes[of] = self.cache_bytes.get(of, 0) + count.bytes
        self._add_disks(interval)
        for resource, kinds in interval.pressure.items():
            for kind, share in kinds.items():
                stalled = share * interval.interval_ns / S
                self.stalled_s[resource, kind] = self.stalled_s.get((resource, kind), 0) + stalled
        self.waiting = interval.waiting
        self.lost += interval.lost
        self.unkept += interval.failed is not None

    def _add_disks(self, interval: Interval) -> None:
        for disk in interval.disks:
            name = device_name(interval, disk.dev)
            for way, bytes_, operations in (
                ("read", disk.read_bytes, disk.reads),
                ("write", disk.written_bytes, disk.writes),
            ):
                self.disk_bytes[name, way] = self.disk_bytes.get((name, way), 0) + max(bytes_, 0)
                done = self.disk_operations.get((name, way), 0) + max(operations, 0)
                self.disk_operations[name, way] = done
            if disk.utilisation is not None:
                busy = disk.utilisation * interval.interval_ns / S
                self.disk_busy_s[name] = self.disk_busy_s.get(name, 0) + busy

    def _rank(self, interval: Interval) -> None:
        """Who uses most has separate metrics. Those of a group that gives way end: what it has then is OTHER's."""
        decay = 0.5 ** (interval.interval_ns / S / HALF_S)
        self.used = {group: use * decay for group, use in self.used.items()}
        for row in interval.latencies:
            self._uses(row, row.sum_ns + row.bytes)
        for count in interval.counts:
            self._uses(count, count.bytes)
        ranked = sorted(self.used, key=self.used.__getitem__, reverse=True)
        self.used = {group: self.used[group] for group in ranked[:KNOWN]}
        without = [group for group in ranked if group not in self.groups]
        room = max(SERVICES - len(self.groups), 0)
        self.groups.update(without[:room])
        least = sorted(self.groups, key=lambda group: self.used.get(group, 0.0))
        ended = set()
        for group, other in zip(without[room:], least, strict=False):
            if self.used.get(other, 0.0) >= LESS * self.used[group]:
                break
            self.groups = self.groups - {other} | {group}
            ended.add(other)
        if ended:
            self.histograms = {
                key: one for key, one in self.histograms.items() if key[2:6] not in ended
            }
            self.cache_bytes = {
                key: one for key, one in self.cache_bytes.items() if key[1:] not in ended
            }

    def _uses(self, row: Latency | Count, use: int) -> None:
        group = _group_of(row)
        if any(group):
            self.used[group] = self.used.get(group, 0.0) + use

    def _group(self, row: Latency | Count) -> Group:
        """Containers that have all of that in common (one that was started again) are one series."""
        group = _group_of(row)
        return group if group in self.groups or not any(group) else (OTHER, OTHER, OTHER, OTHER)


def _group_of(row: Latency | Count) -> Group:
    return (
        row.service or row.path or "",
        row.namespace or "",
        row.pod or "",
        row.container or "",
    )


def _place(interval: Interval, row: Latency) -> str:
    """The disk of a request; else where the filesystem is mounted."""
    if row.dev is None:
        return ""
    if row.measure == "request":
        return device_name(interval, row.dev)
    return interval.mounts.get(row.dev) or device_name(interval, row.dev)


def cumulative(counts: Sequence[int]) -> list[int]:
    """Each with all before it."""
    total, out = 0, []
    for count in counts:
        total += count
        out.append(total)
    return out
