"""Rights: loading programs takes CAP_BPF, reading the kernel's memory with them CAP_PERFMON (capabilities(7))."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.containers import given_by
from iowhy.doctor.machine import Machine
from iowhy.invocation import as_root

#: Before Linux 5.8 these were not yet parts of CAP_SYS_ADMIN on their own.
_NEEDED = ("CAP_BPF", "CAP_PERFMON")
_DIVIDED = (5, 8)


def _look(machine: Machine) -> Condition | None:
    has = machine.capabilities
    if has is None:
        return None
    lacking = () if "CAP_SYS_ADMIN" in has else tuple(one for one in _NEEDED if one not in has)
    if lacking and (0, 0) < machine.kernel < _DIVIDED:
        lacking = ("CAP_SYS_ADMIN",)
    if lacking and machine.user_id != 0:
        how = f"{as_root()} run" if machine.on is None else f"iowhy run --on {machine.on} --sudo"
        return Condition("stops", "only root may load eBPF programs", f"As root: `{how} -- CMD`.")
    if lacking:
        named = " and ".join(lacking)
        return Condition("stops", f"root here lacks {named}", _remedy(machine, lacking))
    if machine.in_user_namespace:
        return Condition(
            "stops",
            "root here is root of a user namespace only, and the kernel loads programs for nobody else's root",
            _remedy(machine, _NEEDED),
        )
    whose = "root" if machine.user_id == 0 else "not root, but"
    return Condition("works", f"{whose} with {' and '.join(_NEEDED)}")


def _remedy(machine: Machine, lacking: tuple[str, ...]) -> str:
    how = given_by(machine)
    if how is not None and not machine.in_user_namespace:
        return how.rights(lacking)
    return (
        "Record on the machine itself, as its root: `iowhy run -p PID` there sees this process too."
    )


CHECK = Check("rights", 30, _look)
