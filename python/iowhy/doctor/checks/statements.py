"""Statements by probes in programs (uprobes): since the middle of 2025 the kernel wants CAP_SYS_ADMIN for them (perf_event_open(2))."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine

SENSOR = "statement_calls"
_CAPABILITY = "CAP_SYS_ADMIN"


def _look(machine: Machine) -> Condition | None:
    sensor = next((one for one in machine.sensors if one.name == SENSOR), None)
    if sensor is None or not sensor.ran or not machine.programs_run:
        return None  # the sensors' own check says why
    if machine.capabilities is not None and _CAPABILITY not in machine.capabilities:
        return Condition(
            "limits",
            f"statements cannot be taken by probes (`--exact`, SQLite): {_CAPABILITY} is lacking",
            "Run it as root of the machine; in a container with `--cap-add SYS_ADMIN`. Servers' views need no probes: `--statements`.",
        )
    return Condition("works", "probes take statements of SQLite and PostgreSQL (`--exact`)")


CHECK = Check("statements", 82, _look)
