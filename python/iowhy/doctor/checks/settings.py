"""In most containers /sys and /proc/sys may only be read: what is recorded there can be tuned outside alone."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine


def _look(machine: Machine) -> Condition | None:
    fields = [line.split() for line in (machine.text("/proc/mounts") or "").splitlines()]
    options = {one[1]: one[3].split(",") for one in fields if len(one) > 3}
    if machine.user_id != 0 or "ro" not in options.get("/sys", ()):
        return None
    return Condition(
        "limits",
        "/sys is mounted read-only: `iowhy tune` and levers of `iowhy experiment` set nothing there",
        "Run them outside of the container.",
    )


CHECK = Check("settings", 95, _look)
