"""Copies of /proc/stat: CPU time in ticks of 10 ms (USER_HZ), per CPU and for all; see proc(5)."""

import re

from iowhy.sources.format import Block, Parsed, Snapshot

NAME = "proc-stat"
TOOL = "cat /proc/stat"
HINT = r"^cpu\s+\d+(?:\s+\d+){4,}"

TICK_NS = 10_000_000
_CPU = re.compile(r"cpu(\d{0,6})((?:\s+\d{1,15}){5,10})")
_OTHER = re.compile(
    r"(intr|ctxt|btime|processes|procs_running|procs_blocked|softirq)\s+(\d{1,19}).*"
)
NEAR = (f"^{_CPU.pattern}$", 1)


def read(block: Block) -> Parsed:
    """Into cpu_samples and vm_samples; the line of all CPUs begins each copy."""
    parsed = Parsed(TOOL, units="ticks of 10 ms")
    copy = -1
    others: dict[int, dict[str, int]] = {}
    cpus: set[int] = set()
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _CPU.fullmatch(text):
            if not match[1]:
                copy += 1
            number = int(match[1]) if match[1] else -1
            if number >= 0:
                cpus.add(number)
            ticks = [int(word) * TICK_NS for word in match[2].split()]
            # Guest time is part of user and nice (kernel/sched/cputime.c): not added again.
            counters = {
                "user_ns": ticks[0] + ticks[1],
                "system_ns": ticks[2],
                "idle_ns": ticks[3],
                "iowait_ns": ticks[4],
            }
            if len(ticks) > 6:
                counters["irq_ns"] = ticks[5] + ticks[6]
            if len(ticks) > 7:
                counters["steal_ns"] = ticks[7]
            parsed.snapshots.append(
                Snapshot("cpu_samples", {"cpu": number}, max(copy, 0), counters)
            )
        elif match := _OTHER.fullmatch(text):
            others.setdefault(max(copy, 0), {})[match[1]] = int(match[2])
        else:
            parsed.reject(at, line)
    for number, values in others.items():
        counted = {
            name: values[key]
            for key, name in (("ctxt", "context_switches"), ("processes", "forks"))
            if key in values
        }
        levels: dict[str, int | None] = {
            key: values[key] for key in ("procs_running", "procs_blocked") if key in values
        }
        parsed.snapshots.append(Snapshot("vm_samples", {}, number, counted, levels))
    if cpus:
        parsed.host["cpus"] = len(cpus)
    if copy <= 0:
        parsed.missing.append("cat /proc/stat; sleep 10; cat /proc/stat")
    return parsed
