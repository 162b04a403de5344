"""The machine around the command: its CPUs, and the command's control group."""

from typing import Self

from .base import START, STEP, Row, Rows

#: Of a control group's columns, those that are levels, no counters.
LEVELS = ("limit_bytes", "_per_s", "cores", "memory_bytes", "cached_bytes")


class Machine(Rows):
    """Readings of the machine."""

    def machine(self, busy: float | None = None, steal: float = 0.0) -> Self:
        """Readings of the CPUs every 100 ms: `busy` is a share of all (else what the threads use)."""
        share = self.cpu_share / self.cpus if busy is None else busy
        at = START
        while at <= START + self.elapsed:
            passed = (at - START) * self.cpus
            self.add(
                "cpu_samples",
                ts_ns=at,
                cpu=-1,
                user_ns=int(passed * share * 0.8),
                system_ns=int(passed * share * 0.2),
                idle_ns=int(passed * max(0.0, 1 - share - steal)),
                iowait_ns=0,
                steal_ns=int(passed * steal),
            )
            at += STEP
        return self

    def group(self, **last: object) -> Self:
        """Two readings of the command's cgroup: counters grow from 0 to what is given."""
        zero: Row = {
            name: 0 if isinstance(value, int) and not name.endswith(LEVELS) else value
            for name, value in last.items()
        }
        self.add("cgroup_samples", ts_ns=START, path="/x", **zero)
        return self.add("cgroup_samples", ts_ns=START + self.elapsed, path="/x", **last)
