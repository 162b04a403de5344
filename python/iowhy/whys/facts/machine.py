"""The machine while it ran: CPUs, memory, limits, pressure."""

from msgspec import Struct, field

from iowhy.relations import Relations

#: Share of samples with blocked processes from which they are what the machine does: more often than not.
BLOCKED = 0.5


class Machine(Struct, frozen=True):
    """Shares are 0..1 of the machine's CPU time; levels are means over the time.

    `blocked_share` is the share of the time in which processes were blocked, as its samples say, `cached_growth_bytes` by how
    much the page cache is larger in the last sample than in the first.
    """

    cpus: int | None = None
    busy: float | None = None
    user: float | None = None
    system: float | None = None
    idle: float | None = None
    iowait: float | None = None
    steal: float | None = None
    interrupts: float | None = None
    busiest_cpu: float | None = None
    samples: int = 0
    memory_bytes: int | None = None
    free_bytes: float | None = None
    available_bytes: float | None = None
    cached_peak_bytes: float | None = None
    cached_growth_bytes: float | None = None
    swap_pages: float | None = None
    direct_scan_pages: float | None = None
    runnable: float | None = None
    blocked: float | None = None
    runnable_always_zero: bool | None = None
    blocked_share: float | None = None
    throttled_share: float | None = None
    throttled_periods_share: float | None = None
    quota_cores: float | None = None
    memory_limit_bytes: int | None = None
    memory_limit_hits: float | None = None
    group_refault_pages: float | None = None
    pressure: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def waits_for_disks(self) -> bool:
        """No process ever waits to run, and mostly some are blocked."""
        return bool(self.runnable_always_zero) and (
            self.blocked_share is not None and self.blocked_share >= BLOCKED
        )

    @property
    def is_limited(self) -> bool:
        """Its group may have less memory than the machine has."""
        limit = self.memory_limit_bytes
        return limit is not None and (self.memory_bytes is None or limit < self.memory_bytes)

    @property
    def left_bytes(self) -> float | None:
        """Memory that programs can still have: what the kernel calls available, else what is free or page cache."""
        if self.available_bytes is not None or self.free_bytes is None:
            return self.available_bytes
        return self.free_bytes + (self.cached_peak_bytes or 0.0)

    @property
    def cache_room_bytes(self) -> float | None:
        """The page cache that the command can have: its group's limit, else what it grew to."""
        if self.is_limited and self.memory_limit_bytes is not None:
            return float(self.memory_limit_bytes)
        if self.cached_peak_bytes is None:
            return None
        return self.cached_peak_bytes + (0.0 if self.free_bytes is None else self.free_bytes)


_LEVELS = """
SELECT busy_share AS busy, user_share AS user, system_share AS system, interrupt_share AS interrupts, idle_share AS idle, iowait_share AS iowait,
  steal_share AS steal, busiest_share AS busiest_cpu, coalesce(samples, 0) AS samples, swap_pages, direct_scan_pages,
  runnable, blocked, most_runnable = 0 AS runnable_always_zero, blocked_share,
  coalesce(r.cpus, c.cpus) AS cpus
FROM machine_levels AS m CROSS JOIN cpu_count AS c CROSS JOIN recording AS r
"""

_MEMORY = """
SELECT coalesce((SELECT memory_bytes FROM recording), max(total_bytes)) AS memory_bytes,
  sum(free_bytes * span_s) / sum(span_s) FILTER (free_bytes IS NOT NULL) AS free_bytes,
  arg_max(available_bytes, ts_ns) AS available_bytes,
  max(cached_bytes) AS cached_peak_bytes,
  arg_max(cached_bytes, ts_ns) - arg_min(cached_bytes, ts_ns) AS cached_growth_bytes
FROM (
  SELECT *, greatest(coalesce(ts_ns - lag(ts_ns) OVER w, (lead(ts_ns) OVER w) - ts_ns, 1), 1) / 1e9 AS span_s
  FROM memory_samples
  WINDOW w AS (ORDER BY ts_ns)
)
"""

_GROUP = """
SELECT max(stopped_share) AS throttled_share, max(stopped_periods_share) AS throttled_periods_share,
  min(quota_cores) AS quota_cores, min(memory_limit_bytes) AS memory_limit_bytes,
  max(memory_limit_hits) AS memory_limit_hits, max(refault_pages) AS group_refault_pages
FROM group_totals
"""

_PRESSURE = """
SELECT resource, kind, stalled_share FROM pressure_totals
WHERE scope = 'machine' AND stalled_share IS NOT NULL
"""


def measure(relations: Relations) -> Machine:
    """From the samples; None where a table is empty."""
    facts, has = relations.facts, relations.has
    queries = (
        (("cpu_samples", "vm_samples"), _LEVELS),
        (("memory_samples",), _MEMORY),
        (("cgroup_samples",), _GROUP),
    )
    pressure = relations.rows(_PRESSURE) if has("pressure_samples") else []
    return relations.one(
        Machine,
        *(sql for tables, sql in queries if any(map(has, tables))),
        cpus=facts.cpus,
        memory_bytes=facts.memory_bytes,
        pressure={(resource, kind): share for resource, kind, share in pressure},
    )
