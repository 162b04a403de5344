"""fio's terse output, version 3 (`--minimal`): a line for each job, its fields parted by semicolons.

fio's documentation, "Terse output": KiB, KiB/s, ms of run time, µs of latencies. Fields of each direction are the same; reads come first.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number

NAME = "fio-terse"
TOOL = "fio"
HINT = r"^3;fio-[\d.]+[^;]*;[^;]{1,100};\d+;\d+;"

#: Where a direction's fields begin, and how many it has.
_FIRST = 5
_FIELDS = 41
#: Place among a direction's fields → metric behind its name, and what one of it is.
_METRICS = {
    1: ("bytes_per_s", KIB),
    2: ("iops", 1.0),
    9: ("clat_max_ns", 1e3),
    10: ("clat_mean_ns", 1e3),
    33: ("lat_max_ns", 1e3),
    34: ("lat_mean_ns", 1e3),
}
_P99 = re.compile(r"99\.0+%=(\d+)")
SURE = 0.9


def read(block: Block) -> Parsed:
    """Into measurements: subject is the job."""
    parsed = Parsed(TOOL, units="KiB; latencies in us")
    for at, line in parsed.lines(block):
        fields = line.strip().split(";")
        if not re.match(HINT, line) or len(fields) < _FIRST + 2 * _FIELDS + 5:
            parsed.reject(at, line)
            continue
        parsed.version, job = fields[1].removeprefix("fio-"), fields[2]
        parsed.measure(job, "error", number(fields[4]) or 0.0)
        reads, writes = (fields[at : at + _FIELDS] for at in (_FIRST, _FIRST + _FIELDS))
        # What syncs take is not printed: of a job that writes, nobody knows where the rest of the run went.
        run = 0 if number(writes[3]) else number(reads[3])
        if run:
            parsed.measure(job, "read_runtime_ns", run * 1e6)
        for side, cells in (("read", reads), ("write", writes)):
            _direction(parsed, job, side, cells)
        user, kernel = fields[_FIRST + 2 * _FIELDS :][:2]
        for subject, metric, cell in (
            (job, "cpu_user_share", user),
            (job, "cpu_kernel_share", kernel),
            (fields[-9], "busy_share", fields[-1]),
        ):
            if (share := number(cell.rstrip("%"))) is not None and cell.endswith("%"):
                parsed.measure(subject, metric, min(share / 100, 1.0))
    return parsed


def _direction(parsed: Parsed, job: str, side: str, fields: list[str]) -> None:
    found, run_ms = {at: number(fields[at]) for at in _METRICS}, number(fields[3])
    if not found[2] or not run_ms:
        return
    for at, (name, unit) in _METRICS.items():
        if (value := found[at]) is not None:
            parsed.measure(job, f"{side}_{name}", value * unit)
    # Requests are counted by their rate and time.
    parsed.measure(job, f"{side}_count", round(found[2] * run_ms / 1e3))
    for cell in fields:
        if p99 := _P99.fullmatch(cell):
            parsed.measure(job, f"{side}_clat_p99_ns", float(p99[1]) * 1e3)
