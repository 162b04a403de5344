"""The recorder: its own program, made for one kind of processor."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine


def _look(machine: Machine) -> Condition | None:
    if machine.broken is None:
        return None
    return Condition(
        "stops",
        f"the recorder, iowhy-record, does not run: {machine.broken}",
        f"Install iowhy again on this machine ({machine.architecture}): `pip install --force-reinstall iowhy`.",
    )


CHECK = Check("recorder", 10, _look)
