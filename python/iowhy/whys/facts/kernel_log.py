"""What the kernel logged of the disks while it was recorded."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.tables.kernel_messages import event_of


class Logged(Struct, frozen=True):
    """Lines of one kind (`metric`, as of a pasted log) about one disk; `first_ns`, `last_ns` since the start."""

    dev: int
    name: str
    metric: str
    times: int
    first_ns: int
    last_ns: int
    text: str


class _Line(Struct, frozen=True):
    dev: int
    name: str
    at_ns: int
    text: str


_LINES = """
SELECT l.dev, coalesce(d.name, (l.dev >> 20) || ':' || (l.dev & 1048575)) AS name, l.ts_ns - r.start_ns AS at_ns, l.text
FROM kernel_log AS l CROSS JOIN recording AS r
LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS d ON d.dev = l.dev
WHERE l.dev IS NOT NULL ORDER BY l.ts_ns
"""


def logged(relations: Relations) -> tuple[Logged, ...]:
    """By disk and kind, most lines first."""
    if not relations.has("kernel_log"):
        return ()
    lines: dict[tuple[int, str], list[_Line]] = {}
    for line in relations.read(_Line, _LINES):
        event = event_of(line.text)
        if event is not None:
            lines.setdefault((line.dev, event[0]), []).append(line)
    found = [
        Logged(dev, of[0].name, kind, len(of), of[0].at_ns, of[-1].at_ns, of[0].text)
        for (dev, kind), of in lines.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.times))
