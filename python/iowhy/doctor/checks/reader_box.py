"""Recordings of others are read by a process that can do nothing else, as far as the kernel can keep it from that."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine


def _look(machine: Machine) -> Condition | None:
    if not machine.unboxed:
        return None
    return Condition(
        "limits",
        f"what others recorded is read without {' and '.join(machine.unboxed)}: a hostile file could do what its reader may",
        "Read it on a machine whose kernel has both (Landlock: Linux 5.13, and `landlock` in its `lsm=`), or as a user with few rights.",
    )


CHECK = Check("reading", 96, _look)
