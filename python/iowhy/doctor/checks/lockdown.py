"""Lockdown: at "confidentiality" no program may read the kernel's memory (kernel_lockdown(7))."""

import re

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine


def _look(machine: Machine) -> Condition | None:
    text = machine.text("/sys/kernel/security/lockdown")
    chosen = re.search(r"\[(\w+)\]", text or "")
    if chosen is None or chosen[1] == "none":
        return None
    if chosen[1] != "confidentiality":
        return Condition("works", f"the kernel is locked down for {chosen[1]}, which allows eBPF")
    return Condition(
        "stops",
        "the kernel is locked down for confidentiality: nobody may read its memory",
        "Boot with `lockdown=integrity` on the kernel's command line.",
    )


CHECK = Check("lockdown", 40, _look)
