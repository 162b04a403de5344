"""`nfsstat -c`: how many calls an NFS client made since boot, of which kinds, and how many it had to send again."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import LARGEST

NAME = "nfsstat"
TOOL = "nfsstat"
HINT = r"^Client rpc stats:"

_CELL = re.compile(r"(\d{1,16})\s+\d{1,3}%")
_COUNTS = re.compile(r"\s*(\d{1,16})\s+(\d{1,16})\s+\d{1,16}\s*")
_NAMES = re.compile(r"\s*[a-z_]\w*(?:\s+[a-z_]\w*){0,7}\s*")
SURE = 0.9
BEGINS = ""
NEAR = (r"^\s*calls\s+retrans\b", 3)


def read(block: Block) -> Parsed:
    """Into measurements of the client; counts of a server in the same text are left out."""
    parsed = Parsed(TOOL, units="counts since boot")
    names: list[str] = []
    client, calls = True, 0.0
    for at, line in parsed.lines(block):
        if re.match(r"(?:Client|Server) (?:rpc|nfs)\b", line):
            client, names = line.startswith("Client"), []
        elif _NAMES.fullmatch(line):
            names = line.split()
        elif names[:2] == ["calls", "retrans"] and (found := _COUNTS.fullmatch(line)):
            calls = float(found[1])
            if client and 0 < calls <= LARGEST:
                parsed.measure("the NFS client", "since_boot_calls", calls)
                parsed.measure("the NFS client", "sent_again_share", float(found[2]) / calls)
        elif names and len(cells := _CELL.findall(line)) == len(names):
            for name, count in zip(names, cells, strict=True):
                if client and int(count):
                    parsed.measure(name, "since_boot_calls", float(count))
        elif client:
            parsed.reject(at, line)
    parsed.missing.append("nfsiostat 1 10")
    return parsed
