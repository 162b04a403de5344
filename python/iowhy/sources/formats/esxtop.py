"""VMware's esxtop, its screens of disks: how long commands take on the device, in the kernel, and for the guest.

VMware's guide: DAVG is the device's part, KAVG the hypervisor's, GAVG their sum, QAVG the part of KAVG in queues; milliseconds.
"""

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "esxtop"
HINT = r"\bDAVG/cmd\s+KAVG/cmd"

_MS = {
    "DAVG/cmd": "device_mean_ns",
    "KAVG/cmd": "hypervisor_mean_ns",
    "GAVG/cmd": "guest_mean_ns",
    "QAVG/cmd": "queue_mean_ns",
}
_RATES = {"READS/s": "reads_per_s", "WRITES/s": "writes_per_s", "CMDS/s": "commands_per_s", "ACTV": "in_flight", "QUED": "queued"}  # fmt: skip


def read(block: Block) -> Parsed:
    """Into measurements of each adapter, device or machine: its row's last cells are those of the header's last words."""
    parsed = Parsed(NAME, units="ms; per second")
    columns: list[str] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if "DAVG/cmd" in words:
            columns = words
            continue
        cells = dict(zip(reversed(columns), reversed(words), strict=False))
        values = {name: number(cells.get(name, "")) for name in (*_MS, *_RATES)}
        if values["DAVG/cmd"] is None:
            if columns:
                parsed.reject(at, line)
            continue
        for name, value in values.items():
            if value is not None:
                parsed.measure(words[0], _MS.get(name) or _RATES[name], value * (1e6 if name in _MS else 1))  # fmt: skip
    return parsed
