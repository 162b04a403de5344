"""The time of all threads as stacks, for flame graphs, folded or as speedscope reads them.

Thread → class → call → reason; where user stacks were sampled, thread → functions → class → call.
"""

import json
from collections.abc import Iterable, Sequence
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from iowhy.messages import printable
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.reports import Filters, find, run
from iowhy.version import VERSION

#: Whole nanoseconds that add up to the budget's: each gets what its part brings the sum over, in a fixed order.
_OF_THREADS = """WITH parts AS (
    SELECT row_id, 'user' AS class, CAST(NULL AS VARCHAR) AS syscall, CAST(NULL AS VARCHAR) AS reason, 16 * user_ns AS parts
    FROM thread_intervals
    UNION ALL SELECT row_id, 'kernel', NULL, NULL, 16 * kernel_ns FROM thread_intervals
    UNION ALL SELECT row_id, 'runnable', NULL, NULL, 16 * runnable_ns FROM thread_intervals
    UNION ALL SELECT row_id, class, syscall, reason, parts FROM off_cpu
), summed AS (
    SELECT t.tgid, t.tid, c.place, c.class, p.syscall, p.reason, CAST(sum(p.parts) AS BIGINT) AS parts
    FROM parts p
    JOIN thread_intervals t ON t.row_id = p.row_id
    JOIN budget_classes c ON c.key = p.class
    WHERE p.parts > 0
    GROUP BY t.tgid, t.tid, c.place, c.class, p.syscall, p.reason
), upto AS (
    SELECT *, CAST(sum(parts) OVER (ORDER BY tgid, tid, place, syscall, reason ROWS UNBOUNDED PRECEDING) AS BIGINT) AS upto
    FROM summed
)
SELECT coalesce(n.comm, 'thread') || ' (' || CAST(u.tid AS VARCHAR) || ')' AS thread, u.class, u.syscall, u.reason,
    u.upto // 16 - (u.upto - u.parts) // 16 AS weight_ns
FROM upto u
LEFT JOIN named_threads n ON n.tgid = u.tgid AND n.tid = u.tid
ORDER BY u.tgid, u.tid, u.place, u.syscall, u.reason"""
#: Where user stacks were sampled: by the functions of the program, then what it did in them. Names are parted by what none of them has.
_OF_SAMPLES = """WITH paths AS (
    SELECT user_stack_id, string_agg(name, chr(31) ORDER BY depth DESC) AS path FROM named_frames GROUP BY user_stack_id
), summed AS (
    SELECT
        s.tgid, s.tid,
        CASE WHEN s.kind IS NULL THEN 'not sampled' ELSE coalesce(p.path, 'stack not read') END AS path,
        s.class, s.syscall,
        CAST(sum(s.class_ns) AS BIGINT) AS weight_ns
    FROM sample_times s
    LEFT JOIN paths p ON p.user_stack_id = s.user_stack_id
    GROUP BY ALL
)
SELECT coalesce(n.comm, 'thread') || ' (' || CAST(s.tid AS VARCHAR) || ')' AS thread, s.path, c.class, s.syscall, s.weight_ns
FROM summed s
JOIN budget_classes c ON c.key = s.class
LEFT JOIN named_threads n ON n.tgid = s.tgid AND n.tid = s.tid
ORDER BY s.tgid, s.tid, s.path, c.place, s.syscall"""
#: Where no threads were seen (other tools' texts): what the budget is computed from.
_OF_PIECES = """SELECT NULL AS thread, class, syscall, reason, coalesce(thread_ns, elapsed_ns, elapsed_part) AS weight_ns
FROM budget_pieces ORDER BY class, syscall, reason"""


class Stack(Struct, frozen=True):
    """A stack, outermost frame first, and the time that it represents."""

    frames: tuple[str, ...]
    weight_ns: int


def stacks_of(recording: Recording) -> list[Stack]:
    """Each of some time; together they are the budget's time of all threads. Raises Problem."""
    with recording.damage_named(), Relations(recording) as relations:
        counted = relations.has("thread_time")
        sampled = counted and relations.has("stack_samples")
        rows = relations.rows(_OF_SAMPLES if sampled else _OF_THREADS if counted else _OF_PIECES)
        ((whole_ns,),) = relations.rows("SELECT thread_ns FROM budget_totals")
    found = _stacks(rows)
    if counted and found and isinstance(whole_ns, int):
        _add_rest(found, whole_ns - sum(stack.weight_ns for stack in found))
    return found


def callers_of(recording: Recording, filters: Filters) -> list[Stack]:
    """The rows of `report callers` as stacks, by thread: of the chosen part. Raises Problem."""
    rows = run(recording, replace(find("callers"), sql=_OF_SAMPLES), filters).to_pylist()
    return _stacks([tuple(row.values()) for row in rows])


def _stacks(rows: Iterable[Sequence[object]]) -> list[Stack]:
    """Of rows whose last value is a time, and the others frames."""
    found = []
    for *told, weight in rows:
        parts = [part for frame in told if frame is not None for part in str(frame).split("\x1f")]
        frames = tuple(map(printable, parts))
        if isinstance(weight, int | float) and weight > 0:
            found.append(Stack(frames, int(weight)))
    return found


def _add_rest(stacks: list[Stack], rest_ns: int) -> None:
    """What rounding leaves goes to the largest, as in the budget (relations/budget_pieces.sql)."""
    at = max(range(len(stacks)), key=lambda number: stacks[number].weight_ns)
    stacks[at] = replace(stacks[at], weight_ns=stacks[at].weight_ns + rest_ns)


def write_folded(stacks: Sequence[Stack], _: Recording, out: IO[bytes]) -> None:
    """A line for each stack, as flamegraph.pl, inferno and speedscope read them: `thread;class;call;reason NANOSECONDS`."""
    for stack in stacks:
        frames = ";".join(frame.replace(";", ",") for frame in stack.frames)
        out.write(f"{frames} {stack.weight_ns}\n".encode())


def write_speedscope(stacks: Sequence[Stack], recording: Recording, out: IO[bytes]) -> None:
    """The file format of speedscope 1 (https://www.speedscope.app/file-format-schema.json): one profile of all threads."""
    numbers: dict[str, int] = {}
    samples = [
        [numbers.setdefault(frame, len(numbers)) for frame in stack.frames] for stack in stacks
    ]
    name = printable(" ".join(recording.manifest.command.argv)) or recording.path.name
    whole = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"iowhy {VERSION}",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in numbers]},
        "profiles": [
            {
                "type": "sampled",
                "name": f"time of all threads: {name}",
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(stack.weight_ns for stack in stacks),
                "samples": samples,
                "weights": [stack.weight_ns for stack in stacks],
            }
        ],
    }
    out.write(json.dumps(whole).encode())


#: The forms of stacks, as they are asked for.
WRITERS = {"folded": write_folded, "speedscope": write_speedscope}
