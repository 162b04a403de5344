"""The machine while it ran: CPUs, memory, limits, pressure."""

from dataclasses import dataclass

from iowhy.relations import Relations

#: Share of samples with blocked processes from which they are what the machine does: more often than not.
BLOCKED = 0.5


@dataclass(frozen=True)
class Machine:
    """Shares are 0..1 of the machine's CPU time; levels are means over the samples.

    `blocked_share` is the share of the samples in which processes were blocked, `cached_growth_bytes` by how
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
    read_limit_bytes_per_s: float | None
    write_limit_bytes_per_s: float | None
    read_limit_ops_per_s: float | None
    write_limit_ops_per_s: float | None
    pressure: dict[tuple[str, str], float]

    @property
    def waits_for_disks(self) -> bool:
        """No process ever waits to run, and mostly some are blocked."""
        return bool(self.runnable_always_zero) and (
            self.blocked_share is not None and self.blocked_share >= BLOCKED
        )

    @property
    def cache_room_bytes(self) -> float | None:
        """The page cache that the command can have: its group's limit, else what it grew to."""
        if self.memory_limit_bytes is not None and (
            self.memory_bytes is None or self.memory_limit_bytes < self.memory_bytes
        ):
            return float(self.memory_limit_bytes)
        if self.cached_peak_bytes is None:
            return None
        return self.cached_peak_bytes + (0.0 if self.free_bytes is None else self.free_bytes)


_CPU = """
WITH change AS (
  SELECT ts_ns, cpu,
    user_ns - lag(user_ns) OVER one AS u,
    system_ns + coalesce(irq_ns, 0) - lag(system_ns + coalesce(irq_ns, 0)) OVER one AS s,
    idle_ns - lag(idle_ns) OVER one AS i,
    iowait_ns - lag(iowait_ns) OVER one AS w, iowait_ns IS NOT NULL AS apart,
    coalesce(steal_ns, 0) - lag(coalesce(steal_ns, 0)) OVER one AS st
  FROM cpu_samples WINDOW one AS (PARTITION BY cpu ORDER BY ts_ns)
), shares AS (
  SELECT cpu, greatest(0, u) AS u, greatest(0, s) AS s, greatest(0, i) AS i,
    greatest(0, w) AS w, greatest(0, st) AS st, apart FROM change WHERE u IS NOT NULL
), sums AS (
  SELECT cpu, sum(u) AS u, sum(s) AS s, sum(i) AS i, sum(w) AS w, sum(st) AS st, count(*) AS n,
    bool_or(apart) AS apart,
    avg(CASE WHEN u + s + st >= 0.9 * (u + s + i + w + st) THEN 1.0 ELSE 0.0 END) AS full_share
  FROM shares WHERE u + s + i + w + st > 0 GROUP BY cpu
)
SELECT
  max(CASE WHEN cpu = -1 THEN u / (u + s + i + w + st) END) AS user_share,
  max(CASE WHEN cpu = -1 THEN s / (u + s + i + w + st) END) AS system,
  max(CASE WHEN cpu = -1 THEN i / (u + s + i + w + st) END) AS idle,
  max(CASE WHEN cpu = -1 AND apart THEN w / (u + s + i + w + st) END) AS iowait,
  max(CASE WHEN cpu = -1 THEN st / (u + s + i + w + st) END) AS steal,
  max(CASE WHEN cpu >= 0 THEN (u + s + st) / (u + s + i + w + st) END) AS busiest,
  max(CASE WHEN cpu = -1 THEN full_share END) AS saturated,
  max(CASE WHEN cpu = -1 THEN n END) AS samples,
  count(DISTINCT CASE WHEN cpu >= 0 THEN cpu END) AS cpus
FROM sums
"""

_MEMORY = """
SELECT max(total_bytes) AS total, avg(free_bytes) AS free, avg(cached_bytes) AS cached,
  max(cached_bytes) AS cached_peak,
  arg_max(cached_bytes, ts_ns) - arg_min(cached_bytes, ts_ns) AS cached_growth, max(dirty_bytes) AS dirty_peak FROM memory_samples
"""

_VM = """
SELECT max(swap_in_pages) - min(swap_in_pages)
    + coalesce(max(swap_out_pages) - min(swap_out_pages), 0) AS swap,
  max(direct_scan_pages) - min(direct_scan_pages) AS scan,
  max(refault_file_pages) - min(refault_file_pages) AS refault,
  avg(procs_running) AS running, avg(procs_blocked) AS blocked,
  max(procs_running) AS most_running,
  avg(CASE WHEN procs_blocked IS NULL THEN NULL WHEN procs_blocked > 0 THEN 1.0 ELSE 0.0 END)
    AS blocked_share
FROM vm_samples
"""

_GROUP = """
WITH span AS (
  SELECT path, max(cpu_throttled_ns) - min(cpu_throttled_ns) AS throttled,
    max(cpu_periods) - min(cpu_periods) AS periods,
    max(cpu_throttled_periods) - min(cpu_throttled_periods) AS throttled_periods,
    max(ts_ns) - min(ts_ns) AS span_ns, min(cpu_quota_cores) AS quota,
    min(memory_limit_bytes) AS memory_limit,
    max(memory_limit_hits) - min(memory_limit_hits) AS hits,
    max(cached_bytes) AS cached,
    max(refault_file_pages) - min(refault_file_pages) AS refault,
    min(io_limit_read_bytes_per_s) AS read_limit, min(io_limit_write_bytes_per_s) AS write_limit,
    min(io_limit_read_ops_per_s) AS read_ops, min(io_limit_write_ops_per_s) AS write_ops
  FROM cgroup_samples GROUP BY path
)
SELECT max(throttled / nullif(span_ns, 0)) AS throttled,
  max(CASE WHEN periods > 0 THEN throttled_periods / periods END) AS throttled_periods,
  min(quota) AS quota, min(memory_limit) AS memory_limit, max(hits) AS hits,
  max(cached) AS cached, max(refault) AS refault, min(read_limit) AS read_limit,
  min(write_limit) AS write_limit, min(read_ops) AS read_ops, min(write_ops) AS write_ops
FROM span
"""

#: Sums of a counter's growth over its span, by resource and kind.
_PRESSURE = """
SELECT resource, kind, max(total_ns) - min(total_ns) AS stalled_ns, max(ts_ns) - min(ts_ns) AS span_ns
FROM pressure_samples WHERE scope = 'machine' GROUP BY resource, kind
"""


@dataclass(frozen=True)
class _Cpu:
    user_share: float | None = None
    system: float | None = None
    idle: float | None = None
    iowait: float | None = None
    steal: float | None = None
    busiest: float | None = None
    saturated: float | None = None
    samples: int | None = None
    cpus: int | None = None


@dataclass(frozen=True)
class _Memory:
    total: int | None = None
    free: float | None = None
    cached: float | None = None
    cached_peak: int | None = None
    cached_growth: int | None = None
    dirty_peak: int | None = None


@dataclass(frozen=True)
class _Vm:
    swap: int | None = None
    scan: int | None = None
    refault: int | None = None
    running: float | None = None
    blocked: float | None = None
    most_running: float | None = None
    blocked_share: float | None = None


@dataclass(frozen=True)
class _Group:
    throttled: float | None = None
    throttled_periods: float | None = None
    quota: float | None = None
    memory_limit: int | None = None
    hits: int | None = None
    cached: int | None = None
    refault: int | None = None
    read_limit: float | None = None
    write_limit: float | None = None
    read_ops: float | None = None
    write_ops: float | None = None


@dataclass(frozen=True)
class _Pressure:
    resource: str
    kind: str
    stalled_ns: int | None
    span_ns: int | None


def measure(relations: Relations) -> Machine:
    """From the samples; None where a table is empty."""
    cpu = relations.one(_Cpu, _CPU) if relations.has("cpu_samples") else _Cpu()
    memory = relations.one(_Memory, _MEMORY) if relations.has("memory_samples") else _Memory()
    vm = relations.one(_Vm, _VM) if relations.has("vm_samples") else _Vm()
    group = relations.one(_Group, _GROUP) if relations.has("cgroup_samples") else _Group()
    pressure = {
        (one.resource, one.kind): one.stalled_ns / one.span_ns
        for one in (
            relations.read(_Pressure, _PRESSURE) if relations.has("pressure_samples") else ()
        )
        if one.stalled_ns is not None and one.span_ns
    }
    busy = None
    if cpu.user_share is not None and cpu.system is not None:
        # A source without steal has none to tell: it is in none of the other states.
        busy = cpu.user_share + cpu.system + (0.0 if cpu.steal is None else cpu.steal)
    facts = relations.facts
    most = vm.most_running
    return Machine(
        cpus=facts.cpus if facts.cpus is not None else cpu.cpus or None,
        busy=busy,
        user=cpu.user_share,
        system=cpu.system,
        idle=cpu.idle,
        iowait=cpu.iowait,
        steal=cpu.steal,
        busiest_cpu=cpu.busiest,
        samples=cpu.samples or 0,
        saturated_share=cpu.saturated,
        memory_bytes=facts.memory_bytes if facts.memory_bytes is not None else memory.total,
        free_bytes=memory.free,
        cached_bytes=memory.cached,
        cached_peak_bytes=memory.cached_peak,
        cached_growth_bytes=memory.cached_growth,
        dirty_peak_bytes=memory.dirty_peak,
        swap_pages=vm.swap,
        direct_scan_pages=vm.scan,
        refault_file_pages=vm.refault,
        runnable=vm.running,
        blocked=vm.blocked,
        runnable_always_zero=None if most is None else most == 0,
        blocked_share=vm.blocked_share,
        throttled_share=group.throttled,
        throttled_periods_share=group.throttled_periods,
        quota_cores=group.quota,
        memory_limit_bytes=group.memory_limit,
        memory_limit_hits=group.hits,
        group_cached_bytes=group.cached,
        group_refault_pages=group.refault,
        read_limit_bytes_per_s=group.read_limit,
        write_limit_bytes_per_s=group.write_limit,
        read_limit_ops_per_s=group.read_ops,
        write_limit_ops_per_s=group.write_ops,
        pressure=pressure,
    )
