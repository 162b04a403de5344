"""Perfetto traces (protobuf), for the ftrace events in them.

The file is read by `iowhy-logs` (logs/src/perfetto), which knows of Perfetto's messages (protos/perfetto/trace in its
repository) what is used here. Scheduler events, nearly all of a trace, come packed in arrays (CompactSched).
"""

from pathlib import Path

from iowhy.sources.format import Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import events, splitter
from iowhy.sources.tracing.workspace import space_for

NAME = "perfetto"

#: A packet is a page or a few of events; anything larger is damaged or hostile (logs/src/perfetto/packets.rs).
PACKET_MAX_BYTES = 64 * 1024 * 1024
#: Perfetto is of Android as a rule: the machine of a trace that does not say it.
MACHINE = "aarch64"


def sniff_head(head: bytes) -> float | None:
    """Packets (field 1, length-delimited), whose own first field is one that TracePacket has."""
    try:
        found = 0
        at = 0
        while at < min(len(head), 65000) and found < 8:
            if head[at] != 0x0A:
                return None
            length, at = _varint(head, at + 1)
            if length == 0 or length > PACKET_MAX_BYTES or head[at] & 7 not in (0, 1, 2, 5):
                return None
            at += length
            found += 1
    except IndexError:
        return None
    return 0.9 if found >= 2 or (found and at == len(head)) else (0.6 if found else None)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:
    """Into what the events say, as for ftrace's text."""
    parsed = Parsed(NAME, clock="boot", units="nanoseconds since boot")
    with space_for(path) as space:
        split = splitter.from_path(NAME, path, parsed, progress)
        host = split.summary["host"]
        if split.summary["lossy"]:
            parsed.note("the tracer lost events: the kernel's buffer was full")
        events.finish(space, split, parsed, names, machine=host["machine"] or MACHINE)
    if parsed.lines_understood:
        parsed.host = {key: value for key, value in host.items() if value}
    return parsed


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError
