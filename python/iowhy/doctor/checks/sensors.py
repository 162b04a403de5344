"""Sensors that do not run although programs can: their tracepoints are missing, or the kernel refuses them."""

from collections.abc import Mapping

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.checks.kernel import NEWEST
from iowhy.doctor.machine import Machine

#: How the recorder tells that the kernel's verifier did not take a program (recorder/src/kernel/choice.rs).
_REFUSED = "this kernel refuses "


def _look(machine: Machine) -> Condition | None:
    if not machine.programs_run:
        return _none(machine)
    by_reason: dict[str, list[str]] = {}
    for sensor in machine.sensors:
        if sensor.why is not None:
            by_reason.setdefault(sensor.why, []).append(sensor.name)
    if not by_reason:
        return None
    return Condition("limits", _listed(by_reason), _remedy(machine))


def _none(machine: Machine) -> Condition | None:
    if machine.broken is not None:
        return None
    why = next((sensor.why for sensor in machine.lost if sensor.name == "syscalls"), None)
    return Condition("stops", why or "no program could be loaded")


def _listed(by_reason: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())


def _remedy(machine: Machine) -> str:
    unloaded = sorted(
        {
            name
            for name in ("xfs", "btrfs", "ext4")
            for sensor in machine.lost
            if f"{name} is not loaded" in (sensor.why or "")
        }
    )
    said = []
    if unloaded:
        modules = " ".join(unloaded)
        said.append(f"If the command uses them: `modprobe -a {modules}` before it is recorded.")
    if machine.kernel <= NEWEST and any(_REFUSED in (one.why or "") for one in machine.sensors):
        said.append(
            "What the kernel refuses is left out, all else is recorded; a newer iowhy may know better:"
            " `pip install --upgrade iowhy`."
        )
    return " ".join(said)


CHECK = Check("sensors", 80, _look, otherwise=True)
