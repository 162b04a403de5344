"""A budget from what other tools printed, where no thread's time was recorded.

Tried in order of how directly they speak of time: single calls, totals of calls, latencytop's
reasons, curt's means, and last the machine's own counters (vmstat, iostat), whose waiting CPUs
stand for waiting threads.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iowhy.whys import classes

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts

#: Idle share of the CPUs from which they are not what is short, as budget.SATURATED.
IDLE = 0.1

#: Idle share from which a machine is said to idle: less than one of five CPUs is used.
IDLES = 0.8
#: Share of one CPU from which a process is taken to need it all the time.
FILLS = 0.8
NO_DIRECTION = "I/O of which the text does not say whether it reads or writes"

Key = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True)
class Pasted:
    """`elapsed`: share (0..1) of the elapsed time by (class, call, reason, mode)."""

    elapsed: dict[Key, float]
    thread_ns: dict[Key, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    basis: str = "machine"


def measure(facts: "Facts") -> Pasted | None:
    """The first of the ways that has its evidence; None when none has."""
    for way in (_single_calls, _call_totals, _reasons, _curt, _machine, _fio):
        found = way(facts)
        if found is not None and sum(found.elapsed.values()) > 0:
            return found
    return None


def _single_calls(facts: "Facts") -> Pasted | None:
    elapsed = facts.run.elapsed_ns
    if not facts.has("syscalls") or not elapsed:
        return None
    threads = facts.numbers("SELECT count(DISTINCT tid) AS n FROM syscalls")["n"] or 1.0
    times = {name: group.total_ns for name, group in facts.calls.by_name.items()}
    return _of_calls(times, {}, elapsed * threads, "calls")


def _call_totals(facts: "Facts") -> Pasted | None:
    if not facts.has("syscall_totals"):
        return None
    groups = facts.calls.by_name
    times = {name: group.total_ns for name, group in groups.items()}
    cpu = {name: group.cpu_ns for name, group in groups.items() if group.cpu_ns is not None}
    if all(cpu.get(name) == time for name, time in times.items()):
        # strace -c without -w: the time of the calls on a CPU, which says nothing of waiting.
        return None
    return _of_calls(times, cpu, sum(times.values()), "calls")


def _of_calls(
    times: dict[str, float], cpu: dict[str, float], whole_ns: float, basis: str
) -> Pasted | None:
    if whole_ns <= 0:
        return None
    sums: dict[Key, float] = {}
    for name, time in times.items():
        on_cpu = min(time, cpu.get(name, 0.0))
        waiting: Key = (classes.of_call(name), name, None, None)
        sums[waiting] = sums.get(waiting, 0.0) + time - on_cpu
        if on_cpu:
            kernel: Key = (classes.KERNEL, name, None, None)
            sums[kernel] = sums.get(kernel, 0.0) + on_cpu
    rest = whole_ns - sum(sums.values())
    if rest > 0:
        outside: Key = (classes.UNEXPLAINED, None, "outside the calls that were traced", None)
        sums[outside] = rest
    whole = sum(sums.values())
    return Pasted(
        {key: time / whole for key, time in sums.items()},
        dict(sums),
        notes=("shares are of the time in traced calls, as the tool that printed them counts it",),
        unknowns=(
            ()
            if cpu
            else ("how much of a call's time was on a CPU: the tool prints only durations",)
        ),
        basis=basis,
    )


def _reasons(facts: "Facts") -> Pasted | None:
    """latencytop: time by reason, of all time that threads were blocked."""
    totals = facts.measured.of("latencytop", "total_ns")
    shares = totals or facts.measured.of("latencytop", "share")
    whole = sum(shares.values())
    if whole <= 0:
        return None
    sums: dict[Key, float] = {}
    for subject, value in shares.items():
        words = subject.lower()
        call = next((c for c in sorted(classes.SYNC_CALLS, key=len)[::-1] if c in words), None)
        key: Key = (classes.of_wait(subject, call), call, subject, None)
        sums[key] = sums.get(key, 0.0) + value / whole
    return Pasted(
        sums,
        {key: share * whole for key, share in sums.items()} if totals else {},
        notes=("shares are of the time that threads were blocked, as latencytop counts it",),
        unknowns=("the time on a CPU: latencytop counts only waits",),
        basis="waits",
    )


def _curt(facts: "Facts") -> Pasted | None:
    """curt: per call the mean elapsed and CPU time; shares are of the calls' elapsed time."""
    elapsed = facts.measured.of("curt", "elapsed_mean_ns")
    if not elapsed:
        return None
    calls = facts.measured.of("curt", "calls")
    cpu = facts.measured.of("curt", "cpu_mean_ns")
    times = {name: mean * calls.get(name, 1.0) for name, mean in elapsed.items()}
    on_cpu = {name: mean * calls.get(name, 1.0) for name, mean in cpu.items() if name in elapsed}
    return _of_calls(times, on_cpu, sum(times.values()), "calls")


def _fio(facts: "Facts") -> Pasted | None:
    """fio's own time: what its jobs' calls take of their run, the CPU's part taken off; last, as it is of fio alone."""
    numbers: dict[str, dict[str, float]] = {}
    for one in facts.measured.numbers:
        if one.tool == "fio":
            numbers.setdefault(one.subject, {})[one.metric] = one.value
    sums: dict[Key, float] = {}
    for job in numbers.values():
        run_ns = max(job.get("read_runtime_ns", 0.0), job.get("write_runtime_ns", 0.0))
        run_ns *= job.get("jobs", 1.0)
        seconds = run_ns / 1e9 / max(job.get("jobs", 1.0), 1.0)
        reads = job.get("read_count", job.get("read_iops", 0.0) * seconds)
        writes = job.get("write_count", job.get("write_iops", 0.0) * seconds)
        times = {
            (classes.READ, "read"): job.get("read_lat_mean_ns", 0.0) * reads,
            (classes.WRITE, "write"): job.get("write_lat_mean_ns", 0.0) * writes,
            (classes.SYNC, "fsync"): job.get("sync_lat_mean_ns", 0.0) * job.get("sync_count", 0.0),
        }  # fmt: skip
        in_calls = sum(times.values())
        if not run_ns or not in_calls:
            continue
        user, kernel = (job.get(f"cpu_{part}_share", 0.0) * run_ns for part in ("user", "kernel"))
        # Several requests under way at once (iodepth) take more than the run together.
        waiting = max(0.0, min(in_calls, run_ns - user) - kernel)
        for (cls, call), time in times.items():
            key: Key = (cls, call, None, None)
            sums[key] = sums.get(key, 0.0) + waiting * time / in_calls
        for cls, time in ((classes.USER, user), (classes.KERNEL, kernel)):
            sums[cls, None, None, None] = sums.get((cls, None, None, None), 0.0) + time
        rest = max(0.0, run_ns - user - kernel - waiting)
        sums[classes.IDLE, None, None, None] = (
            sums.get((classes.IDLE, None, None, None), 0.0) + rest
        )
    whole = sum(sums.values())
    if whole <= 0:
        return None
    return Pasted(
        {key: time / whole for key, time in sums.items()},
        dict(sums),
        notes=("shares are of fio's own time: its calls are not those of another program",),
        basis="calls",
    )


def _machine(facts: "Facts") -> Pasted | None:
    """The machine's CPUs as the threads: busy ones, ones that wait for I/O, idle ones."""
    machine = facts.machine
    if machine.busy is None or machine.user is None:
        return None
    notes: list[str] = []
    unknowns = ["which process used the time: these are figures of the whole machine"]
    cpus = machine.cpus
    guessed = False
    idle = (machine.idle or 0.0) + (machine.iowait or 0.0)
    if cpus is None:
        cpus, guessed = _guess_cpus(machine.busy, machine.runnable)
        if guessed:
            notes.append(f"the number of CPUs is not in the text; the figures fit {cpus}")
        else:
            unknowns.append("the number of CPUs")
    waiting = _waiting(facts, cpus)
    if idle >= IDLES and not _one_is_busy(facts):
        # What little is computed may be many programs': it is not one's that fills a CPU.
        cpus = 1
    busy = machine.busy * cpus
    if not machine.iowait and machine.blocked and facts.has("vm_samples"):
        # Systems without iowait (BSD): CPU time left idle while processes are blocked and none
        # waits to run is time that storage costs.
        waiting = facts.numbers(_IDLE_WHILE_BLOCKED.format(cpus=cpus))["waiting"] or 0.0
        waiting = min(waiting, idle * cpus)
        if machine.waits_for_disks and idle > IDLE:
            # Nobody ever waits to run and somebody mostly for I/O: these are its threads.
            waiting = machine.blocked
    active = busy + waiting
    if active <= 0:
        return Pasted({(classes.IDLE, None, None, None): 1.0}, notes=tuple(notes))
    used = min(1.0, active)
    mode = "parallel"
    if busy / cpus >= 0.9:
        mode = "saturated"
    elif machine.cpus is None and not guessed:
        # Whether others idle, or how many, cannot be told from shares alone.
        mode = "unknown"
    elif busy <= 1.15:
        # One CPU's worth of work, on a machine that has more of them.
        mode = "serial" if cpus > 1 else "saturated" if busy >= 0.9 else "serial"
    if mode == "serial" and busy >= 0.9 and machine.runnable:
        notes.append("processes wait to run although a CPU idles")
    sums: dict[Key, float] = {
        (classes.USER, None, None, mode): used * machine.user * cpus / active,
        (classes.KERNEL, None, None, mode): used * (busy - machine.user * cpus) / active,
        (classes.IDLE, None, None, None): 1 - used,
    }
    read = _read_share(facts)
    if read is None and waiting and not machine.iowait:
        # From processes that are blocked (BSD): the causes that look at these take it for storage.
        notes.append("whether processes that are blocked read or write is not in the text")
        read = 1.0
    if read is None and waiting:
        sums[classes.UNEXPLAINED, None, NO_DIRECTION, None] = used * waiting / active
    elif read is not None:
        sums[classes.READ, None, None, None] = used * waiting * read / active
        sums[classes.WRITE, None, None, None] = used * waiting * (1 - read) / active
    return Pasted(sums, notes=tuple(notes), unknowns=tuple(unknowns), basis="machine")


def _one_is_busy(facts: "Facts") -> bool:
    """Whether the text shows a process that fills most of a CPU."""
    shares = facts.measured.metric("cpu_share").values()
    threads = facts.threads.top_share
    return max(shares, default=0.0) >= FILLS or (threads is not None and threads >= FILLS)


def _waiting(facts: "Facts", cpus: int) -> float:
    """CPUs that idle while a task waits for I/O.

    One task that always waits makes 1 of 4 CPUs wait, and so do many tasks that wait now and then. It is taken for
    one where something else shows that: a device that is busy all the time, or processes that are blocked.
    """
    machine = facts.machine
    iowait = machine.iowait or 0.0
    shown = [one.busy_share for one in facts.devices.all if one.busy_share is not None]
    if not shown and machine.blocked is not None:
        shown.append(min(1.0, machine.blocked))
    if not shown:
        return iowait if (machine.idle or 0.0) >= IDLES else iowait * cpus
    return min(iowait * cpus, max(iowait, *shown))


def _read_share(facts: "Facts") -> float | None:
    """Reads of all that is moved, by bytes, else by requests; None where no text has a direction."""
    top = facts.devices.top
    pairs: list[tuple[float, float]] = []
    if top is not None:
        pairs.append((top.read_bytes_per_s, top.write_bytes_per_s))
        pairs.append((top.reads_per_s, top.writes_per_s))
    if facts.has("vm_samples"):
        row = facts.numbers(
            "SELECT max(page_in_bytes) - min(page_in_bytes) AS r, max(page_out_bytes) - min(page_out_bytes) AS w"
            " FROM vm_samples"
        )
        pairs.append((row["r"] or 0.0, row["w"] or 0.0))
    return next((read / (read + written) for read, written in pairs if read + written > 0), None)


_IDLE_WHILE_BLOCKED = """
WITH c AS (
  SELECT ts_ns, (idle_ns - lag(idle_ns) OVER one)
    / nullif(user_ns + system_ns + idle_ns + coalesce(iowait_ns, 0)
      - lag(user_ns + system_ns + idle_ns + coalesce(iowait_ns, 0)) OVER one, 0)::DOUBLE AS idle
  FROM cpu_samples WHERE cpu = -1 WINDOW one AS (ORDER BY ts_ns)
)
SELECT avg(CASE WHEN v.procs_running = 0 AND v.procs_blocked > 0
  THEN least(v.procs_blocked, c.idle * {cpus}) ELSE 0 END) AS waiting
FROM c JOIN vm_samples AS v ON v.ts_ns = c.ts_ns WHERE c.idle IS NOT NULL
"""


def _guess_cpus(busy: float, runnable: float | None) -> tuple[int, bool]:
    """How many CPUs fit a steady load of 1/n with processes waiting to run: one of n is full."""
    if runnable is not None and runnable >= 0.5:
        for cpus in (2, 4, 8):
            if 0.9 <= busy * cpus <= 1.15:
                return cpus, True
    return 1, False
