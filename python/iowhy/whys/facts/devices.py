"""Devices by their own counters: what iostat shows, and all that a pasted iostat can tell."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


#: Of the bytes that the command moved, the share that its device must have moved: the first and last
#: reading are up to 100 ms within the run, and written pages may be dropped or written after it.
FITS = 0.5


@dataclass(frozen=True)
class Device:
    """Medians over the intervals between readings; `samples` of them."""

    dev: int
    name: str
    samples: int
    busy_share: float | None
    depth: float | None
    reads_per_s: float
    writes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    request_bytes: float | None
    wait_ns: float | None
    flushes_per_s: float | None
    load: float
    best_bytes_per_s: float | None


@dataclass(frozen=True)
class Devices:
    """The devices that had any request, the most loaded first.

    `top` is the one to speak of: the most loaded one; of a recorded command without requests of its
    own (--mode proc) the one that it can be, None when it is not known whose the load is.
    """

    all: tuple[Device, ...]
    top: Device | None = None

    def named(self, dev: int | None) -> Device | None:
        """The device with this number."""
        return next((one for one in self.all if one.dev == dev), None)


_RATES = """
WITH c AS (
  SELECT dev, ts_ns - lag(ts_ns) OVER one AS dt,
    reads - lag(reads) OVER one AS r, writes - lag(writes) OVER one AS w,
    read_bytes - lag(read_bytes) OVER one AS rb, written_bytes - lag(written_bytes) OVER one AS wb,
    coalesce(read_ns, 0) + coalesce(write_ns, 0)
      - lag(coalesce(read_ns, 0) + coalesce(write_ns, 0)) OVER one AS t,
    read_ns IS NOT NULL AS timed,
    busy_ns - lag(busy_ns) OVER one AS b, queue_ns - lag(queue_ns) OVER one AS q,
    flushes - lag(flushes) OVER one AS f, in_flight
  FROM disk_samples WINDOW one AS (PARTITION BY dev ORDER BY ts_ns)
), s AS (SELECT * FROM c WHERE dt > 0)
SELECT s.dev, any_value(d.name), count(*), median(least(1.0, b / dt)),
  -- While there is any in flight, there is at least one: less is rounding of the text.
  greatest(1.0, sum(q) / nullif(sum(b), 0)), median(r * 1e9 / dt), median(w * 1e9 / dt),
  median(rb * 1e9 / dt), median(wb * 1e9 / dt),
  sum(rb + wb) / nullif(sum(r + w), 0),
  CASE WHEN bool_or(timed) THEN sum(t) / nullif(sum(r + w), 0) END,
  median(f * 1e9 / dt), sum(coalesce(q, t, 0)) AS load, max((rb + wb) * 1e9 / dt), sum(r + w)
FROM s LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS d USING (dev)
GROUP BY s.dev HAVING sum(r + w) > 0 OR sum(b) > 0 ORDER BY load DESC, sum(r + w) DESC LIMIT 8
"""


def measure(facts: "Facts") -> Devices:
    """From disk_samples."""
    if not facts.has("disk_samples"):
        return Devices(())
    found = tuple(
        Device(
            dev=int(str(row[0])),
            name=str(row[1] or f"{int(str(row[0])) >> 20}:{int(str(row[0])) & 0xFFFFF}"),
            samples=int(str(row[2])),
            busy_share=_number(row[3]),
            depth=_number(row[4]),
            reads_per_s=_number(row[5]) or 0.0,
            writes_per_s=_number(row[6]) or 0.0,
            read_bytes_per_s=_number(row[7]) or 0.0,
            write_bytes_per_s=_number(row[8]) or 0.0,
            request_bytes=_number(row[9]),
            wait_ns=_number(row[10]),
            flushes_per_s=_number(row[11]),
            load=_number(row[12]) or 0.0,
            best_bytes_per_s=_number(row[13]),
        )
        for row in facts.rows(_RATES)
    )
    return Devices(found, _own(facts, found))


def _own(facts: "Facts", found: tuple[Device, ...]) -> Device | None:
    """The device that the command uses: it moved what the command's own counters say, and of several
    that did it is the one under its working directory."""
    whole = facts.run.pasted or facts.run.mode == "machine" or not facts.has("process_io")
    if whole or facts.has("block_requests") or not found:
        return found[0] if found else None
    row = facts.numbers(
        """SELECT sum(r) AS r, sum(w) AS w FROM (
        SELECT tgid, max(read_bytes) AS r, max(written_bytes) AS w FROM process_io GROUP BY tgid)"""
    )
    read, written = row["r"] or 0.0, row["w"] or 0.0
    if read + written <= 0:
        return None
    moved, column = (written, "written_bytes") if written > read else (read, "read_bytes")
    totals = {
        int(str(dev)): float(str(total or 0))
        for dev, total in facts.rows(
            f"SELECT dev, max({column}) - min({column}) FROM disk_samples GROUP BY dev"
        )
    }
    fitting = [one for one in found if totals.get(one.dev, 0.0) >= FITS * moved]
    if len(fitting) == 1:
        return fitting[0]
    under = _under(facts, facts.manifest.command.cwd)
    return next((one for one in fitting if one.dev == under), None)


def _under(facts: "Facts", path: str | None) -> int | None:
    """The device of the file system that a path lies on."""
    if path is None or not facts.has("filesystems"):
        return None
    mounts = facts.rows(
        "SELECT mount, disk_dev FROM filesystems WHERE mount IS NOT NULL AND disk_dev IS NOT NULL"
    )
    inside = [
        (len(str(mount)), int(str(dev)))
        for mount, dev in mounts
        if f"{path}/".startswith(f"{str(mount).rstrip('/')}/")
    ]
    return max(inside)[1] if inside else None


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
