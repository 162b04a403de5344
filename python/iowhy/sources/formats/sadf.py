"""`sadf -j`: sar's daily files as JSON (sysstat)."""

from iowhy.sources.clock import wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._json import host_of, items, mapping, real, reals, value_of
from iowhy.sources.formats._sar import Collected
from iowhy.sources.formats._sysstat import cpu_of
from iowhy.sources.numbers import NS_PER_S

NAME = "sadf"
TOOL = "sadf -j"
LONG_LINES = True
HINT = r'^\s*\{\s*"sysstat"|^\s*\{\s*$'

#: JSON section → its keys under sar's column names.
SECTIONS: dict[str, dict[str, str]] = {
    "process-and-context-switch": {"proc": "proc/s", "cswch": "cswch/s"},
    "swap-pages": {"pswpin": "pswpin/s", "pswpout": "pswpout/s"},
    "paging": {
        "pgpgin": "pgpgin/s",
        "pgpgout": "pgpgout/s",
        "majflt": "majflt/s",
        "pgscank": "pgscank/s",
        "pgscand": "pgscand/s",
    },
    "memory": {
        "memfree": "kbmemfree",
        "avail": "kbavail",
        "memused": "kbmemused",
        "memused-percent": "%memused",
        "buffers": "kbbuffers",
        "cached": "kbcached",
        "dirty": "kbdirty",
        "anonpg": "kbanonpg",
        "slab": "kbslab",
        "swpfree": "kbswpfree",
    },
    "queue": {"runq-sz": "runq-sz", "blocked": "blocked"},
}
DISK = {
    "tps": "tps",
    "rkB": "rkB/s",
    "wkB": "wkB/s",
    "rd_sec": "rd_sec/s",
    "wr_sec": "wr_sec/s",
    "await": "await",
    "aqu-sz": "aqu-sz",
    "avgqu-sz": "avgqu-sz",
    "util-percent": "%util",
}
BEGINS = ""
FIRST = (r'[\s\S]*"sysstat"[\s\S]*"(?:file-date|sysdata-version)"', 14)


def read(block: Block) -> Parsed:
    """As `sar`, into the same tables."""
    parsed = Parsed(TOOL, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms", clock="wall")
    value = mapping(mapping(value_of(block, parsed)).get("sysstat"))
    version = value.get("sysstat-version")
    parsed.version = version if isinstance(version, str) else None
    for host in items(value.get("hosts")):
        facts = mapping(host)
        host_of(parsed, facts)
        for entry in items(facts.get("statistics")):
            _instant(parsed, mapping(entry))
    return parsed


def _instant(parsed: Parsed, entry: dict[str, object]) -> None:
    stamp = mapping(entry.get("timestamp"))
    end = wall_ns(f"{stamp.get('date')} {stamp.get('time')}")
    seconds = real(stamp.get("interval"))
    if end is None or not seconds or seconds <= 0:
        return  # a record without an interval is the file's beginning or a restart
    now = Collected(end - round(seconds * NS_PER_S), end)
    for section, keys in SECTIONS.items():
        values = reals(entry.get(section))
        now.machine.update({keys[key]: v for key, v in values.items() if key in keys})
    for load in items(entry.get("cpu-load")) + items(entry.get("cpu-load-all")):
        row = mapping(load)
        cpu = cpu_of(str(row.get("cpu")))
        if cpu is not None:
            now.cpus[cpu] = {key: v for key, v in reals(row).items() if key != "cpu"}
    for disk in items(entry.get("disk")):
        row = mapping(disk)
        name = row.get("disk-device")
        if isinstance(name, str):
            now.disks[name] = {DISK[k]: v for k, v in reals(row).items() if k in DISK}
    for resource in ("cpu", "io", "mem"):
        for name, psi in mapping(entry.get("psi")).items():
            if name != f"psi-{resource}":
                continue
            values = reals(psi)
            for key in (f"some_{resource}", f"full_{resource}"):
                if key in values:
                    now.machine[f"%{key[0]}{resource}"] = values[key]
    now.emit(parsed)
