"""fio's normal output, versions 2 and 3: rates, latencies, percentiles, syncs, CPU, disks.

fio's documentation, "Interpreting the output". Each block of latencies names its unit; KB of version 2 are 1024 bytes,
as KiB of version 3 are. With --group_reporting a block is of several jobs together.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number, size

NAME = "fio-text"
TOOL = "fio"
HINT = r"^\S.{0,100}: \((?:groupid=\d+, jobs=|g=\d+\): rw=)|^Run status group|^\s+(?:read|write|trim)\s*:\s*(?:IOPS=|io=)"

_JOB = re.compile(r"(\S.{0,99}?): \(groupid=\d+, jobs=(\d+)\): err=\s*(\d+).*")
_SIDE = re.compile(r"\s*(read|write|trim)\s*:\s*(.*)")
_LATENCY = re.compile(
    r"\s*(slat|clat|lat|sync) \((nsec|usec|msec|sec)\)\s*: min=\s*([\d.]+[kKMG]?), max=\s*([\d.]+[kKMG]?), "
    r"avg=\s*([\d.]+[kKMG]?).*"
)
_PERCENTILES = re.compile(r"\s*(clat|lat|slat|sync) percentiles \((nsec|usec|msec|sec)\)\s*:.*")
_P99 = re.compile(r"99\.00th=\[\s*([\d.]+[kKMG]?)\]")
_CPU = re.compile(r"\s*cpu\s*: usr=([\d.]+)%, sys=([\d.]+)%, ctx=(\d+).*")
_ISSUED = re.compile(
    r"\s*issued(?: rwts?)?\s*: total=(?:r=)?(\d+)[,/](?:w=)?(\d+)(?:[,/](?:d=)?(\d+))?(?:,(\d+))?.*"
)
_DISK = re.compile(r"\s+(\S+): ios=.*util=([\d.]+)%.*")
_UNITS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}
#: Lines of its layout that hold nothing of what is kept.
_OTHER = re.compile(
    r"\s*(?:\S.{0,100}: \(g=\d+\)|\.\.\.$|fio-\d|Starting \d|Jobs: |\||bw \(|iops\s+:|lat \([num]sec\)\s*: |IO depths|submit\s|"
    r"complete\s|latency\s+:|Run status|Disk stats|(?:READ|WRITE|TRIM): |fsync/fdatasync|\S.*: Laying out|"
    r"note: |rand_seed|mixed: )"
)
SURE = 0.85


def read(block: Block) -> Parsed:
    """Into measurements: subject is the job."""
    parsed = Parsed(
        TOOL, units="latencies in the unit that each line names; KB and KiB are 1024 bytes"
    )
    reader = _Reader(parsed)
    for at, line in parsed.lines(block):
        if line.startswith("fio-"):
            parsed.version = line.split()[0].removeprefix("fio-")
        if not (reader.line(line.rstrip()) or _OTHER.match(line)):
            parsed.reject(at, line)
    reader.unlisted_syncs(_syncs_each(block))
    return parsed


def _syncs_each(block: Block) -> int | None:
    """After how many writes the job syncs, by an option at the prompt or in the line of a job."""
    for text in (" ".join(block.command or ()), *block.lines):
        if match := re.search(r"(?:^|[\s,-])f(?:data)?sync=(\d{1,9})", text):
            return int(match[1]) or None
    return None


class _Reader:
    """Goes through the lines; a job's lines follow its head, a direction's follow that."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._subject = "job"
        self._side = ""
        self._percentiles: tuple[str, float] | None = None
        self._seen: dict[str, int] = {}
        self._found: dict[str, dict[str, float]] = {}

    def line(self, line: str) -> bool:
        """Whether the line is one that says something."""
        if match := _JOB.fullmatch(line):
            self._job(match)
        elif match := _SIDE.fullmatch(line):
            self._side = match[1]
            self._direction(match[2])
        elif match := _LATENCY.fullmatch(line):
            if match[1] != "sync" and not self._side:
                return False
            self._latency(match)
        elif match := _PERCENTILES.fullmatch(line):
            self._percentiles = (match[1], _UNITS[match[2]])
        elif match := _CPU.fullmatch(line):
            self._add("cpu_user_share", float(match[1]) / 100)
            self._add("cpu_kernel_share", float(match[2]) / 100)
            self._add("context_switches", float(match[3]))
        elif match := _ISSUED.fullmatch(line):
            for name, text in zip(
                ("read_count", "write_count", "trim_count"), match.groups(), strict=False
            ):
                if text and int(text):
                    self._add(name, float(text))
            if match[4] and int(match[4]):
                self._add("sync_count", float(match[4]))
        elif match := _DISK.fullmatch(line):
            self._parsed.measure(match[1], "busy_share", min(float(match[2]) / 100, 1.0))
        elif self._percentiles is not None and (found := _P99.search(line)):
            name, unit = self._percentiles
            value = _counted(found[1])
            if value is not None:
                prefix = "sync_lat" if name == "sync" else f"{self._side}_{name}"
                self._add(f"{prefix}_p99_ns", value * unit)
        else:
            return False
        return True

    def _job(self, match: re.Match[str]) -> None:
        name = match[1]
        self._seen[name] = self._seen.get(name, 0) + 1
        self._subject = name if self._seen[name] == 1 else f"{name} #{self._seen[name]}"
        self._side, self._percentiles = "", None
        self._add("jobs", float(match[2]))
        self._add("error", float(match[3]))

    def _direction(self, text: str) -> None:
        if iops := re.search(r"(?i)iops=\s*([\d.]+[kKMG]?)", text):
            self._add(f"{self._side}_iops", _counted(iops[1]))
        if speed := re.search(r"(?i)bw=\s*([\d.]+)\s*([KMG]?)(?:i?B)/s", text):
            value = number(speed[1])
            if value is not None:
                self._add(f"{self._side}_bytes_per_s", value * KIB ** " KMG".index(speed[2] or " "))
        run = re.search(r"(?:/|runt=\s*)(\d+)\s*msec", text)
        if run:
            self._add(f"{self._side}_runtime_ns", float(run[1]) * 1e6)

    def _latency(self, match: re.Match[str]) -> None:
        unit = _UNITS[match[2]]
        prefix = "sync_lat" if match[1] == "sync" else f"{self._side}_{match[1]}"
        for name, text in (("mean", match[5]), ("max", match[4])):
            value = _counted(text)
            if value is not None:
                self._add(f"{prefix}_{name}_ns", value * unit)

    def unlisted_syncs(self, each: int | None) -> None:
        """Syncs that the options ask for and versions before 3.15 do not list: what of a job's run its calls do not take."""
        for subject, found in self._found.items():
            if each is None or "sync_lat_mean_ns" in found or "write_runtime_ns" not in found:
                continue
            self._subject = subject
            run = found["write_runtime_ns"] * found.get("jobs", 1.0)
            counts = {
                side: found.get(f"{side}_count", found.get(f"{side}_iops", 0.0) * run / 1e9)
                for side in ("read", "write")
            }
            calls = sum(found.get(f"{side}_lat_mean_ns", 0.0) * n for side, n in counts.items())
            syncs = counts["write"] // each
            if syncs and run > calls:
                self._add("sync_count", syncs)
                self._add("sync_lat_mean_ns", (run - calls) / syncs)

    def _add(self, metric: str, value: float | None) -> None:
        if value is not None:
            self._found.setdefault(self._subject, {})[metric] = value
        self._parsed.measure(self._subject, metric, value)


def _counted(text: str) -> float | None:
    """A number with a letter of thousands: "12.3k" operations, "15702M" nanoseconds."""
    value = size(text, base=1000)
    return value if value is not None else number(text)
