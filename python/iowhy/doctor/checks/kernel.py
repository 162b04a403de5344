"""The kernel: its version, and the description of its types (BTF) by which programs find their way in it."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine

#: The newest that the tests have run on; docs/architecture.md lists all.
NEWEST = (7, 3)
_BTF = "/sys/kernel/btf/vmlinux"


def _look(machine: Machine) -> Condition | None:
    named = f"Linux {machine.release or 'of unknown version'} on {machine.architecture}"
    if not machine.exists(_BTF) and not _has_sysfs(machine):
        return Condition(
            "stops",
            f"/sys is not mounted, where the kernel ({named}) describes its types ({_BTF})",
            "Mount it: `mount -t sysfs sysfs /sys`; containers have it unless they are started without (read-only will do).",
        )
    if not machine.exists(_BTF):
        return Condition(
            "stops",
            f"the kernel ({named}) has no BTF, the description of its types ({_BTF})",
            "Boot a kernel built with CONFIG_DEBUG_INFO_BTF=y: those of Debian 11, Ubuntu 20.10, RHEL 8.2, "
            "Fedora 31 and all later ones are.",
        )
    if machine.kernel > NEWEST and machine.lost:
        return Condition(
            "limits",
            f"{named} is newer than {NEWEST[0]}.{NEWEST[1]}, the newest that this iowhy was tested on",
            "Look for a newer iowhy: `pip install --upgrade iowhy`.",
        )
    return Condition("works", f"{named}, with BTF")


def _has_sysfs(machine: Machine) -> bool:
    """/sys is mounted, or nothing says what is (proc_mounts(5))."""
    mounts = machine.text("/proc/mounts")
    lines = [line.split() for line in (mounts or "").splitlines()]
    return mounts is None or any(len(words) > 2 and words[2] == "sysfs" for words in lines)


CHECK = Check("kernel", 50, _look)
