"""All checks of one machine, and the answer that follows from them."""

from msgspec import Struct

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.checks import checks
from iowhy.doctor.machine import Machine

#: What is left without eBPF.
FROM_PROC = (
    "Without it `iowhy run` says what /proc has: states of threads, counters, disks, pressure."
)


class Examination(Struct, frozen=True):
    """What each check found; those that play no part here are left out."""

    machine: Machine
    conditions: tuple[tuple[Check, Condition], ...]

    @property
    def stopped(self) -> Condition | None:
        """What stops all eBPF programs, the first thing to mend; None where they run."""
        return next((found for _, found in self.conditions if found.state == "stops"), None)

    @property
    def answer(self) -> str:
        """One sentence, or two where something is to be done."""
        stopped = self.stopped
        where = "here" if self.machine.on is None else f"on {self.machine.on}"
        if stopped is not None:
            return (
                f"eBPF cannot run {where}: {stopped.found}. {stopped.remedy} {FROM_PROC}".replace(
                    "  ", " "
                )
            )
        sensors, lost = self.machine.sensors, self.machine.lost
        if lost:
            return f"{len(sensors) - len(lost)} of {len(sensors)} sensors run {where}."
        return f"All {len(sensors)} sensors run {where}."


def examine(machine: Machine) -> Examination:
    """Every check, in the order in which things are to be mended."""
    looked = ((check, check.look(machine)) for check in checks())
    found = [(check, one) for check, one in looked if one is not None]
    explained = any(one.state == "stops" and not check.otherwise for check, one in found)
    return Examination(
        machine,
        tuple(
            (check, one)
            for check, one in found
            if not (explained and check.otherwise and one.state == "stops")
        ),
    )
