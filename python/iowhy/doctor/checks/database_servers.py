"""Database servers that run here: whether iowhy may read what their sessions do."""

from iowhy.doctor.check import Check, Condition
from iowhy.doctor.machine import Machine

_EXTRA = "Install what reads them: `pip install 'iowhy[statements]'`."
_DSN = (
    "Run it as root, or say how to connect: `--statements=postgresql://USER@/` or `--statements=mysql://USER@localhost`, the "
    "password in ~/.pgpass, PGPASSWORD or MYSQL_PWD."
)


def _look(machine: Machine) -> Condition | None:
    if not machine.servers:
        return None
    denied = [(name, why) for name, why in machine.servers if why is not None]
    if not denied:
        named = ", ".join(name for name, _ in machine.servers)
        return Condition("works", f"statements of {named} can be read (`--statements`)")
    said = "; ".join(f"statements of {name} cannot be read: {why}" for name, why in denied)
    lacks = any("ImportError" in why or "ModuleNotFoundError" in why for _, why in denied)
    return Condition("limits", said, _EXTRA if lacks else _DSN)


CHECK = Check("databases", 84, _look)
