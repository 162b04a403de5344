"""Before Linux 5.11 the tables of programs count as locked memory, of which a process may have only so much."""

import re

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine

_COUNTED_BY_GROUP = (5, 11)  # from then on they count to the control group (kernel/bpf/memalloc.c)
_ENOUGH = 1 << 30


def _look(machine: Machine) -> Condition | None:
    if not (0, 0) < machine.kernel < _COUNTED_BY_GROUP:
        return None
    if "CAP_SYS_RESOURCE" in (machine.capabilities or ()):
        return None  # it may raise the limit, and libbpf does
    limit = re.search(
        r"^Max locked memory\s+(\S+)", machine.text("/proc/self/limits") or "", re.MULTILINE
    )
    if limit is None or limit[1] == "unlimited" or int(limit[1]) >= _ENOUGH:
        return None
    return Condition(
        "limits" if machine.programs_run else "stops",
        f"only {int(limit[1]) // 1024} KiB may be locked in memory, and on this kernel tables of programs count",
        "Raise it first: `ulimit -l unlimited`.",
    )


CHECK = Check("locked memory", 70, _look)
