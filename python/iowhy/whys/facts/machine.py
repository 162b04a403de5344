"""The machine while it ran: CPUs, memory, limits, pressure."""

from msgspec import Struct

from iowhy.relations import Relations

#: Share of samples with blocked processes from which they are what the machine does: more often than not.
BLOCKED = 0.5


class Machine(Struct, frozen=True):
    """Shares are 0..1 of the machine's CPU time; levels are means over the time.

    `blocked_share` is the share of the time in which processes were blocked, as its samples say, `cached_growth_bytes` by how
    much the page cache is larger in the last sample than in the first.
    """

    cpus: int | None
    busy: float | None
    user: float | None
    system: float | None
    idle: float | None
    iowait: float | None
    steal: float | None
    busiest_cpu: float | None
    samples: int
    saturated_share: float | None
    memory_bytes: int | None
    free_bytes: float | None
    cached_bytes: float | None
    cached_peak_bytes: float | None
    cached_growth_bytes: float | None
    dirty_peak_bytes: float | None
    swap_pages: float | None
    direct_scan_pages: float | None
    refault_file_pages: float | None
    runnable: float | None
    blocked: float | None
    runnable_always_zero: bool | None
    blocked_share: float | None
    throttled_share: float | None
    throttled_periods_share: float | None
    quota_cores: float | None
    memory_limit_bytes: int | None
    memory_limit_hits: float | None
    group_cached_bytes: float | None
    group_refault_pages: float | None
    pressure: dict[tuple[str, str], float]

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
    def cache_room_bytes(self) -> float | None:
        """The page cache that the command can have: its group's limit, else what it grew to."""
        if self.is_limited and self.memory_limit_bytes is not None:
            return float(self.memory_limit_bytes)
        if self.cached_peak_bytes is None:
            return None
        return self.cached_peak_bytes + (0.0 if self.free_bytes is None else self.free_bytes)


_LEVELS = """
SELECT m.* EXCLUDE (page_in_bytes, page_out_bytes), c.cpus FROM machine_levels AS m CROSS JOIN cpu_count AS c
"""

_MEMORY = """
SELECT max(total_bytes) AS total,
  sum(free_bytes * span_s) / sum(span_s) FILTER (free_bytes IS NOT NULL) AS free,
  sum(cached_bytes * span_s) / sum(span_s) FILTER (cached_bytes IS NOT NULL) AS cached,
  max(cached_bytes) AS cached_peak,
  arg_max(cached_bytes, ts_ns) - arg_min(cached_bytes, ts_ns) AS cached_growth, max(dirty_bytes) AS dirty_peak
FROM (
  SELECT *, greatest(coalesce(ts_ns - lag(ts_ns) OVER w, (lead(ts_ns) OVER w) - ts_ns, 1), 1) / 1e9 AS span_s
  FROM memory_samples
  WINDOW w AS (ORDER BY ts_ns)
)
"""

_GROUP = """
SELECT max(stopped_share) AS throttled, max(stopped_periods_share) AS throttled_periods,
  min(quota_cores) AS quota, min(memory_limit_bytes) AS memory_limit, max(memory_limit_hits) AS hits,
  max(cached_bytes) AS cached, max(refault_pages) AS refault
FROM group_totals
"""

_PRESSURE = """
SELECT resource, kind, stalled_share FROM pressure_totals
WHERE scope = 'machine' AND stalled_share IS NOT NULL
"""


class _Levels(Struct, frozen=True):
    user_share: float | None = None
    system_share: float | None = None
    idle_share: float | None = None
    iowait_share: float | None = None
    steal_share: float | None = None
    busy_share: float | None = None
    busiest_share: float | None = None
    saturated_share: float | None = None
    samples: int | None = None
    runnable: float | None = None
    most_runnable: int | None = None
    blocked: float | None = None
    blocked_share: float | None = None
    swap_pages: int | None = None
    direct_scan_pages: int | None = None
    refault_file_pages: int | None = None
    cpus: int | None = None


class _Memory(Struct, frozen=True):
    total: int | None = None
    free: float | None = None
    cached: float | None = None
    cached_peak: int | None = None
    cached_growth: int | None = None
    dirty_peak: int | None = None


class _Group(Struct, frozen=True):
    throttled: float | None = None
    throttled_periods: float | None = None
    quota: float | None = None
    memory_limit: int | None = None
    hits: int | None = None
    cached: int | None = None
    refault: int | None = None


class _Pressure(Struct, frozen=True):
    resource: str
    kind: str
    stalled_share: float


def measure(relations: Relations) -> Machine:
    """From the samples; None where a table is empty."""
    has = relations.has
    levels = _Levels()
    if has("cpu_samples") or has("vm_samples"):
        levels = relations.one(_Levels, _LEVELS)
    memory = relations.one(_Memory, _MEMORY) if has("memory_samples") else _Memory()
    group = relations.one(_Group, _GROUP) if has("cgroup_samples") else _Group()
    pressure = relations.read(_Pressure, _PRESSURE) if has("pressure_samples") else []
    facts = relations.facts
    most = levels.most_runnable
    return Machine(
        cpus=facts.cpus if facts.cpus is not None else levels.cpus,
        busy=levels.busy_share,
        user=levels.user_share,
        system=levels.system_share,
        idle=levels.idle_share,
        iowait=levels.iowait_share,
        steal=levels.steal_share,
        busiest_cpu=levels.busiest_share,
        samples=levels.samples or 0,
        saturated_share=levels.saturated_share,
        memory_bytes=facts.memory_bytes if facts.memory_bytes is not None else memory.total,
        free_bytes=memory.free,
        cached_bytes=memory.cached,
        cached_peak_bytes=memory.cached_peak,
        cached_growth_bytes=memory.cached_growth,
        dirty_peak_bytes=memory.dirty_peak,
        swap_pages=levels.swap_pages,
        direct_scan_pages=levels.direct_scan_pages,
        refault_file_pages=levels.refault_file_pages,
        runnable=levels.runnable,
        blocked=levels.blocked,
        runnable_always_zero=None if most is None else most == 0,
        blocked_share=levels.blocked_share,
        throttled_share=group.throttled,
        throttled_periods_share=group.throttled_periods,
        quota_cores=group.quota,
        memory_limit_bytes=group.memory_limit,
        memory_limit_hits=group.hits,
        group_cached_bytes=group.cached,
        group_refault_pages=group.refault,
        pressure={(one.resource, one.kind): one.stalled_share for one in pressure},
    )
