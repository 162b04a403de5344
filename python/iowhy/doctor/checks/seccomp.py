"""A seccomp filter may refuse bpf(2), whatever the rights: Podman 4.3's does with CAP_BPF alone (seccomp(2))."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.containers import given_by
from iowhy.doctor.machine import Machine

_FILTER = "2"  # SECCOMP_MODE_FILTER, include/uapi/linux/seccomp.h


def _look(machine: Machine) -> Condition | None:
    if machine.status("Seccomp") != _FILTER:
        return None
    if machine.programs_run:
        return Condition("works", "a seccomp filter is set, and lets bpf(2) pass")
    has = machine.capabilities
    if has is None or not {"CAP_BPF", "CAP_SYS_ADMIN"} & has:
        return None  # the rights are lacking first
    how = given_by(machine)
    remedy = (
        "Allow bpf(2) in it (of a service: SystemCallFilter=bpf in its unit)."
        if how is None
        else how.bpf
    )
    return Condition("stops", "a seccomp filter is set, and bpf(2) is refused", remedy)


CHECK = Check("seccomp", 60, _look)
