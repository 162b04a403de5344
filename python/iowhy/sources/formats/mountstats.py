"""`mountstats` (nfs-utils): reads and writes of each NFS mount since it was mounted: how long each waits and until the server has answered."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import nfsiostat
from iowhy.sources.numbers import number

NAME = "mountstats"
TOOL = nfsiostat.NAME
HINT = r"^Stats for \S+:\S* mounted on "

_MOUNT = re.compile(r"Stats for \S+:\S* mounted on (\S+?):?")
_KIND = re.compile(r"([A-Z_]{3,40}):")
_OPS = re.compile(r"(\d{1,15}) ops \(\d+%\)\s+(\d{1,15}) (?:errors|retrans) \(\d+%\).*")
_TIMES = re.compile(r"backlog wait: ([\d.]+)\s+RTT: ([\d.]+)\s+total execute time: ([\d.]+).*")
#: Lines of its layout that hold nothing of what is kept.
_OTHER = re.compile(
    r"NFS |RPC |Data |Cache |\d+ RPC requests|average backlog|avg bytes|applications |client |reads: |writes: |$"
)
SURE = 0.9
NEAR = (r"\bops \(\d+%\)", 20)


def read(block: Block) -> Parsed:
    """Into measurements as those of nfsiostat: subject is the mount point."""
    parsed = Parsed(TOOL, units="ms")
    mount, side, count = "", "", 0
    for at, line in parsed.lines(block):
        text = line.strip()
        if found := _MOUNT.fullmatch(text):
            mount, side = found[1], ""
        elif found := _KIND.fullmatch(text):
            side = found[1].lower() if found[1] in {"READ", "WRITE"} else ""
        elif found := _OPS.fullmatch(text):
            count = int(found[1])
        elif found := _TIMES.fullmatch(text):
            if mount and side and count:
                for name, cell in zip(("queue", "rtt", "exe"), found.groups(), strict=True):
                    if (value := number(cell)) is not None:
                        parsed.measure(mount, f"{side}_{name}_mean_ns", value * 1e6)
        elif not _OTHER.match(text):
            parsed.reject(at, line)
    parsed.partial = "means since the mount, not of one time"
    parsed.missing.append("nfsiostat 1 10")
    return parsed
