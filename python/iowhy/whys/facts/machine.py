"""The machine while it ran: CPUs, memory, limits, pressure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


#: Share of samples with blocked processes from which they are what the machine does: more often than not.
BLOCKED = 0.5


@dataclass(frozen=True)
class Machine:
    """Shares are 0..1 of the machine's CPU time; levels are means over the samples.

    `blocked_share` is the share of the samples in which processes were blocked.
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
        return bool(self.runnable_always_zero) and (self.blocked_share or 0.0) >= BLOCKED

    @property
    def cache_room_bytes(self) -> float | None:
        """The page cache that the command can have: its group's limit, else what it grew to."""
        if self.memory_limit_bytes is not None and (
            self.memory_bytes is None or self.memory_limit_bytes < self.memory_bytes
        ):
            return float(self.memory_limit_bytes)
        if self.cached_peak_bytes is None:
            return None
        return self.cached_peak_bytes + (self.free_bytes or 0.0)


_CPU = """
WITH change AS (
  SELECT ts_ns, cpu,
    user_ns - lag(user_ns) OVER one AS u,
    system_ns + coalesce(irq_ns, 0) - lag(system_ns + coalesce(irq_ns, 0)) OVER one AS s,
    idle_ns - lag(idle_ns) OVER one AS i,
    iowait_ns - lag(iowait_ns) OVER one AS w,
    coalesce(steal_ns, 0) - lag(coalesce(steal_ns, 0)) OVER one AS st
  FROM cpu_samples WINDOW one AS (PARTITION BY cpu ORDER BY ts_ns)
), shares AS (
  SELECT cpu, greatest(0, u) AS u, greatest(0, s) AS s, greatest(0, i) AS i,
    greatest(0, w) AS w, greatest(0, st) AS st FROM change WHERE u IS NOT NULL
), sums AS (
  SELECT cpu, sum(u) AS u, sum(s) AS s, sum(i) AS i, sum(w) AS w, sum(st) AS st, count(*) AS n,
    avg(CASE WHEN u + s + st >= 0.9 * (u + s + i + w + st) THEN 1.0 ELSE 0.0 END) AS full_share
  FROM shares WHERE u + s + i + w + st > 0 GROUP BY cpu
)
SELECT
  max(CASE WHEN cpu = -1 THEN u / (u + s + i + w + st) END) AS "user",
  max(CASE WHEN cpu = -1 THEN s / (u + s + i + w + st) END) AS system,
  max(CASE WHEN cpu = -1 THEN i / (u + s + i + w + st) END) AS idle,
  max(CASE WHEN cpu = -1 THEN w / (u + s + i + w + st) END) AS iowait,
  max(CASE WHEN cpu = -1 THEN st / (u + s + i + w + st) END) AS steal,
  max(CASE WHEN cpu >= 0 THEN (u + s + st) / (u + s + i + w + st) END) AS busiest,
  max(CASE WHEN cpu = -1 THEN full_share END) AS saturated,
  max(CASE WHEN cpu = -1 THEN n END) AS samples,
  count(DISTINCT CASE WHEN cpu >= 0 THEN cpu END) AS cpus
FROM sums
"""

_MEMORY = """
SELECT max(total_bytes) AS total, avg(free_bytes) AS free, avg(cached_bytes) AS cached,
  max(cached_bytes) AS cached_peak, max(dirty_bytes) AS dirty_peak FROM memory_samples
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
SELECT max(throttled) AS throttled, max(span_ns) AS span_ns,
  max(CASE WHEN periods > 0 THEN throttled_periods / periods END) AS throttled_periods,
  min(quota) AS quota, min(memory_limit) AS memory_limit, max(hits) AS hits,
  max(cached) AS cached, max(refault) AS refault, min(read_limit) AS read_limit,
  min(write_limit) AS write_limit, min(read_ops) AS read_ops, min(write_ops) AS write_ops
FROM span
"""

_PRESSURE = """
SELECT resource, kind, max(total_ns) - min(total_ns), max(ts_ns) - min(ts_ns)
FROM pressure_samples WHERE scope = 'machine' GROUP BY resource, kind
"""


def measure(facts: "Facts") -> Machine:
    """From the samples; None where a table is empty."""
    none: dict[str, float | None] = {}
    cpu = facts.numbers(_CPU) if facts.has("cpu_samples") else none
    memory = facts.numbers(_MEMORY) if facts.has("memory_samples") else none
    vm = facts.numbers(_VM) if facts.has("vm_samples") else none
    group = facts.numbers(_GROUP) if facts.has("cgroup_samples") else none
    pressure: dict[tuple[str, str], float] = {}
    if facts.has("pressure_samples"):
        for resource, kind, stalled, span in facts.rows(_PRESSURE):
            if isinstance(span, int) and span > 0 and isinstance(stalled, int):
                pressure[str(resource), str(kind)] = stalled / span
    user, system, steal = cpu.get("user"), cpu.get("system"), cpu.get("steal")
    busy = None if user is None or system is None else user + system + (steal or 0.0)
    throttled, span_ns = group.get("throttled"), group.get("span_ns")
    cpus = facts.manifest.host.cpus or int(cpu.get("cpus") or 0) or None
    total = facts.manifest.host.memory_bytes
    if total is None and memory.get("total") is not None:
        total = int(memory["total"] or 0)
    limit = group.get("memory_limit")
    most = vm.get("most_running")
    blocked_share = vm.get("blocked_share")
    return Machine(
        cpus=cpus,
        busy=busy,
        user=user,
        system=system,
        idle=cpu.get("idle"),
        iowait=cpu.get("iowait"),
        steal=steal,
        busiest_cpu=cpu.get("busiest"),
        samples=int(cpu.get("samples") or 0),
        saturated_share=cpu.get("saturated"),
        memory_bytes=total,
        free_bytes=memory.get("free"),
        cached_bytes=memory.get("cached"),
        cached_peak_bytes=memory.get("cached_peak"),
        dirty_peak_bytes=memory.get("dirty_peak"),
        swap_pages=vm.get("swap"),
        direct_scan_pages=vm.get("scan"),
        refault_file_pages=vm.get("refault"),
        runnable=vm.get("running"),
        blocked=vm.get("blocked"),
        runnable_always_zero=None if most is None else most == 0,
        blocked_share=blocked_share,
        throttled_share=throttled / span_ns if throttled is not None and span_ns else None,
        throttled_periods_share=group.get("throttled_periods"),
        quota_cores=group.get("quota"),
        memory_limit_bytes=None if limit is None else int(limit),
        memory_limit_hits=group.get("hits"),
        group_cached_bytes=group.get("cached"),
        group_refault_pages=group.get("refault"),
        read_limit_bytes_per_s=group.get("read_limit"),
        write_limit_bytes_per_s=group.get("write_limit"),
        read_limit_ops_per_s=group.get("read_ops"),
        write_limit_ops_per_s=group.get("write_ops"),
        pressure=pressure,
    )
