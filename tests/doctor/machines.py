"""Machines of files, as /proc and /sys of real ones look."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from iowhy.doctor.machine import Machine
from iowhy.recordings.manifest import Sensor

ALL_RIGHTS = "000001ffffffffff"
NO_RIGHTS = "0000000000000000"
#: What Docker gives root by default: none of CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF.
DOCKER_RIGHTS = "00000000a80425fb"

BTF = "sys/kernel/btf/vmlinux"
LOCKDOWN = "sys/kernel/security/lockdown"
VERSION = "proc/version"
RELEASE = "proc/sys/kernel/osrelease"
UID_MAP = "proc/self/uid_map"

RAN = (
    Sensor("syscalls", True, None),
    Sensor("waits", True, None),
    Sensor("cpu_samples", True, None),
)


def refused(why: str) -> tuple[Sensor, ...]:
    """The programs' sensors refused with one reason; those of /proc run."""
    return (Sensor("syscalls", False, why), Sensor("waits", False, why), RAN[2])


def machine(
    root: Path,
    files: Mapping[str, str] | None = None,
    *,
    capabilities: str = ALL_RIGHTS,
    seccomp: int = 0,
    release: str = "6.1.0-28-amd64",
    without: Sequence[str] = (),
    sensors: tuple[Sensor, ...] = RAN,
    environment: Mapping[str, str] | None = None,
    user_id: int = 0,
) -> Machine:
    """A plain machine of root's, and what is different in it."""
    content = {
        BTF: "",
        LOCKDOWN: "[none] integrity confidentiality\n",
        RELEASE: release + "\n",
        VERSION: f"Linux version {release} (debian-kernel@lists.debian.org) #1 SMP\n",
        UID_MAP: "         0          0 4294967295\n",
        "proc/self/status": f"Name:\tx\nCapEff:\t{capabilities}\nSeccomp:\t{seccomp}\n",
        "proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         65536      65536      bytes\n",
        "proc/mounts": "proc /proc proc rw,nosuid 0 0\nsysfs /sys sysfs rw,nosuid 0 0\n",
        **(files or {}),
    }  # fmt: skip
    for name, text in content.items():
        if name not in without:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    return Machine(root, environment or {}, user_id, "x86_64", sensors)
