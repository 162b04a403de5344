"""Other users' processes: /proc may hide them (hidepid, proc(5)), and then -p does not find them."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine


def _look(machine: Machine) -> Condition | None:
    for line in (machine.text("/proc/mounts") or "").splitlines():
        words = line.split()
        if len(words) < 4 or words[1] != "/proc" or words[2] != "proc":
            continue
        hidden = [one for one in words[3].split(",") if one.startswith("hidepid=")]
        if hidden and hidden[-1] not in ("hidepid=0", "hidepid=off") and machine.user_id != 0:
            return Condition("limits", f"/proc hides others' processes ({hidden[-1]})")
    return None


CHECK = Check("other processes", 90, _look)
