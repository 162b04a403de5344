"""Files that are no text of a tool: what they are, and the command that makes them readable."""

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.invocation import quoted


class Kind(Struct, frozen=True):
    """A kind of file: what its beginning is, at which byte; `order` makes it readable (FILE: its name), or says what to do instead."""

    name: str
    begins: tuple[bytes, ...]
    order: str
    at: int = 0


#: Bytes of texts, with what moves a cursor or colours.
_PRINTED = bytes({*range(8, 14), 27, *range(32, 127), *range(128, 256)})
_RECORD = "record the machine while it is slow: `iowhy run -a --duration 30s`"
KINDS = (
    Kind("a recording of perf", (b"PERFILE2", b"PERFFILE"), "`perf script -i FILE | iowhy diagnose -`"),
    Kind("a file of sar (sysstat)", (b"\x96\xd5", b"\xd5\x96"), "`sadf -j FILE -- -A | iowhy diagnose -`"),
    Kind("a capture of network packets", (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a"),
         "it has no I/O of disks; of NFS, paste `nfsiostat 1 10`"),
    Kind("a program, library or core dump (ELF)", (b"\x7fELF",), "record it: `iowhy run -- FILE`"),
    Kind("a trace of Chrome", (b'{"traceEvents"', b'{"displayTimeUnit"'), _RECORD),
    Kind("spans of OpenTelemetry", (b'{"resourceSpans"',), _RECORD),
    Kind("metrics of OpenTelemetry", (b'{"resourceMetrics"',), _RECORD),
    Kind("logs of OpenTelemetry", (b'{"resourceLogs"',), "`jq -r '.resourceLogs[].scopeLogs[].logRecords[].body.stringValue' FILE | iowhy diagnose -`"),
    Kind("a database of SQLite", (b"SQLite format 3\0",), "record what uses it: `iowhy run -- COMMAND`"),
)  # fmt: skip


def problem(head: bytes, shown: str) -> Problem | None:
    """What to say of a file that begins so; None: it may be text."""
    bare = head.lstrip()
    spaceless = bytes(one for one in bare[:64] if one not in b" \t\r\n")
    name = "FILE" if shown == "-" else quoted(shown)
    for kind in KINDS:
        if head.startswith(kind.begins) or spaceless.startswith(kind.begins):
            order = kind.order.replace("FILE", name)
            return Problem("not-a-log", path=shown, kind=kind.name, order=order)
    text = head.startswith((b"\xff\xfe", b"\xfe\xff"))  # UTF-16
    if not text and len(head.translate(None, _PRINTED)) > len(head) // 20:
        return Problem("log-binary", path=shown)
    return None
